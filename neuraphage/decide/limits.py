"""Limits checked before each model call. Zero means stop, never unlimited.

The scripts know the same rule (`at_limit` in prelude.lua; a test holds the two together), so that nothing leads a
task back to work that would fail at once.
"""

from __future__ import annotations

import math
from datetime import timedelta

from neuraphage.decide.duration import duration
from neuraphage.errors import BadInput
from neuraphage.model.limits import MOST_COST_MICROUSD, MOST_RUNNING_MS, MOST_TREE_TURNS, MOST_TURNS, LimitChange
from neuraphage.model.task import Status, TaskRecord

_FIRST_TURNS = 10
_FIRST_COST_MICROUSD = 1_000_000
_FIRST_RUNNING_MS = 600_000
"""What a limit of zero is raised to."""


def turns_used(record: TaskRecord) -> int:
    """Turns of the present piece of work, which the limit of turns bounds."""
    return record.counters.iteration - record.turns_from


def spent_microusd(record: TaskRecord) -> int:
    """Money that a task has spent, with all that is below it."""
    return record.counters.cost_microusd + record.below_microusd


def limit_reached(record: TaskRecord) -> str | None:
    """One sentence about what forbids another call, or None."""
    said = []
    if turns_used(record) >= record.limits.max_turns:
        said.append(f"used {turns_used(record)} turns, its limit is {record.limits.max_turns}")
    if spent_microusd(record) >= record.limits.max_cost_microusd:
        spent, most = dollars(spent_microusd(record)), dollars(record.limits.max_cost_microusd)
        below = " with its subtasks" if record.below_microusd else ""
        said.append(f"spent ${spent}{below}, its limit is ${most}")
    most_ms = record.limits.max_running_ms
    if most_ms is not None and record.counters.running_ms >= most_ms:
        said.append(f"been at work for {duration(record.counters.running_ms)}, its limit is {duration(most_ms)}")
    return f"The task has {' and '.join(said)}." if said else None


def raising(record: TaskRecord) -> tuple[str, ...]:
    """Options of a command that raise every limit that is reached far enough; none when no turn can be added."""
    used, spent = turns_used(record), spent_microusd(record)
    words: list[str] = []
    if used >= record.limits.max_turns:
        if used >= MOST_TURNS:
            return ()
        words += ["--max-turns", str(min(MOST_TURNS, _doubled(record.limits.max_turns or _FIRST_TURNS, used)))]
    if spent >= record.limits.max_cost_microusd:
        words += ["--max-cost", dollars(_doubled(record.limits.max_cost_microusd or _FIRST_COST_MICROUSD, spent))]
    most_ms, running_ms = record.limits.max_running_ms, record.counters.running_ms
    if most_ms is not None and running_ms >= most_ms:
        if running_ms >= MOST_RUNNING_MS:
            return ()
        words += [
            "--max-running-for",
            f"{min(MOST_RUNNING_MS, _doubled(most_ms or _FIRST_RUNNING_MS, running_ms)) // 1000}s",
        ]
    return tuple(words)


def limit_failure(record: TaskRecord) -> str | None:
    """Why a task at its limit fails, with the command that goes on with it; None when no limit is reached."""
    reached = limit_reached(record)
    if reached is None:
        return None
    short, options = record.short_id, raising(record)
    if not options:
        return f"{reached} No higher one can be set. To start anew: `neuraphage recover --reset {short}`."
    return f"{reached} To go on with a higher one: `neuraphage retry {short} {' '.join(options)}`."


def _doubled(limit: int, used: int) -> int:
    """A limit above what was used, and at least twice what it was when that was all used up."""
    while limit <= used:
        limit *= 2
    return limit


def dollars(microusd: int) -> str:
    """An amount as a person types it, to the last digit that counts."""
    whole, _, part = f"{microusd / 1_000_000:.6f}".partition(".")
    return f"{whole}.{part.rstrip('0'):0<2}" if part.rstrip("0") else whole


def running_ms(max_running_for: float | timedelta | None) -> int | None:
    """A limit of the time at work: seconds, or a length of time; None for none.

    Raises:
        BadInput: it is out of its range.
    """
    if max_running_for is None:
        return None
    seconds = max_running_for.total_seconds() if isinstance(max_running_for, timedelta) else max_running_for
    if not (math.isfinite(seconds) and 0 <= seconds * 1000 <= MOST_RUNNING_MS):
        raise BadInput(f"the limit of the time at work is {seconds} s; give 0 to {MOST_RUNNING_MS // 1000} s, a year")
    return round(seconds * 1000)


def limit_change(
    max_turns: int | None,
    max_cost_usd: float | None,
    max_tree_turns: int | None = None,
    max_running_for: float | timedelta | None = None,
) -> LimitChange:
    """Limits as people name them.

    Args:
        max_turns: turns; None leaves the limit as it is.
        max_cost_usd: dollars; None leaves the limit as it is.
        max_tree_turns: turns with all subtasks; None leaves the limit as it is.
        max_running_for: time at work, seconds or a length; None leaves the limit as it is.

    Raises:
        BadInput: one is out of its range.
    """
    if max_turns is not None and not 0 <= max_turns <= MOST_TURNS:
        raise BadInput(f"the limit of turns is {max_turns}; give a number from 0 to {MOST_TURNS}")
    if max_tree_turns is not None and not 0 <= max_tree_turns <= MOST_TREE_TURNS:
        raise BadInput(f"the limit of turns of the tree is {max_tree_turns}; give a number from 0 to {MOST_TREE_TURNS}")
    most_usd = MOST_COST_MICROUSD // 1_000_000
    if max_cost_usd is not None and not (math.isfinite(max_cost_usd) and 0 <= max_cost_usd <= most_usd):
        raise BadInput(f"the limit of money is {max_cost_usd}; give a number of dollars from 0 to {most_usd}")
    cost = None if max_cost_usd is None else round(max_cost_usd * 1_000_000)
    return LimitChange(
        max_turns=max_turns,
        max_cost_microusd=cost,
        max_tree_turns=max_tree_turns,
        max_running_ms=running_ms(max_running_for),
    )


def turn_number(record: TaskRecord) -> int:
    """The turn that a task is in or ended in, as people count: from 1. `counters.iteration` counts done ones."""
    return record.counters.iteration + (record.status is not Status.COMPLETED)

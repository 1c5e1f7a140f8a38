"""Limits checked before each model call. Zero means stop, never unlimited.

The scripts know the same rule (`at_limit` in prelude.lua; a test holds the two together), so that nothing leads a
task back to work that would fail at once.
"""

from __future__ import annotations

import math

from neuraphage.errors import BadInput
from neuraphage.model.limits import MOST_COST_MICROUSD, MOST_TREE_TURNS, MOST_TURNS, LimitChange
from neuraphage.model.task import Status, TaskRecord

_FIRST_TURNS = 10
_FIRST_COST_MICROUSD = 1_000_000
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


def limit_change(max_turns: int | None, max_cost_usd: float | None, max_tree_turns: int | None = None) -> LimitChange:
    """Limits as people name them.

    Args:
        max_turns: turns; None leaves the limit as it is.
        max_cost_usd: dollars; None leaves the limit as it is.
        max_tree_turns: turns with all subtasks; None leaves the limit as it is.

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
    return LimitChange(max_turns=max_turns, max_cost_microusd=cost, max_tree_turns=max_tree_turns)


def turn_number(record: TaskRecord) -> int:
    """The turn that a task is in or ended in, as people count: from 1. `counters.iteration` counts done ones."""
    return record.counters.iteration + (record.status is not Status.COMPLETED)

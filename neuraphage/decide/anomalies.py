"""Whether a task leads nowhere, or does what it seldom should: readings of what is stored, held against limits. Pure.

A reading counts back to the last message of a person, and to the last time that its limit was acted on. So a person's
word clears all of them, and a task that was paused and goes on is not paused again for the same steps.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, takewhile
from typing import Any

from neuraphage.decide.rates import begun_within_a_minute
from neuraphage.decide.shorten import shorten
from neuraphage.decide.snapshot import Snapshot
from neuraphage.decide.steps_taken import Called, Noticed, Replied, Step
from neuraphage.model.anomaly import Anomaly, AnomalyKind
from neuraphage.model.effect import EffectClass, ToolEffect, tool_effect
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.tool_traits import RatedKind

WHAT_CHARS = 200
IDLE_TURNS = 3
"""Fewer turns are no standstill, however long they take: one command may fail after an hour."""
_OF_THE_TURN = frozenset({
    AnomalyKind.TURN_TOKENS,
    AnomalyKind.WRITES_A_MINUTE,
    AnomalyKind.UNUSUAL_PATH,
    AnomalyKind.REFUSED_HOST,
    AnomalyKind.RUNAWAY_OUTPUT,
})  # fmt: skip
_TOLD_EARLY = frozenset({AnomalyKind.SAME_CALL_FAILS, AnomalyKind.SAME_CALL, AnomalyKind.FAILURES_IN_A_ROW})
Reading = tuple[int, str]
"""What it has come to, and what it is about."""


@dataclass(frozen=True, slots=True)
class Watched:
    """What is seen at the end of a turn whose calls are all settled.

    Args:
        reached: limits that are reached.
        half: what the model is told before a limit is reached: once, when half of it is.
    """

    reached: tuple[Anomaly, ...] = ()
    half: Anomaly | None = None


def watched(snapshot: Snapshot) -> Watched:
    """Hold every reading against its limit."""
    rules = snapshot.bounds.anomalies
    if not rules:
        return Watched()
    history = _History(snapshot.history.steps(snapshot.entries), snapshot.tools)
    read = {kind: (rule.limit, *_reading(snapshot, kind, history)) for kind, rule in rules.items()}
    reached = tuple(_anomaly(kind, *one) for kind, one in read.items() if one[1] >= one[0])
    half = next((kind for kind in rules if kind in _TOLD_EARLY and _is_half_way(kind, *read[kind][:2], history)), None)
    return Watched(reached, None if half is None else _anomaly(half, *read[half]))


def _anomaly(kind: AnomalyKind, limit: int, reading: int, what: str) -> Anomaly:
    return Anomaly(kind=kind, reading=reading, limit=limit, what=shorten(what, WHAT_CHARS))


def _is_half_way(kind: AnomalyKind, limit: int, reading: int, history: _History) -> bool:
    if not max(2, -(-limit // 2)) <= reading < limit:
        return False
    return not any(note.kind is kind for note in _notes(history.since(kind).steps))


def _notes(steps: Sequence[Step]) -> list[Noticed]:
    return [step for step in steps if isinstance(step, Noticed)]


class _Stretch:
    """Steps, newest first, and what more than one reading needs of them."""

    def __init__(self, steps: Sequence[Step], tools: Mapping[str, ToolDeclaration]) -> None:
        self.steps = steps
        self._tools = tools

    @cached_property
    def calls(self) -> list[Called]:
        """The calls among them."""
        return [step for step in self.steps if isinstance(step, Called)]

    @cached_property
    def since_a_change(self) -> list[Called]:
        """The calls since one that succeeded may have changed what others come to; one that is itself repeated changes
        nothing more."""
        for at, call in enumerate(self.calls):
            tool = self._tools.get(call.name)
            is_pure = tool is not None and tool.effect_class is EffectClass.PURE
            if not is_pure and self.is_new(at):
                return self.calls[: at + 1]
        return self.calls

    def is_new(self, at: int) -> bool:
        """Whether a call brought something that none before it had brought."""
        return _is_new(self.calls, at) if at else self._is_last_new

    @cached_property
    def _is_last_new(self) -> bool:
        return _is_new(self.calls, 0)


class _History:
    """What a task has done, cut for each kind where its limit was acted on last; most kinds share the whole of it."""

    def __init__(self, steps: list[Step], tools: Mapping[str, ToolDeclaration]) -> None:
        self.notes = _notes(steps)
        self._whole = _Stretch(steps, tools)
        self._tools = tools

    def since(self, kind: AnomalyKind) -> _Stretch:
        """The steps since the limit of a kind was acted on."""
        acted = next((note for note in self.notes if note.acted and note.kind is kind), None)
        if acted is None:
            return self._whole
        return _Stretch(list(takewhile(lambda step: step is not acted, self._whole.steps)), self._tools)


def _reading(snapshot: Snapshot, kind: AnomalyKind, history: _History) -> Reading:
    turn = snapshot.record.counters.iteration
    if (
        history.notes
        and kind in _OF_THE_TURN
        and any(note.kind is kind and note.turn == turn for note in history.notes)
    ):
        return 0, ""
    match kind:
        case AnomalyKind.SAME_CALL_FAILS:
            return _same_call_fails(history.since(kind))
        case AnomalyKind.SAME_CALL:
            return _same_call(history.since(kind))
        case AnomalyKind.FAILURES_IN_A_ROW:
            return _failures(history.since(kind))
        case AnomalyKind.NO_PROGRESS:
            return _idle_s(history.since(kind)), ""
        case AnomalyKind.TURN_TOKENS:
            return _turn_tokens(snapshot.entries, turn), ""
        case AnomalyKind.WRITES_A_MINUTE:
            return begun_within_a_minute(snapshot.entries, RatedKind.WRITES, snapshot.now_ms), ""
        case AnomalyKind.UNUSUAL_PATH:
            return _counted(_unusual_paths(snapshot))
        case AnomalyKind.REFUSED_HOST:
            return _counted(place for entry in _effects(snapshot) for place in entry.refused)
        case AnomalyKind.RUNAWAY_OUTPUT:
            sizes = [(entry.output_bytes, entry.tool or "") for entry in _effects(snapshot)]
            return max(sizes, default=(0, ""))


def _is_new(calls: Sequence[Called], at: int) -> bool:
    """Whether a call brought something that none before it had brought."""
    call = calls[at]
    if call.is_error:
        return False
    name, params = call.name, call.params
    return not any(
        other.name == name and other.params == params and call.is_same(other) for other in islice(calls, at + 1, None)
    )


def _same_call_fails(stretch: _Stretch) -> Reading:
    """In how many turns one call failed since it last succeeded, and since anything was changed."""
    failed: dict[tuple[str, str], set[int]] = {}
    succeeded: list[Called] = []
    for call in stretch.since_a_change:
        if not call.is_error:
            succeeded.append(call)
        elif not any(map(call.is_same_call, succeeded)):
            failed.setdefault((call.name, call.params), set()).add(call.turn)
    (name, params), turns = max(failed.items(), key=lambda one: len(one[1]), default=(("", ""), set()))
    return len(turns), f"{name} {params}".strip()


def _same_call(stretch: _Stretch) -> Reading:
    """In how many turns the last call that succeeded has come to the same, and nothing else was changed in between."""
    last = next((call for call in stretch.calls if not call.is_error), None)
    if last is None:
        return 0, ""
    return len({call.turn for call in stretch.since_a_change if call.is_same(last)}), _said(last)


def _failures(stretch: _Stretch) -> Reading:
    """In how many turns in a row calls failed; whoever makes many at once has not seen one of them fail yet."""
    failed = list(takewhile(lambda call: call.is_error, stretch.calls))
    return len({call.turn for call in failed}), _said(failed[0]) if failed else ""


def _idle_s(stretch: _Stretch) -> int:
    """Seconds of work since a call brought something that it had not brought before, over `IDLE_TURNS` at least."""
    at, total_ms = 0, 0
    turns: set[int] = set()
    for step in stretch.steps:
        if isinstance(step, Called):
            if stretch.is_new(at):
                break
            at += 1
            turns.add(step.turn)
        if isinstance(step, Called | Replied):
            total_ms += step.total_ms
    return total_ms // 1000 if len(turns) >= IDLE_TURNS else 0


def _turn_tokens(entries: Sequence[Mapping[str, Any]], turn: int) -> int:
    """What the turn's request and reply come to; what the provider had in its cache costs a tenth and is left out."""
    for entry in reversed(entries):
        if entry["role"] == "assistant":
            cached = int((entry.get("cache") or {}).get("read", 0))
            return int(entry.get("tokens", 0)) - cached if entry.get("turn") == turn else 0
    return 0


def _effects(snapshot: Snapshot) -> Iterator[ToolEffect]:
    found = (tool_effect(snapshot.journal, call.tool_use_id) for call in snapshot.calls)
    return (entry for entry in found if entry is not None)


def _unusual_paths(snapshot: Snapshot) -> Iterator[str]:
    """Files outside of the task's directory, of calls that were run."""
    folder = snapshot.record.spec.working_dir
    for call in snapshot.calls if folder is not None else ():
        tool, entry = snapshot.tools.get(call.name), tool_effect(snapshot.journal, call.tool_use_id)
        if tool is None or entry is None or entry.effect_class is None:
            continue
        for name in (*tool.traits.reads, *tool.traits.writes):
            path = posixpath.normpath(posixpath.join(folder or "/", str(call.params.get(name) or ".")))
            if path != folder and not path.startswith(f"{str(folder).rstrip('/')}/"):
                yield path


def _counted(found: Iterable[str]) -> Reading:
    names = sorted(set(found))
    return len(names), ", ".join(names)


def _said(call: Called) -> str:
    return f"{call.name} {call.params}"

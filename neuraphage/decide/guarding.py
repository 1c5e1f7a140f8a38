"""What guards have said: whether it fits their point, and what it comes to together. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from neuraphage.decide.end_actions import Fail
from neuraphage.decide.hashing import canonical, sha256_hex
from neuraphage.model.effect import EffectState, JournalEntry, ModelEffect, ToolEffect
from neuraphage.model.hook import MAY_SAY, HookPoint, Judgement, Verdict, VerdictKind
from neuraphage.model.hook_payload import Payload
from neuraphage.model.tool import ToolCall, ToolResult

MAX_VERDICT_BYTES = 256 * 1024
"""A verdict is part of the journal, which each turn reads."""
_ADDED = frozenset({HookPoint.PRE_CONTEXT_ASSEMBLY, HookPoint.LOOP_ITERATION})
"""Points whose text is added to what the model is told, and takes the place of none."""
_FIELDS = ("params", "text", "system", "max_tokens", "is_error")
JOIN = "\n\n"
"""Between texts that are added to each other."""


def why_unfit(point: HookPoint, verdict: Verdict) -> str | None:
    """Why a guard of this point may not say this, or None."""
    if verdict.verdict in {VerdictKind.ALLOW, VerdictKind.BLOCK}:
        return None
    fields = MAY_SAY[point].get(verdict.verdict)
    if fields is None:
        return f"{point.value} knows no {verdict.verdict.value}"
    wrong = [name for name in _FIELDS if getattr(verdict, name) is not None and name not in fields]
    if wrong:
        return f"a {verdict.verdict.value} at {point.value} has no {', '.join(wrong)}"
    try:
        size = len(canonical(verdict.model_dump(mode="json")))
    except (TypeError, ValueError) as error:
        return f"its {verdict.verdict.value} is no JSON: {error}"
    return (
        f"its {verdict.verdict.value} is {size} bytes, {MAX_VERDICT_BYTES} are the most"
        if size > MAX_VERDICT_BYTES
        else None
    )


@dataclass(slots=True)
class Judging:
    """The guards of a point, one after the other.

    Args:
        payload: what the next one is given; it has what those before have changed.
    """

    payload: Payload
    _by: list[str] = field(default_factory=list)
    _changed: dict[str, Any] = field(default_factory=dict)

    def take(self, name: str, verdict: Verdict) -> Judgement | None:
        """Take in what a guard has said.

        Returns:
            What it comes to, where no other guard is to be asked; None where the next one is.
        """
        if verdict.verdict is VerdictKind.ALLOW:
            return None
        self._by.append(name)
        if verdict.verdict is VerdictKind.BLOCK:
            return Judgement(verdict=VerdictKind.BLOCK, by=name, reason=verdict.reason)
        said = {part: value for part in _FIELDS if (value := getattr(verdict, part)) is not None}
        if verdict.verdict is VerdictKind.ANSWER:
            return Judgement(verdict=VerdictKind.ANSWER, by=", ".join(self._by), **said)
        self._change(said)
        return None

    def end(self) -> Judgement:
        """What all of them come to, where none has ended it."""
        kind = VerdictKind.CHANGE if self._changed else VerdictKind.ALLOW
        return Judgement(verdict=kind, by=", ".join(self._by), **self._changed)

    def _change(self, said: dict[str, Any]) -> None:
        point, before = self.payload.point, self._changed
        adds = {"system"} | ({"text"} if point in _ADDED else set())
        for part in adds & said.keys() & before.keys():
            said[part] = f"{before[part]}{JOIN}{said[part]}"
        shown = dict(said)
        if point in _ADDED:
            shown.pop("text", None)
        if "system" in shown:
            shown["system"] = f"{getattr(self.payload, 'system', '')}{JOIN}{said['system']}"
        before.update(said)
        self.payload = self.payload.model_copy(update=shown)


def judged(payload: Payload, guards: Iterable[tuple[str, Callable[[Payload], Verdict]]]) -> Judgement:
    """Ask guards in their order until one blocks or answers."""
    judging = Judging(payload)
    for name, ask in guards:
        ended = judging.take(name, ask(judging.payload))
        if ended is not None:
            return ended
    return judging.end()


def subject_of(params: Mapping[str, Any]) -> str:
    """Names what guards have judged of a call: another one is judged anew."""
    return sha256_hex(params)


def is_judged(call: ToolCall, entry: ToolEffect | None, point: HookPoint) -> bool:
    """Whether the guards of a point have judged this call as it is now."""
    said = None if entry is None else entry.judged_at(point)
    return said is not None and said.subject == subject_of(call.params)


def result_by_guard(call: ToolCall, entry: ToolEffect | None) -> ToolResult | None:
    """The result of a call that a guard has blocked or answered; None of one that goes on."""
    for point in map(HookPoint, entry.guarded if entry is not None else ()):
        said = entry.judged_at(point) if entry is not None else None
        if said is not None and said.verdict is VerdictKind.BLOCK:
            return ToolResult(text=blocked_call(call.name, said), is_error=True)
        is_result = point is not HookPoint.PERMISSION_REQUEST  # there it is the yes of a person
        if said is not None and said.verdict is VerdictKind.ANSWER and is_result:
            return ToolResult(text=said.text or "", is_error=bool(said.is_error))
    return None


def why_stopped(blocked: str, entry: JournalEntry | None) -> Fail | None:
    """The end of a task of which a guard lets no request be sent, or has withheld the reply; None where none has.

    Args:
        blocked: why no request is sent; empty where one may be.
        entry: what the next move is about.
    """
    if blocked:
        return Fail(blocked, recoverable=True)
    if not isinstance(entry, ModelEffect) or entry.state is not EffectState.COMPLETED or not entry.guarded:
        return None
    said = entry.judged_at(HookPoint.POST_LLM_CALL)
    if said is None or said.verdict is not VerdictKind.BLOCK:
        return None
    why = f"The guard {said.by} withheld the reply of the model: {said.reason} `neuraphage retry` asks for another one."
    return Fail(why, recoverable=True, reply=True)


def blocked_call(tool: str, said: Judgement) -> str:
    """What the model is told of a call that a guard has blocked."""
    return f"The guard {said.by} blocked this {tool} call. It was not run. Its reason: {said.reason}"

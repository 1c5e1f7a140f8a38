"""Guards of one turn: asked with what they are to judge, and noted with what they said."""

from __future__ import annotations

from typing import Any

from neuraphage.decide.guarding import subject_of
from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.hook import HookPoint, Judgement, VerdictKind
from neuraphage.model.hook_payload import Payload, PreToolUse, PreUserPrompt
from neuraphage.model.task import StartedReason
from neuraphage.model.tool import ToolCall
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork


class GuardStep:
    """Asks the guards of calls.

    Args:
        services: the ports.
        work: the working copy.
        tools: knows calls.
    """

    def __init__(self, services: Services, work: UnitOfWork, tools: ToolStep) -> None:
        self._services = services
        self._work = work
        self._tools = tools

    def judge(self, call: ToolCall, point: HookPoint) -> None:
        """Have the guards of a point judge a call, and note what they say: with the next intent it is stored.

        Raises:
            CancelRequested, LeaseLost: nothing is noted.
        """
        said = judgement(self._services, self._work, self._payload(call, point))
        before = self._work.tool_effect(call.tool_use_id)
        if said.params is not None:
            said = self._fitting(call, said, before)
        params = call.params if said.params is None else said.params
        entry = before or ToolEffect(
            key=call.tool_use_id, state=EffectState.PLANNED, fence=self._work.held.lease.fence, tool=call.name
        )
        said = said.model_copy(update={"subject": subject_of(params)})
        self._work.note(journal=[entry.with_judgement(point, said)], events=self._told(call, point, said))

    def _fitting(self, call: ToolCall, said: Judgement, before: ToolEffect | None) -> Judgement:
        """A change that fits the tool; what a person has approved, or what the tool would refuse, is no change."""
        if before is not None and before.edited is not None:
            why = "A guard would change what a person has put in place of it."
            return Judgement(verdict=VerdictKind.BLOCK, by=said.by, reason=why)
        problem = self._tools.problem(call.model_copy(update={"params": said.params}))
        if problem is None:
            return said
        return Judgement(
            verdict=VerdictKind.BLOCK, by=said.by, reason=f"The guard's change of the call does not fit: {problem}"
        )

    def _payload(self, call: ToolCall, point: HookPoint) -> Payload:
        given = {**common(self._work), "tool_use_id": call.tool_use_id}
        if point is HookPoint.PRE_USER_PROMPT:
            options = tuple(map(str, call.params.get("options") or ()))
            return PreUserPrompt(**given, text=str(call.params.get("question", "")), options=options)
        effect = self._services.declarations[call.name].effect_class.value
        return PreToolUse(**given, tool=call.name, params=dict(call.params), effect=effect)

    def _told(self, call: ToolCall, point: HookPoint, said: Judgement) -> list[Event]:
        data = {"point": point.value, "tool": call.name, "id": call.tool_use_id, "verdict": said.verdict.value}
        told = [Event(kind=EventKind.SECURITY_POLICY_CHECK, data={**data, "by": said.by, "reason": said.reason})]
        if said.verdict is VerdictKind.BLOCK:
            told.append(violation(call, said.by, said.reason))
        return told


def violation(call: ToolCall, by: str, why: str) -> Event:
    """Tells of a call that was against a policy."""
    data = {"tool": call.name, "id": call.tool_use_id, "by": by, "why": why}
    return Event(kind=EventKind.SECURITY_VIOLATION, data=data)


def common(work: UnitOfWork) -> dict[str, Any]:
    """What every guard is given of the task."""
    record = work.record
    return {
        "task_id": record.task_id,
        "task_name": record.spec.name,
        "turn": record.counters.iteration,
        "working_dir": record.spec.working_dir,
        "recovered": record.started_reason is StartedReason.RECOVERED,
    }


def judgement(services: Services, work: UnitOfWork, payload: Payload) -> Judgement:
    """What the guards of the payload's point say of it, without secrets.

    Raises:
        CancelRequested, LeaseLost: from the turn's interrupt.
    """
    held = work.held
    held.effect_since_s = services.clock.boottime_s()  # code of others is bounded like an effect
    try:
        said = services.guards.judge(payload, held)
    finally:
        held.effect_since_s = None
    redact = services.redaction
    clean: dict[str, Any] = {"reason": redact.text(said.reason)}
    if said.params is not None:
        clean["params"] = redact.json(said.params)
    clean |= {name: redact.text(text) for name in ("text", "system") if (text := getattr(said, name)) is not None}
    return said.model_copy(update=clean)

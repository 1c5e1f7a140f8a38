"""Guards of one turn: asked with what they are to judge, and noted with what they said."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.decide.guarding import subject_of
from neuraphage.model.effect import EffectState, Permission, ToolEffect
from neuraphage.model.event import Event, EventKind
from neuraphage.model.hook import HookPoint, Judgement, VerdictKind
from neuraphage.model.hook_payload import Payload, PermissionRequest, PreToolUse, PreUserPrompt, SecurityPolicyCheck
from neuraphage.model.rule import Rule
from neuraphage.model.tool import ToolCall
from neuraphage.runtime.asking_guards import common, judgement, told
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork

GUARD = "guard"
"""Who allowed a call in place of a person."""


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

    def judge(self, call: ToolCall, point: HookPoint, rules: Sequence[Rule] = ()) -> None:
        """Have the guards of a point judge a call, and note what they say: with the next intent it is stored.

        Args:
            call: the call.
            point: which guards.
            rules: of SecurityPolicyCheck: those by which the call would run.

        Raises:
            CancelRequested, LeaseLost: nothing is noted.
        """
        said = judgement(self._services, self._work, self._payload(call, point, rules))
        if point is HookPoint.PERMISSION_REQUEST and said.verdict is VerdictKind.ANSWER and said.text != "yes":
            why = "A guard can only say yes in place of a person; what is not to run, it blocks."
            said = Judgement(verdict=VerdictKind.BLOCK, by=said.by, reason=why)
        before = self._work.tool_effect(call.tool_use_id)
        if said.params is not None:
            said = self._fitting(call, said, before)
        params = call.params if said.params is None else said.params
        entry = before or ToolEffect(
            key=call.tool_use_id, state=EffectState.PLANNED, fence=self._work.held.lease.fence, tool=call.name
        )
        said = said.model_copy(update={"subject": subject_of(params)})
        judged = entry.with_judgement(point, said)
        if point is HookPoint.PERMISSION_REQUEST and said.verdict is VerdictKind.ANSWER:
            judged = judged.model_copy(update={"permission": Permission.GRANTED, "permission_by": GUARD})
        self._work.note(journal=[judged], events=self._told(call, point, said))

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

    def _payload(self, call: ToolCall, point: HookPoint, rules: Sequence[Rule]) -> Payload:
        given = {**common(self._work), "tool_use_id": call.tool_use_id}
        if point is HookPoint.PRE_USER_PROMPT:
            options = tuple(map(str, call.params.get("options") or ()))
            return PreUserPrompt(**given, text=str(call.params.get("question", "")), options=options)
        given |= {"tool": call.name, "params": dict(call.params)}
        if point is HookPoint.PERMISSION_REQUEST:
            return PermissionRequest(**given)
        if point is HookPoint.SECURITY_POLICY_CHECK:
            entry = self._work.tool_effect(call.tool_use_id)
            approved = entry is not None and entry.permission is Permission.GRANTED
            return SecurityPolicyCheck(**given, rules=tuple(map(str, rules)), is_approved=approved)
        return PreToolUse(**given, effect=self._services.declarations[call.name].effect_class.value)

    def _told(self, call: ToolCall, point: HookPoint, said: Judgement) -> list[Event]:
        events = told(point, said, call.name, call.tool_use_id)
        if point is HookPoint.PERMISSION_REQUEST and said.verdict is VerdictKind.ANSWER:
            granted = {"tool": call.name, "id": call.tool_use_id, "by": GUARD, "rule": said.by, "answer": "yes"}
            events.append(Event(kind=EventKind.PERMISSION_GRANTED, data=granted))
        return events

"""One turn, from claim to finish: decide, act, commit, until the turn ends or the lease is given back."""

from __future__ import annotations

import logging
from collections.abc import Callable

from neuraphage.decide.control import why_held_back
from neuraphage.decide.conversation import tool_calls
from neuraphage.decide.limits import limit_failure
from neuraphage.decide.machine import Decision, Move, NextTool, TurnState, decide
from neuraphage.decide.replies import unfinished_call, why_unfinished
from neuraphage.decide.retry import advice, can_be_retried
from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.logs import log_context
from neuraphage.model.effect import MODEL_ENTRY, EffectClass, EffectState
from neuraphage.model.message import StopReason
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import OnUnknownOutcome
from neuraphage.model.tool import ToolCall, ToolResult
from neuraphage.ports import FinishTo, Settled, SuspendTo
from neuraphage.runtime.inherited_call import InheritedCalls
from neuraphage.runtime.model_step import ModelStep
from neuraphage.runtime.people_step import PeopleStep
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.turn_end import TurnEnd
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)


class Turn:
    """Advances one claimed task by one turn.

    Args:
        services: the ports.
        work: the working copy of the claim.
        draining: whether the process is shutting down.
    """

    def __init__(self, services: Services, work: UnitOfWork, draining: Callable[[], bool]) -> None:
        self._services = services
        self._work = work
        self._draining = draining
        self._model = ModelStep(services, work)
        self._tools = ToolStep(services, work)
        self._inherited = InheritedCalls(services, work, self._tools)
        self._people = PeopleStep(services, work, self._tools)
        self._end = TurnEnd(services, work, self._people)
        self._problems: dict[str, str] = {}
        self._checked: set[str] = set()
        self._known_calls: tuple[ToolCall, ...] = ()

    def advance(self) -> Settled:
        """Act until the turn ends or the lease is given back.

        Raises:
            LeaseLost: another lease has taken over; nothing more was written.
            StoreUnavailable: the store stayed away; the sweep takes over when it is back.
        """
        held = self._work.held
        try:
            while True:
                settled = self._stopped() or self._act(decide(self.state()))
                if settled is not None:
                    return settled
        except CancelRequested:
            return self._work.suspend(SuspendTo.PAUSE)  # the script finds the cancel flag and ends the task
        except LeaseLost:
            if held.lost:
                raise
            # shutting down with a command that goes on in its own process: the next lease attaches to it
            return self._work.suspend(SuspendTo.SHUTDOWN)

    def _stopped(self) -> Settled | None:
        held = self._work.held
        held_back = held.cancel or held.pause
        if held.lost:
            raise LeaseLost(held.lease.task_id)
        if held_back:
            return self._work.suspend(SuspendTo.PAUSE)
        if self._draining():
            return self._work.suspend(SuspendTo.SHUTDOWN)
        return None

    def state(self) -> TurnState:
        """What the next decision is made from."""
        work = self._work
        calls = self._calls()
        for call in calls:
            if call.tool_use_id not in self._checked:
                self._checked.add(call.tool_use_id)
                problem = self._unfinished(call) or self._tools.problem(call)
                if problem is not None:
                    self._problems[call.tool_use_id] = problem
        talking = {p.prompt_id for p in work.prompts.values() if p.kind is PromptKind.CONVERSATION}
        answered = {item.prompt_id for _, item in work.inbox if item.prompt_id in work.prompts}
        if any(item.kind == "input" for _, item in work.inbox):
            answered |= talking
        return TurnState(
            spec=work.record.spec,
            fence=work.held.lease.fence,
            journal=work.journal,
            calls=calls,
            tools=self._services.declarations,
            problems=self._problems,
            grants=work.grants,
            prompts=work.prompts,
            answered=frozenset(a for a in answered if a is not None),
            now_ms=work.now_ms(),
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        """Tool calls of this turn's reply, once it is there. A reply that a refusal broke off counts for nothing."""
        if self._known_calls:  # a reply never changes, and every step of the turn asks for its calls
            return self._known_calls
        model = self._work.journal.get(MODEL_ENTRY)
        if model is None or model.state is not EffectState.COMPLETED or model.stop_reason == StopReason.REFUSAL.value:
            return ()
        for stored in reversed(self._work.entries):
            if stored["role"] == "assistant":
                mine = stored.get("turn") == self._work.record.counters.iteration
                self._known_calls = tool_calls(stored["content"]) if mine else ()
                break
        return self._known_calls

    def _unfinished(self, call: ToolCall) -> str | None:
        """What the model is told of the call in which its reply broke off."""
        reason = self._work.journal[MODEL_ENTRY].stop_reason
        reply = next(stored for stored in reversed(self._work.entries) if stored["role"] == "assistant")
        if unfinished_call(reply["content"], reason) != call.tool_use_id:
            return None
        return why_unfinished(call.name, reason, self._work.record.spec.max_tokens)

    # --- moves ---

    def _act(self, decision: Decision) -> Settled | None:
        with log_context(**({} if decision.call is None else {"tool": decision.call.name})):
            return self._make(decision)

    def _make(self, decision: Decision) -> Settled | None:
        match decision.move:
            case Move.CALL_MODEL | Move.CALL_AGAIN | Move.CALL_RETRY:
                return self._call_model(resend=decision.move is Move.CALL_AGAIN)
            case Move.WAIT_RETRY:
                due_ms = self._work.journal[MODEL_ENTRY].retry_at_ms or 0
                return self._work.suspend(SuspendTo.TIMER, due_ms=due_ms)
            case Move.GIVE_UP:
                return self._give_up()
            case Move.TAKE_ANSWERS:
                self._people.take(self.state())
                return None
            case Move.ANNOUNCE:
                return self._wait_for_people()
            case Move.END_TURN:
                return self._end.end(self._calls(), self._problems)
            case Move.USE_OUTCOME:
                raise AssertionError("an outcome in hand is noted before the next decision")
            case _:
                return self._on_call(decision)

    def _on_call(self, decision: Decision) -> Settled | None:
        call, entry = decision.call, decision.entry
        if call is None:
            raise AssertionError(f"{decision.move} needs a call")
        if decision.move is Move.NEXT_TOOL:
            return self._next_tool(call, decision.next_tool)
        if entry is None:
            raise AssertionError(f"{decision.move} needs a journal entry")
        if decision.move is Move.LEAVE_UNKNOWN:
            return self._unknown(call, self._inherited.outcome_unknown(call))
        if decision.move in (Move.RUN_AGAIN, Move.RUN_AGAIN_KEYED):
            self._inherited.run_again(call, entry)
            return None
        unsafe_until_ms = self._work.record.unsafe_until_ms
        if decision.move is Move.PROBE:
            if self._work.now_ms() < unsafe_until_ms:
                # the former owner was only seen absent: until its own deadline it may still be writing
                return self._work.suspend(SuspendTo.TIMER, due_ms=unsafe_until_ms)
            unknown = self._inherited.probe(call, entry)
        else:
            unknown = self._inherited.ask_spool(call, entry)
        return None if unknown is None else self._unknown(call, unknown)

    def _next_tool(self, call: ToolCall, what: NextTool | None) -> Settled | None:
        match what:
            case NextTool.RUN:
                if self._too_soon(call):
                    return self._work.suspend(SuspendTo.TIMER, due_ms=self._work.record.unsafe_until_ms)
                self._tools.run(call)
            case NextTool.ASK if (refusal := self._tools.refusal(call)) is not None:
                self._tools.note(call, ToolResult(text=refusal, is_error=True))  # nobody is asked for nothing
            case NextTool.ASK:
                self._people.open_for(self.state())
                return self._wait_for_people()
            case NextTool.REFUSED:
                self._tools.note(call, ToolResult(text=self._problems[call.tool_use_id], is_error=True))
            case NextTool.DENIED:
                self._tools.note(call, ToolResult(text=self._people.why_denied(call), is_error=True))
            case NextTool.BLOCKED:
                text = "This command would destroy the machine or the home directory. It never runs here."
                self._tools.note(call, ToolResult(text=text, is_error=True))
            case NextTool.HELD_BACK:
                state = self.state()
                why = why_held_back(call, state.calls, state.tools, state.problems, state.journal)
                self._tools.note(call, ToolResult(text=why or "", is_error=True))
            case _:
                self._tools.note(call, ToolResult(text="Noted."))
        return None

    def _too_soon(self, call: ToolCall) -> bool:
        """Whether a former owner that was only seen absent may still act, and this call would meet its work."""
        meets = self._services.declarations[call.name].effect_class in (EffectClass.CHECKABLE, EffectClass.OPAQUE)
        return meets and self._work.now_ms() < self._work.record.unsafe_until_ms

    def _call_model(self, *, resend: bool) -> Settled | None:
        reached = limit_failure(self._work.record)
        if reached is not None:
            return self._work.finish(FinishTo.LIMITED, {"error": reached, "recoverable": True})
        self._work.held.effect_since_s = self._services.clock.boottime_s()
        try:
            self._model.call(resend=resend)
        finally:
            self._work.held.effect_since_s = None
        return None

    def _give_up(self) -> Settled:
        entry = self._work.journal[MODEL_ENTRY]
        text = f"The model call failed for good after {entry.attempt} calls ({entry.fault}): {entry.error}"
        todo = advice(entry.fault, reply_begun=entry.reply_begun)
        return self._end.fail(f"{text}\n{todo}" if todo else text, recoverable=can_be_retried(entry.fault))

    def _wait_for_people(self) -> Settled:
        self._work.note(marker=self._people.marker())
        prompts = [{"id": p.prompt_id, "kind": p.kind.value} for p in self._work.prompts.values()]
        return self._work.suspend(SuspendTo.WAIT, detail={"prompts": prompts})

    def _unknown(self, call: ToolCall, unknown: ToolResult) -> Settled | None:
        if self._work.record.spec.on_unknown_outcome is OnUnknownOutcome.ASK_USER:
            self._people.open_unknown(call, self._calls().index(call), unknown)
            return self._wait_for_people()
        self._tools.note(call, unknown)
        return None

"""One turn, from claim to finish: decide, carry out, commit, until the turn ends or the lease is given back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import assert_never

from neuraphage.decide.actions import (
    Action,
    AskDetached,
    AskGuards,
    AskHosts,
    AskPeople,
    AskReply,
    AskWhatHappened,
    Attach,
    AttachReply,
    CallModel,
    Foresee,
    GiveBack,
    LookAfter,
    LookAtSeal,
    PutBack,
    Record,
    RunTool,
    TakeAnswers,
    VoidApproval,
    WaitForRate,
    WaitUntil,
)
from neuraphage.decide.begun_call import Found
from neuraphage.decide.capacity_actions import AskCapacity, WaitForCapacity
from neuraphage.decide.child_actions import AwaitChildren, Spawn, TakeChildren
from neuraphage.decide.context_actions import Compact, CountTokens
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, PauseFor, Rest, StopAtLimit
from neuraphage.decide.machine import decide
from neuraphage.decide.money_actions import WaitForMoney
from neuraphage.decide.next_call import runs_outside
from neuraphage.decide.rules.reading import rules_of
from neuraphage.decide.snapshot import Snapshot, Stop
from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.logs import log_context
from neuraphage.model.effect import SUMMARY_ENTRY, Permission
from neuraphage.ports import Settled, SuspendTo
from neuraphage.runtime.announcer import Announcer
from neuraphage.runtime.asking_guards import GuardBlocked
from neuraphage.runtime.begun_calls import BegunCalls
from neuraphage.runtime.call_locks import Blocked
from neuraphage.runtime.child_step import ChildStep
from neuraphage.runtime.context_step import ContextStep
from neuraphage.runtime.gates import Gates
from neuraphage.runtime.guard_step import GuardStep
from neuraphage.runtime.model_step import ModelStep
from neuraphage.runtime.no_money import NoMoney, NoTurns
from neuraphage.runtime.no_room import NoRoom
from neuraphage.runtime.people_step import PeopleStep
from neuraphage.runtime.relayed_call import begun_call
from neuraphage.runtime.seals import Seals
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.turn_end import TurnEnd
from neuraphage.runtime.turn_facts import TurnFacts
from neuraphage.runtime.unit_of_work import UnitOfWork

log = logging.getLogger(__name__)

_GIVEN_BACK = {Stop.ASKED: SuspendTo.PAUSE, Stop.SHUTDOWN: SuspendTo.SHUTDOWN}
"""PAUSE also where a cancel was asked for: the script finds that flag, and ends the task."""


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
        self._gates = Gates(services, work)
        announcer = Announcer(services, work)
        self._model = ModelStep(services, work, self._gates.of_reply, announcer)
        self._context = ContextStep(services, work, self._model, announcer, self._gates)
        spec = work.record.spec
        rules = services.rules_for(spec.working_dir)
        self._tools = ToolStep(services, work, rules)
        self._facts = TurnFacts(services, work, self._tools, rules, self._gates)
        self._begun = BegunCalls(services, work, self._tools)
        self._seals = Seals(services, work, self._tools, (*rules, *rules_of(spec.allow)))
        self._people = PeopleStep(services, work, self._tools, self._seals)
        self._guards = GuardStep(services, work, self._tools)
        self._end = TurnEnd(services, work, self._people)
        self._children = ChildStep(services, work, self._tools, self._seals)
        self._broken_off: Stop | None = None
        self._seen: Snapshot
        """What the action in hand was decided from."""

    def advance(self) -> Settled:
        """Act until the turn ends or the lease is given back.

        Raises:
            LeaseLost: another lease has taken over; nothing more was written.
            StoreUnavailable: the store stayed away; the sweep takes over when it is back.
        """
        held = self._work.held
        while True:
            if held.lost:
                raise LeaseLost(held.lease.task_id)
            try:
                self._seen = self._facts.snapshot(self._stop())
                settled = self._act(decide(self._seen))
            except Blocked as blocked:
                return blocked.settled
            except CancelRequested:
                self._broken_off = Stop.ASKED
            except LeaseLost:
                if held.lost:
                    raise
                # shutting down with a command that goes on in its own process: the next lease attaches to it
                self._broken_off = Stop.SHUTDOWN
            else:
                if settled is not None:
                    return settled

    def _stop(self) -> Stop | None:
        """Why no further step is to be taken, if so."""
        if self._broken_off is not None:
            return self._broken_off
        if self._work.held.cancel or self._work.held.pause:
            return Stop.ASKED
        return Stop.SHUTDOWN if self._draining() else None

    # --- actions ---

    def _act(self, action: Action) -> Settled | None:
        call = getattr(action, "call", None)
        if call is None:
            return self._carry_out(action)
        with log_context(tool=call.name):
            return self._carry_out(action)

    def _carry_out(self, action: Action) -> Settled | None:  # noqa: PLR0912 - one branch a kind of action
        match action:
            case CallModel() | Compact() | AskReply() | AttachReply():
                self._reply(action)
            case CountTokens() | AskCapacity():
                self._ask_provider(action)
            case TakeAnswers():
                self._people.take(self._facts.calls())
                self._facts.forget()
            case Foresee() | LookAtSeal() | VoidApproval() | AskGuards():
                self._look_ahead(action)
            case RunTool():
                self._seals.decided(action.call, Permission.GRANTED, action.allowed_by)
                outside = runs_outside(self._seen, action.call)
                self._tools.run(action.call, attempt=action.attempt, kept=action.evidence, outside=outside)
            case LookAfter() | AskDetached() | Attach() | PutBack():
                self._settle(action)
            case GiveBack(why=why):
                return self._work.suspend(_GIVEN_BACK[why])
            case Record():
                self._seals.decided(action.call, Permission.DENIED, action.denied_by)
                self._tools.note(action.call, action.result)
            case WaitUntil() | WaitForRate() | WaitForCapacity() | WaitForMoney():
                return self._wait(action)
            case AskPeople() | AskHosts() | AskWhatHappened():
                return self._ask(action)
            case Spawn() | AwaitChildren() | TakeChildren():
                return self._of_children(action)
            case NextTurn() | PauseFor() | Complete() | Fail() | StopAtLimit() | Rest():
                return self._end.end(action)
            case _:
                assert_never(action)
        return None

    def _of_children(self, action: Spawn | AwaitChildren | TakeChildren) -> Settled | None:
        """How many others have made meanwhile is a fact of the next decision."""
        try:
            return self._children.carry_out(action)
        except NoRoom as full:
            self._work.children_made = full.made
            self._facts.forget()
            return None

    def _wait(self, action: WaitUntil | WaitForRate | WaitForCapacity | WaitForMoney) -> Settled:
        """A timer or a person wakes the task; until then no process is busy with it."""
        if isinstance(action, WaitForMoney):
            to = SuspendTo.MONEY if action.shortage.is_exhausted else SuspendTo.TIMER
            return self._work.suspend(to, due_ms=action.due_ms, detail=action.shortage.model_dump())
        if isinstance(action, WaitForRate):
            self._tools.hold(action)
        elif isinstance(action, WaitForCapacity):
            self._gates.of(action.summary).hold(action)
        return self._work.suspend(SuspendTo.TIMER, due_ms=action.due_ms)

    def _ask(self, action: AskPeople | AskHosts | AskWhatHappened) -> Settled:
        """Open prompts, and give the lease back until somebody answers."""
        match action:
            case AskPeople(about=about):
                outside_ids = {call.tool_use_id for call in about if runs_outside(self._seen, call)}
                self._people.open_for(about, self._facts.calls(), outside_ids)
            case AskHosts(call=call, places=places):
                self._people.open_hosts(call, self._facts.calls().index(call), places)
            case AskWhatHappened(call=call, known=known):
                self._people.open_unknown(call, self._facts.calls().index(call), known)
        return self._people.wait()

    def _look_ahead(self, action: Foresee | LookAtSeal | VoidApproval | AskGuards) -> None:
        """What is known of a call that has not started is a fact of the next decision."""
        call = action.call
        match action:
            case Foresee():
                self._facts.foreseen[call.tool_use_id] = self._tools.refusal(call)
            case LookAtSeal():
                self._facts.seals[call.tool_use_id] = self._seals.digest(call)
            case VoidApproval():
                self._seals.void(call)
                self._facts.forget()
            case AskGuards(point=point, rules=rules):
                self._guards.judge(call, point, rules)
                self._facts.forget()

    def _ask_provider(self, action: CountTokens | AskCapacity) -> None:
        """What is known of the provider is a fact of the next decision."""
        match action:
            case CountTokens():
                self._facts.counted = self._context.counted()
            case AskCapacity(summary=summary):
                self._gates.of(summary).ask(0 if summary is None else summary.tokens)

    def _reply(self, action: CallModel | Compact | AskReply | AttachReply) -> None:
        """Get a reply of the model, or find out what came of one; it may take as long as an effect does."""
        self._work.held.effect_since_s = self._services.clock.boottime_s()
        try:
            match action:
                case CallModel(may_be_billed=may_be_billed):
                    self._model.call(resend=may_be_billed)
                case Compact():
                    self._context.compact(action)
                case AskReply():
                    self._facts.reply_found = self._model.settle()
                case AttachReply():
                    begun = begun_call(self._work)
                    (self._context if begun is not None and begun.key == SUMMARY_ENTRY else self._model).attach()
        except NoMoney as short:
            self._facts.shortage = short.shortage
        except NoTurns as full:
            self._facts.used_up = full.used_up
        except GuardBlocked as blocked:
            self._work.note(events=blocked.events)
            self._facts.blocked = str(blocked)
        finally:
            self._work.held.effect_since_s = None

    def _settle(self, action: LookAfter | AskDetached | Attach | PutBack) -> None:
        """What is found out of a begun call is a fact of the next decision; one that did not run has not begun."""
        call = action.call
        entry = self._work.tool_effect(call.tool_use_id)
        if entry is None:
            raise AssertionError(f"{action} is about a call that was never begun")
        match action:
            case LookAfter():
                found: Found | None = self._begun.probe(call, entry)
            case AskDetached():
                found = self._begun.ask(call, entry)
            case Attach():
                found = self._begun.attach(call, entry)
            case PutBack():
                self._tools.put_back(call, action.attempt, keeps_evidence=action.keeps_evidence)
                self._facts.found.pop(call.tool_use_id, None)
                found = None
        if found is not None:
            self._facts.found[call.tool_use_id] = found

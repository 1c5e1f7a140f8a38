"""One turn, from claim to finish: decide, carry out, commit, until the turn ends or the lease is given back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import assert_never

from neuraphage.decide.actions import (
    Action,
    AskDetached,
    AskHosts,
    AskPeople,
    AskWhatHappened,
    Attach,
    CallModel,
    Complete,
    Fail,
    Foresee,
    GiveBack,
    LookAfter,
    LookAtSeal,
    NextTurn,
    PutBack,
    Record,
    Rest,
    RunTool,
    StopAtLimit,
    TakeAnswers,
    VoidApproval,
    WaitForRate,
    WaitUntil,
)
from neuraphage.decide.begun_call import Found
from neuraphage.decide.conversation import calls_of_turn
from neuraphage.decide.edits import as_allowed
from neuraphage.decide.host_requests import with_reach
from neuraphage.decide.machine import decide
from neuraphage.decide.next_call import runs_outside
from neuraphage.decide.replies import unfinished_call, why_unfinished
from neuraphage.decide.rules.reading import rules_of
from neuraphage.decide.snapshot import Bounds, Snapshot, Stop
from neuraphage.errors import CancelRequested, LeaseLost
from neuraphage.logs import log_context
from neuraphage.model.effect import Permission
from neuraphage.model.prompt import PromptKind
from neuraphage.model.shell import ShellLine
from neuraphage.model.tool import ToolCall
from neuraphage.model.tool_traits import RatedKind
from neuraphage.ports import Settled, SuspendTo
from neuraphage.runtime.begun_calls import BegunCalls
from neuraphage.runtime.model_step import ModelStep
from neuraphage.runtime.people_step import PeopleStep
from neuraphage.runtime.seals import Seals
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.turn_end import TurnEnd
from neuraphage.runtime.unit_of_work import UnitOfWork
from neuraphage.settings import Settings

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
        self._model = ModelStep(services, work)
        spec = work.record.spec
        self._rules = services.rules_for(spec.working_dir)
        self._tools = ToolStep(services, work, self._rules)
        self._begun = BegunCalls(services, work, self._tools)
        self._seals = Seals(services, work, self._tools, (*self._rules, *rules_of(spec.allow)))
        self._people = PeopleStep(services, work, self._tools, self._seals)
        self._end = TurnEnd(work, self._people)
        self._bounds = _bounds(services.settings)
        self._problems: dict[str, str] = {}
        self._foreseen: dict[str, str | None] = {}
        self._looked_at: dict[str, str] = {}
        self._lines: dict[str, ShellLine | None] = {}
        self._found: dict[str, Found] = {}
        self._checked: set[str] = set()
        self._known_calls: tuple[ToolCall, ...] = ()
        self._broken_off: Stop | None = None

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
                settled = self._act(decide(self.snapshot()))
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

    def snapshot(self) -> Snapshot:
        """What the next decision is made from."""
        work, stop = self._work, self._stop()
        calls = self._calls()
        for call in calls if stop is None else ():
            if call.tool_use_id not in self._checked:
                self._checked.add(call.tool_use_id)
                problem = self._unfinished(call) or self._tools.problem(call)
                if problem is not None:
                    self._problems[call.tool_use_id] = problem
                else:
                    self._read_line(call)
        talking = {p.prompt_id for p in work.prompts.values() if p.kind is PromptKind.CONVERSATION}
        answered = {item.prompt_id for _, item in work.inbox if item.prompt_id in work.prompts}
        if any(item.kind == "input" for _, item in work.inbox):
            answered |= talking
        reach, declared = self._tools.reach(), self._services.declarations
        return Snapshot(
            record=work.record,
            entries=work.entries,
            fence=work.held.lease.fence,
            journal=work.journal,
            calls=calls,
            tools={name: with_reach(tool, reach) for name, tool in declared.items()},
            problems=self._problems,
            grants=work.grants,
            prompts=work.prompts,
            answered=frozenset(a for a in answered if a is not None),
            now_ms=work.now_ms(),
            bounds=self._bounds,
            foreseen=self._foreseen,
            lines=self._lines,
            seals=self._looked_at,
            rules=self._rules,
            found=self._found,
            stop=stop,
            reach=reach,
            asks_hosts=self._services.settings.ask_refused_hosts != "off",
        )

    def _calls(self) -> tuple[ToolCall, ...]:
        """Tool calls of this turn's reply, once it is there."""
        if not self._known_calls:  # a reply seldom changes, and every step of the turn asks for its calls
            work = self._work
            calls = calls_of_turn(work.model_effect, work.entries, work.record.counters.iteration)
            self._known_calls = tuple(as_allowed(call, work.tool_effect(call.tool_use_id)) for call in calls)
        return self._known_calls

    def _read_line(self, call: ToolCall) -> None:
        """What the command line of a call runs is a fact of the decision whether it may."""
        tool = self._services.declarations.get(call.name)
        command = None if tool is None else tool.command_of(call.params)
        if command is not None:
            self._lines[call.tool_use_id] = self._services.shell.read(command)

    def _unfinished(self, call: ToolCall) -> str | None:
        """What the model is told of the call in which its reply broke off."""
        model = self._work.model_effect
        reason = None if model is None else model.stop_reason
        reply = next(stored for stored in reversed(self._work.entries) if stored["role"] == "assistant")
        if unfinished_call(reply["content"], reason) != call.tool_use_id:
            return None
        return why_unfinished(call.name, reason, self._work.record.spec.max_tokens)

    # --- actions ---

    def _act(self, action: Action) -> Settled | None:
        call = getattr(action, "call", None)
        with log_context(**({} if call is None else {"tool": call.name})):
            return self._carry_out(action)

    def _carry_out(self, action: Action) -> Settled | None:
        match action:
            case CallModel():
                self._call_model(action)
            case TakeAnswers():
                self._people.take(self._calls())
                self._forget_facts()
            case Foresee() | LookAtSeal() | VoidApproval():
                self._look_ahead(action)
            case RunTool():
                self._seals.decided(action.call, Permission.GRANTED, action.allowed_by)
                outside = runs_outside(self.snapshot(), action.call)
                self._tools.run(action.call, attempt=action.attempt, kept=action.evidence, outside=outside)
            case LookAfter() | AskDetached() | Attach() | PutBack():
                self._settle(action)
            case GiveBack(why=why):
                return self._work.suspend(_GIVEN_BACK[why])
            case Record():
                self._seals.decided(action.call, Permission.DENIED, action.denied_by)
                self._tools.note(action.call, action.result)
            case WaitUntil() | WaitForRate():
                return self._wait(action)
            case AskPeople() | AskHosts() | AskWhatHappened():
                return self._ask(action)
            case NextTurn() | Complete() | Fail() | StopAtLimit() | Rest():
                return self._end.end(action)
            case _:
                assert_never(action)
        return None

    def _wait(self, action: WaitUntil | WaitForRate) -> Settled:
        """A timer wakes the task; until then no process is busy with it."""
        if isinstance(action, WaitForRate):
            self._tools.hold(action)
        return self._work.suspend(SuspendTo.TIMER, due_ms=action.due_ms)

    def _ask(self, action: AskPeople | AskHosts | AskWhatHappened) -> Settled:
        """Open prompts, and give the lease back until somebody answers."""
        match action:
            case AskPeople(about=about):
                outside_ids = {call.tool_use_id for call in about if runs_outside(self.snapshot(), call)}
                self._people.open_for(about, self._calls(), outside_ids)
            case AskHosts(call=call, places=places):
                self._people.open_hosts(call, self._calls().index(call), places)
            case AskWhatHappened(call=call, known=known):
                self._people.open_unknown(call, self._calls().index(call), known)
        return self._people.wait()

    def _look_ahead(self, action: Foresee | LookAtSeal | VoidApproval) -> None:
        """What is known of a call that has not started is a fact of the next decision."""
        call = action.call
        match action:
            case Foresee():
                self._foreseen[call.tool_use_id] = self._tools.refusal(call)
            case LookAtSeal():
                self._looked_at[call.tool_use_id] = self._seals.digest(call)
            case VoidApproval():
                self._seals.void(call)
                self._forget_facts()

    def _forget_facts(self) -> None:
        """What is known of calls was known of them as they were: a person may have changed one."""
        self._known_calls = ()
        for facts in (self._problems, self._lines, self._foreseen, self._looked_at):
            facts.clear()
        self._checked.clear()

    def _call_model(self, action: CallModel) -> None:
        self._work.held.effect_since_s = self._services.clock.boottime_s()
        try:
            self._model.call(resend=action.may_be_billed)
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
                self._found.pop(call.tool_use_id, None)
                found = None
        if found is not None:
            self._found[call.tool_use_id] = found


def _bounds(settings: Settings) -> Bounds:
    """The limits of the settings that decisions need."""
    rates = {
        RatedKind.WRITES: settings.task_writes_per_minute,
        RatedKind.COMMANDS: settings.task_commands_per_minute,
    }
    per_minute = {kind: most for kind, most in rates.items() if most != "none"}
    return Bounds(settings.max_continues, settings.max_empty_replies, per_minute)

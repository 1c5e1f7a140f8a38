"""The facts of one turn: what its next decision is made from. What was found out of calls stays known for the turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from neuraphage.decide.begun_call import Finding, Found
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.conversation import calls_of_turn
from neuraphage.decide.edits import as_allowed
from neuraphage.decide.host_requests import with_reach
from neuraphage.decide.replies import unfinished_call, why_unfinished
from neuraphage.decide.snapshot import Snapshot, Stop
from neuraphage.decide.summary_model import SummaryFacts
from neuraphage.model.effect import EffectState
from neuraphage.model.limits import TurnsUsedUp
from neuraphage.model.money import Shortage
from neuraphage.model.prompt import PromptKind
from neuraphage.model.rule import Rule
from neuraphage.model.sandbox import HostReach
from neuraphage.model.shell import ShellLine
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ToolCall, ToolDeclaration
from neuraphage.runtime.gates import Gates
from neuraphage.runtime.services import Services
from neuraphage.runtime.tool_step import ToolStep
from neuraphage.runtime.unit_of_work import UnitOfWork


class TurnFacts:
    """What is known of the calls of one turn.

    Args:
        services: the ports.
        work: the working copy.
        tools: looks at calls.
        rules: those in force for the task, without its own.
        gates: whether models take calls.
    """

    def __init__(
        self,
        services: Services,
        work: UnitOfWork,
        tools: ToolStep,
        rules: Sequence[Rule],
        gates: Gates,
    ) -> None:
        self._services = services
        self._work = work
        self._tools = tools
        self._gates = gates
        self._rules = tuple(rules)
        self._problems: dict[str, str] = {}
        self._lines: dict[str, ShellLine | None] = {}
        self._checked: set[str] = set()
        self._known_calls: tuple[ToolCall, ...] = ()
        self._reached: tuple[Mapping[str, str], HostReach, dict[str, ToolDeclaration]] | None = None
        self._measured: tuple[tuple[TaskSpec, str, list[str]], ContextBounds] | None = None
        self.foreseen: dict[str, str | None] = {}
        """Of calls that a person is to be asked about: why they can only fail, or None."""
        self.seals: dict[str, str] = {}
        """What an approval of a call would be bound to now."""
        self.counted: int | None = None
        """What the provider says of the length of the next request; 0 where it gave no answer."""
        self.found: dict[str, Found] = {}
        """What came of begun calls."""
        self.reply_found: Finding | None = None
        """What came of a call of the model that a former lease had sent."""
        self.blocked = ""
        """Why a guard lets no request be sent."""
        self.shortage: Shortage | None = None
        """The pool of money that had no room for the call of the model."""
        self.used_up: TurnsUsedUp | None = None
        """The limit of turns of a tree that has no room for this one."""

    def snapshot(self, stop: Stop | None) -> Snapshot:
        """What the next decision is made from.

        Args:
            stop: why no further step is to be taken; then no call is looked at.
        """
        work, calls = self._work, self.calls()
        for call in calls if stop is None else ():
            self._look_at(call)
        reach, tools = self._reach()
        return Snapshot(
            record=work.record,
            entries=work.entries,
            fence=work.held.lease.fence,
            journal=work.journal,
            calls=calls,
            tools=tools,
            problems=self._problems,
            grants=work.grants,
            prompts=work.prompts,
            answered=self._answered(),
            now_ms=work.now_ms(),
            bounds=self._services.bounds,
            foreseen=self.foreseen,
            lines=self._lines,
            seals=self.seals,
            rules=self._rules,
            found=self.found,
            stop=stop,
            reach=reach,
            guards=self._services.guards.points,
            blocked=self.blocked,
            reply_found=self.reply_found,
            asks_hosts=self._services.settings.ask_refused_hosts != "off",
            context=self._context(),
            can_count=self._services.can_count,
            counted=self.counted,
            summary=self._summary(),
            asks_capacity=self._gates.of_reply.is_asked,
            capacity=self._gates.of_reply.found,
            is_priced=self._services.quote(work.record.choice.model).known,
            shortage=self.shortage,
            used_up=self.used_up,
            is_spoken_to=any(item.kind == "input" for _, item in work.inbox),
            history=work.history,
        )

    def calls(self) -> tuple[ToolCall, ...]:
        """Tool calls of this turn's reply, once it is there."""
        if not self._known_calls:  # a reply seldom changes, and every step of the turn asks for its calls
            work = self._work
            calls = calls_of_turn(work.model_effect, work.entries, work.record.counters.iteration)
            self._known_calls = tuple(as_allowed(call, work.tool_effect(call.tool_use_id)) for call in calls)
        return self._known_calls

    def forget(self) -> None:
        """What is known of calls was known of them as they were: a person may have changed one."""
        self._known_calls = ()
        for facts in (self._problems, self._lines, self.foreseen, self.seals):
            facts.clear()
        self._checked.clear()

    # --- parts ---

    def _look_at(self, call: ToolCall) -> None:
        """Find out once whether a call can be run at all, and what its command line runs."""
        if call.tool_use_id in self._checked:
            return
        self._checked.add(call.tool_use_id)
        problem = self._unfinished(call) or self._tools.problem(call)
        if problem is not None:
            self._problems[call.tool_use_id] = problem
            return
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

    def _answered(self) -> frozenset[str]:
        """Open prompts that somebody has answered."""
        work = self._work
        answered = {item.prompt_id for _, item in work.inbox if item.prompt_id in work.prompts}
        if any(item.kind == "input" for _, item in work.inbox):
            answered |= {p.prompt_id for p in work.prompts.values() if p.kind is PromptKind.CONVERSATION}
        return frozenset(a for a in answered if a is not None)

    def _context(self) -> ContextBounds:
        """How long the next request may be. What waits to be taken in is known for sure when it is announced."""
        record = self._work.record
        rests_on = (record.spec, record.choice.model, [i.text for _, i in self._work.inbox if i.kind == "input"])
        if self._measured is None or self._measured[0] != rests_on:
            self._measured = (rests_on, self._services.context_bounds(record, rests_on[2]))
        return self._measured[1]

    def _summary(self) -> SummaryFacts:
        """Who may be asked for a summary: of a call that was begun the same model, whatever the settings say now."""
        own, begun = self._work.record.choice.model, self._work.summary_effect
        is_over = begun is None or begun.state is EffectState.COMPLETED
        candidate = self._services.candidate(own, None if begun is None or is_over else begun.model)
        return SummaryFacts(candidate, self._gates.known(own, candidate.model))

    def _reach(self) -> tuple[HostReach, dict[str, ToolDeclaration]]:
        """The hosts that commands may reach, and the tools as they are confined by that. Answers change it, seldom."""
        if self._reached is None or self._reached[0] != self._work.grants:
            reach, declared = self._tools.reach(), self._services.declarations
            tools = {name: with_reach(tool, reach) for name, tool in declared.items()}
            self._reached = (dict(self._work.grants), reach, tools)
        return self._reached[1:]

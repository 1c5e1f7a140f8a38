"""Everything that the next action of a turn depends on, as one value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from neuraphage.decide.begun_call import Finding, Found
from neuraphage.decide.context_bounds import ContextBounds
from neuraphage.decide.conversation import reply_of_turn
from neuraphage.decide.steps_taken import StepHistory
from neuraphage.decide.summary_model import SummaryFacts
from neuraphage.model.anomaly import AnomalyKind, AnomalyRule
from neuraphage.model.capacity import Capacity
from neuraphage.model.effect import Journal
from neuraphage.model.hook import HookPoint
from neuraphage.model.limits import TurnsUsedUp
from neuraphage.model.money import Shortage
from neuraphage.model.prompt import Prompt
from neuraphage.model.rule import Rule
from neuraphage.model.sandbox import NO_HOSTS, HostReach
from neuraphage.model.shell import ShellLine
from neuraphage.model.task import TaskRecord
from neuraphage.model.tool import ToolCall, ToolDeclaration
from neuraphage.model.tool_traits import RatedKind


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits from the settings that decisions need.

    Args:
        max_continues: replies in a row that were cut off or paused.
        max_empty_replies: replies in a row without words and calls.
        per_minute: calls of a kind that a task may begin within a minute; a kind that is not there has no limit.
        max_recovery_cost_microusd: what calls may have cost that were lost with their workers.
        pool_wait_ms: until it is asked again whether a pool has room.
        fails_at_pool: whether a pool that is used up fails the task, instead of pausing it.
        anomalies: what holds for each kind that is looked for.
    """

    max_continues: int
    max_empty_replies: int
    per_minute: Mapping[RatedKind, int] = field(default_factory=dict)
    max_recovery_cost_microusd: int = 5_000_000
    pool_wait_ms: int = 2_000
    fails_at_pool: bool = False
    anomalies: Mapping[AnomalyKind, AnomalyRule] = field(default_factory=dict)


class Stop(Enum):
    """Why a turn is not to take another step now."""

    ASKED = auto()
    """A person wants the task paused or cancelled."""
    SHUTDOWN = auto()
    """This process ends."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What is stored, what was noted since, and what others were asked.

    Args:
        record: the task.
        entries: the conversation.
        fence: of this lease.
        journal: by key.
        calls: tool calls of the turn's reply, in order.
        tools: declarations by name.
        problems: tool_use id -> why the call cannot be run at all.
        foreseen: tool_use id -> why the call can only fail as things stand, or None; of calls whose tool was asked.
        lines: tool_use id -> what its command line runs, None where it cannot be read; of calls that have one.
        seals: tool_use id -> what an approval would be bound to now; of calls that were looked at.
        rules: those of the settings and of the person.
        found: tool_use id -> what came of a call that a former lease had begun; of calls that were asked about.
        grants: remembered permissions by tool name.
        prompts: open prompts by id.
        answered: ids of open prompts that the inbox answers (a conversation prompt is answered by any input).
        now_ms: server time.
        bounds: limits from the settings.
        stop: why the turn is not to go on; None where it is.
        reach: what rules say of hosts.
        reply_found: what came of the call of the model that a former lease had sent; None while nobody was asked.
        asks_hosts: whether people are asked about hosts that a command was refused.
        context: how long a request may be; None where nobody asks.
        can_count: whether the provider can be asked how long a request is.
        counted: what it said of the next one, without what waits to be taken in; None before it was asked, 0 where it
            gave no answer.
        summary: who may be asked for a summary.
        asks_capacity: whether it is to be asked for before a call of the model.
        capacity: whether the model takes the call for the reply now; None while that was not asked.
        is_priced: whether a price of the task's model is known.
        shortage: the pool of money that had no room for the call of the model; None where none was asked.
        used_up: the limit of turns of a tree that has no room for this turn; None where none was asked.
        is_spoken_to: whether a message of a person waits to be taken in.
        guards: points where this process has guards.
        blocked: why a guard lets no request be sent; empty where none does.
        history: has looked at the entries before, if it is the one of this conversation.
    """

    record: TaskRecord
    entries: Sequence[Mapping[str, Any]]
    fence: int
    journal: Journal
    calls: tuple[ToolCall, ...]
    tools: Mapping[str, ToolDeclaration]
    problems: Mapping[str, str]
    grants: Mapping[str, str]
    prompts: Mapping[str, Prompt]
    answered: frozenset[str]
    now_ms: int
    bounds: Bounds
    foreseen: Mapping[str, str | None] = field(default_factory=dict)
    lines: Mapping[str, ShellLine | None] = field(default_factory=dict)
    seals: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    found: Mapping[str, Found] = field(default_factory=dict)
    stop: Stop | None = None
    reach: HostReach = NO_HOSTS
    asks_hosts: bool = False
    reply_found: Finding | None = None
    context: ContextBounds | None = None
    can_count: bool = False
    counted: int | None = None
    summary: SummaryFacts = field(default_factory=SummaryFacts)
    asks_capacity: bool = False
    capacity: Capacity | None = None
    is_priced: bool = True
    shortage: Shortage | None = None
    used_up: TurnsUsedUp | None = None
    is_spoken_to: bool = False
    guards: frozenset[HookPoint] = frozenset()
    blocked: str = ""
    history: StepHistory = field(default_factory=StepHistory)

    def reply(self) -> Sequence[Mapping[str, Any]]:
        """The blocks of this turn's reply."""
        return reply_of_turn(self.entries, self.record.counters.iteration)

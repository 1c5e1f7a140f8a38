"""What a turn can do next: a closed union. The turn carries an action out and decides nothing.

Some actions only bring a fact (`AskCapacity`, `CountTokens`, `Foresee`, `LookAtSeal`, `LookAfter`, `AskDetached`,
`AskReply`): what others know is asked for, and the next decision is made with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.capacity_actions import AskCapacity, WaitForCapacity
from neuraphage.decide.child_actions import AwaitChildren, Spawn, TakeChildren
from neuraphage.decide.context_actions import Compact, CountTokens
from neuraphage.decide.end_actions import Complete, Fail, NextTurn, PauseFor, Rest, StopAtLimit
from neuraphage.decide.money_actions import WaitForMoney
from neuraphage.decide.snapshot import Stop
from neuraphage.model.hook import HookPoint
from neuraphage.model.rule import Rule
from neuraphage.model.tool import ToolCall, ToolResult
from neuraphage.model.tool_traits import RatedKind


@dataclass(frozen=True, slots=True)
class CallModel:
    """Announce a request and send it.

    Args:
        may_be_billed: an earlier call of the same request may be billed, too; it is counted.
    """

    may_be_billed: bool = False


@dataclass(frozen=True, slots=True)
class AskReply:
    """Ask the relay what became of a call of the model that a former lease had sent."""


@dataclass(frozen=True, slots=True)
class AttachReply:
    """Read the reply to a call that a former lease had sent, and note it."""


@dataclass(frozen=True, slots=True)
class GiveBack:
    """Write what is noted and give the lease back in mid-turn; journal and iteration stay.

    Args:
        why: what stops the turn. Whether a task is paused or cancelled is in what is stored.
    """

    why: Stop


@dataclass(frozen=True, slots=True)
class WaitUntil:
    """Give the lease back until a time.

    Args:
        due_ms: server time, milliseconds.
    """

    due_ms: int


@dataclass(frozen=True, slots=True)
class WaitForRate:
    """Give the lease back until a call may begin within the rate of its task; no process waits.

    Args:
        call: the call.
        kind: which of its calls the task has begun so many of.
        most: that may begin within a minute.
        due_ms: server time, milliseconds.
    """

    call: ToolCall
    kind: RatedKind
    most: int
    due_ms: int


@dataclass(frozen=True, slots=True)
class TakeAnswers:
    """Take in what people have answered."""


@dataclass(frozen=True, slots=True)
class AskPeople:
    """Open prompts and give the lease back until somebody answers.

    Args:
        about: calls to ask about, with those that are asked about already none.
    """

    about: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True)
class AskWhatHappened:
    """Ask a person what came of an interrupted call.

    Args:
        call: the call.
        known: the result that it has while nobody knows.
    """

    call: ToolCall
    known: ToolResult


@dataclass(frozen=True, slots=True)
class AskHosts:
    """Ask a person about hosts that the command of a call was refused, and give the lease back.

    Args:
        call: the call, which is over.
        places: hosts and ports, as `pypi.org:443`.
    """

    call: ToolCall
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Foresee:
    """Ask a tool whether a call that a person would be asked about can only fail as things stand."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AskGuards:
    """Have guards judge a call.

    Args:
        call: the call.
        point: which of them.
        rules: of SecurityPolicyCheck: those by which it would run.
    """

    call: ToolCall
    point: HookPoint
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class LookAtSeal:
    """Look what an approval of a call would be bound to now."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class VoidApproval:
    """Note that an approval does not hold, because what it is bound to has changed."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class RunTool:
    """Announce a call and run it.

    Args:
        call: the call.
        attempt: starts of it that are known not to have run; part of its key.
        evidence: from before an earlier start that had no effect; None takes it now.
        allowed_by: rules by which it runs; none of what a person has allowed, or nobody had to.
    """

    call: ToolCall
    attempt: int = 0
    evidence: Mapping[str, Any] | None = None
    allowed_by: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class LookAfter:
    """Probe whether an interrupted, checkable call happened."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AskDetached:
    """Ask for what became of work that outlives workers; what has not started is kept from ever starting."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class Attach:
    """Wait for work that a former lease has started, and note its result."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class PutBack:
    """Note that a begun call did not run: it is judged anew, since rules, files and people's minds change.

    Args:
        call: the call.
        attempt: starts of it that are known not to have run; part of its key.
        keeps_evidence: whether the evidence from before its start goes on to hold.
    """

    call: ToolCall
    attempt: int
    keeps_evidence: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """Note the result of a call that is not run.

    Args:
        call: the call.
        result: what the model is told.
        denied_by: rules that forbid it; none of what a person has refused, or what could not run anyway.
    """

    call: ToolCall
    result: ToolResult
    denied_by: tuple[Rule, ...] = ()


Action = (
    CallModel
    | AskReply
    | AttachReply
    | Compact
    | CountTokens
    | GiveBack
    | WaitUntil
    | WaitForRate
    | AskCapacity
    | WaitForCapacity
    | WaitForMoney
    | TakeAnswers
    | AskPeople
    | AskWhatHappened
    | AskHosts
    | AskGuards
    | Foresee
    | LookAtSeal
    | VoidApproval
    | RunTool
    | LookAfter
    | AskDetached
    | Attach
    | PutBack
    | Record
    | Spawn
    | AwaitChildren
    | TakeChildren
    | NextTurn
    | PauseFor
    | Complete
    | Fail
    | StopAtLimit
    | Rest
)
"""The next action of a turn."""

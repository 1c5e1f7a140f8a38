"""What a turn writes: claim, commit, suspend, finish, renew. Values in, named verdicts out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from neuraphage.model.capacity import ModelLimits
from neuraphage.model.effect import JournalEntry, Marker
from neuraphage.model.event import Event
from neuraphage.model.limits import TurnsUsedUp
from neuraphage.model.message import Entry
from neuraphage.model.money import Shortage
from neuraphage.model.prompt import InboxItem, Prompt
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports.capacity import CapacityStore
from neuraphage.ports.child_changes import NO_CHILDREN, ChildChanges
from neuraphage.ports.effects import Delta
from neuraphage.ports.lock_request import LockRequest
from neuraphage.ports.model_change import ModelChange
from neuraphage.ports.people import NextTurn
from neuraphage.ports.turn_ends import FinishTo, SuspendTo


class ClaimVerdict(StrEnum):
    """Answers of claim."""

    GRANTED = "GRANTED"
    STALE = "STALE"
    """The message is of an older step, or there is no such task."""
    LEASED = "LEASED"
    """Another process holds it."""
    NOT_RUNNABLE = "NOT_RUNNABLE"
    """It waits, is paused, cancelled or over."""


class CommitVerdict(StrEnum):
    """Answers of commit, suspend and finish."""

    COMMITTED = "COMMITTED"
    STALE = "STALE"
    """Another lease has taken over (or the task is gone): nothing was written."""
    LOST = "LOST"
    """An earlier write of this lease is missing (the server lost its tail): nothing was written."""
    NO_MONEY = "NO_MONEY"
    """A pool has no room for the call that a commit announces: nothing was written, and the lease stands."""
    NO_TURNS = "NO_TURNS"
    """A tree has taken all the turns that it may: nothing was written by commit, and the lease stands."""
    BLOCKED = "BLOCKED"
    """Another task has what the call needs that a commit announces: the rest was written, and the lease is over."""
    NO_ROOM = "NO_ROOM"
    """The task has no room for the children that a suspend makes: nothing was written, and the lease stands."""
    CANCELLED = "CANCELLED"
    """The task is over: nothing was written by commit; suspend and finish ended it as Cancelled."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right of one process to advance one task.

    Args:
        task_id, fence, claim_id: what every write must match.
        token: number of the last write of this claim (the token chain).
    """

    task_id: str
    fence: int
    claim_id: str
    token: int = 0


@dataclass(frozen=True, slots=True)
class Claimed:
    """Everything a turn needs, read in one round trip.

    Args:
        verdict: GRANTED, or why not; other fields than `woken` are set only with GRANTED.
        lease: the new lease.
        record: the task.
        journal: entries of the turn, by key.
        inbox, entries: unconsumed input and answers, oldest first, as (stored bytes, item); the conversation.
        sent_at_boottime_s: local send time, the start of the worker's own deadline.
        now_ms: server time of the claim.
        memo: of this process, for what it makes of these entries and of those that are added; it is handed out again
            with the next claim that the same process makes, if they are still how the conversation begins.
        cooling: gates of models that take no calls now, or are to be found out about.
        kept: limits that were learned from a provider and that workers keep now, by gate.
        woken: of a claim that has ended or paused the task: messages of others, which had waited for what it held.
    """

    verdict: ClaimVerdict
    lease: Lease | None = None
    record: TaskRecord | None = None
    journal: dict[str, JournalEntry] = field(default_factory=dict)
    inbox: tuple[tuple[bytes, InboxItem], ...] = ()
    entries: tuple[dict[str, Any], ...] = ()
    sent_at_boottime_s: float = 0.0
    now_ms: int = 0
    memo: dict[str, Any] = field(default_factory=dict, compare=False)
    cooling: frozenset[str] = frozenset()
    kept: Mapping[str, ModelLimits] = field(default_factory=dict)
    woken: tuple[NextTurn, ...] = ()


class ClaimUnreadableError(Exception):
    """The lease was granted, but what is stored cannot be read. Carries the lease, so that it can be settled."""

    def __init__(self, lease: Lease, cause: Exception) -> None:
        super().__init__(str(cause))
        self.lease = lease


@dataclass(frozen=True, slots=True)
class Changes:
    """What one commit writes, together or not at all.

    Args:
        entries: appended to the conversation.
        journal: entries set, by their key.
        marker: new marker; None leaves it.
        add: counter name -> what to add (see model.usage.Counters; recoveries is reset by outcomes).
        outcome: whether this commits the outcome of an effect (it clears the poison count).
        consumed: stored bytes of inbox items used up.
        prompts_opened, prompts_closed: prompts, prompt ids.
        grants: tool name, or tool name and pattern -> granted or denied, remembered.
        events: appended to the history.
        model: which models are called from the next request on, and why.
        spent: what of `add` was spent on which model: its id -> counters.
        reserve_microusd: what the task is to hold of its pools: what a call may cost, 0 once settled; None leaves it.
        locks: what the call that these changes announce is to hold; of a commit alone.
        children: of the task.
    """

    entries: tuple[Entry, ...] = ()
    journal: tuple[JournalEntry, ...] = ()
    marker: Marker | None = None
    add: Mapping[str, int] = field(default_factory=dict)
    outcome: bool = False
    consumed: tuple[bytes, ...] = ()
    prompts_opened: tuple[Prompt, ...] = ()
    prompts_closed: tuple[str, ...] = ()
    grants: Mapping[str, str] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    model: ModelChange | None = None
    spent: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    reserve_microusd: int | None = None
    locks: LockRequest | None = None
    children: ChildChanges = NO_CHILDREN


@dataclass(frozen=True, slots=True)
class Settled:
    """Answer of suspend and finish.

    Args:
        verdict: COMMITTED, STALE, LOST, CANCELLED or NO_ROOM.
        status: where the task stands now.
        place: outbox, timers, waits, or empty when over.
        seq, iteration: for the next message, when place is outbox.
        woken: messages of other tasks, which had waited for the end of this one.
        children: NO_ROOM: how many the task has made by now.
    """

    verdict: CommitVerdict
    status: Status | None = None
    place: str = ""
    seq: int = 0
    iteration: int = 0
    woken: tuple[NextTurn, ...] = ()
    children: int = 0


@dataclass(frozen=True, slots=True)
class GoneOn:
    """Answer of go_on: that of finish, and that of the claim of the next turn.

    Args:
        settled: as of finish; its place is the one that finish had put the task into.
        claimed: as of claim, or why what was granted cannot be read; None where there was no next turn to claim.
    """

    settled: Settled
    claimed: Claimed | ClaimUnreadableError | None = None

    @property
    def verdict(self) -> CommitVerdict:
        """Of the write."""
        return self.settled.verdict


@dataclass(frozen=True, slots=True)
class Committed:
    """Answer of commit.

    Args:
        verdict: COMMITTED, STALE, LOST, CANCELLED, NO_MONEY, NO_TURNS or BLOCKED.
        pause, cancel: flags people have set.
        sent_at_boottime_s: local send time; the lease runs on from there. 0 when this try renewed nothing: it was
            renewed just before, or an earlier try had written it, and the lease may be over since.
        shortage: NO_MONEY: the pool.
        used_up: NO_TURNS: whose limit it is.
        settled: BLOCKED: where the task stands now.
    """

    verdict: CommitVerdict
    pause: bool = False
    cancel: bool = False
    sent_at_boottime_s: float = 0.0
    shortage: Shortage | None = None
    used_up: TurnsUsedUp | None = None
    settled: Settled | None = None


@dataclass(frozen=True, slots=True)
class Renewal:
    """One task's answer of renew.

    Args:
        held: whether the lease is still this one's.
        cancel, pause: flags people have set.
    """

    held: bool
    cancel: bool = False
    pause: bool = False


class TurnStore(CapacityStore, Protocol):
    """What a turn and its heartbeat write. Every method is one atomic script, safe to repeat.

    Every method raises StoreUnavailable or StoreError when the server did not do the work.
    """

    def claim(self, task_id: str, seq: int, process_id: str, claim_id: str, request_id: str = "") -> Claimed:
        """Take the lease of a task that is in the outbox at this seq.

        Where the turn goes straight on, and a request id is given, the call of the model is announced with it: the
        journal then holds it as started under this lease.
        """
        ...

    def commit(self, lease: Lease, changes: Changes) -> Committed:
        """Write changes in mid-turn and renew the lease; `lease.token` is that of the last write."""
        ...

    def suspend(
        self,
        lease: Lease,
        changes: Changes,
        to: SuspendTo,
        *,
        due_ms: int = 0,
        reason: str = "",
        detail: Mapping[str, Any] | None = None,
        unsent: bool = False,
    ) -> Settled:
        """Write changes and drop the lease in mid-turn; `due_ms` is server time (TIMER).

        `unsent`: the call that the claim announced was not sent, and is taken back.
        """
        ...

    def finish(
        self, lease: Lease, changes: Changes, to: FinishTo, iteration: int, detail: Mapping[str, Any]
    ) -> Settled:
        """Write changes and end the turn of this iteration."""
        ...

    def go_on(
        self,
        lease: Lease,
        changes: Changes,
        to: FinishTo,
        iteration: int,
        detail: Mapping[str, Any],
        *,
        process_id: str,
        claim_id: str,
        request_id: str = "",
    ) -> GoneOn:
        """As finish, and then, in the same write, take the lease of the next turn if it waits in the outbox."""
        ...

    def renew(self, leases_held: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        """Renew all leases of a process in one round trip; the first value is the local send time."""
        ...

    def publish_live(self, task_id: str, deltas: Iterable[Delta]) -> bool:
        """Show pieces of a streaming reply to viewers, if there are any. Failure is ignored.

        Returns:
            Whether somebody watches.
        """
        ...

    def live_shown(self, task_id: str, call: str) -> int | None:
        """How many characters of a call's reply viewers have been shown; None where nobody watches or can tell."""
        ...

"""What decisions about one task are made from, read at one instant, and what they come to."""

from __future__ import annotations

from pydantic import Field

from neuraphage.model.admission import LinePlace
from neuraphage.model.base import Frozen
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import ToolEffect
from neuraphage.model.recovery import LoggedDecision
from neuraphage.model.task import Status, TaskRecord


class Holder(Frozen):
    """The process that holds a task's lease.

    Args:
        process_id: random, new at every start.
        pid: process number on its host; None when it is not in the registry.
        host: identity of that host; None likewise.
        connected: whether its presence connection stands; None when that could not be read.
    """

    process_id: str
    pid: int | None = None
    host: str | None = None
    connected: bool | None = None


class TaskFacts(Frozen):
    """One task and its surroundings.

    Args:
        record: the task.
        now_ms: server time of all of this.
        due_ms: what its place goes by: next publication (outbox), expiry (leases), due (timers), since (waits).
        publications: how often the sweep has sent its present message.
        suspect_since_ms: when its present lease was marked suspect; None if it is not.
        unread: input and answers that no turn has read.
        has_conversation: whether its conversation is stored; without it an ended task cannot go on.
        holder: who holds the lease; None without a lease.
        workers: connected worker processes that have had a turn; None when that was not asked, or may not be.
        held: of a task in timers whose next call waits for a rate: the call's entry in the journal.
        awaits: of a task in timers that waits for its model: what for, and until when the provider asked everybody to
            wait (server time; 0 for no such time).
        awaits_model: whose calls these are; empty for the task's own model.
        line: where it stands among those that wait for a slot; None where it does not.
        last_sweep_ms: when a sweep last ended; 0 for never.
        decisions: of the sweep and the watchers, oldest first.
        children: those that it waits for now, with their statuses.
    """

    record: TaskRecord
    now_ms: int
    due_ms: int | None = None
    publications: int = 0
    suspect_since_ms: int | None = None
    unread: int = 0
    has_conversation: bool = True
    holder: Holder | None = None
    workers: int | None = None
    held: ToolEffect | None = None
    awaits: tuple[CapacityReason, int] | None = None
    awaits_model: str = ""
    line: LinePlace | None = None
    last_sweep_ms: int = 0
    decisions: tuple[LoggedDecision, ...] = ()
    children: dict[str, str] = Field(default_factory=dict)


class Clocks(Frozen):
    """The clocks that decide about a task, as ages in milliseconds; None where one does not run.

    Args:
        dispatch_ms: since its message was last sent.
        claim_ms: until the lease ends (negative: it is over).
        progress_ms: since the last renewal of the lease.
        checkpoint_ms: since the last committed step.
        sweep_ms: since a sweep last ended.
    """

    dispatch_ms: int | None = None
    claim_ms: int | None = None
    progress_ms: int | None = None
    checkpoint_ms: int | None = None
    sweep_ms: int | None = None


class Forecast(Frozen):
    """What happens next by itself, or what somebody must do.

    Args:
        text: a plain sentence.
        in_ms: in how long; None when nothing says so.
    """

    text: str
    in_ms: int | None = None


class Explanation(Frozen):
    """Why a task stands where it stands.

    Args:
        task_id: the task.
        status: its status.
        place: outbox, leases, timers, waits or None.
        because: plain sentences.
        next: what follows.
        clocks: what it was read from.
        decisions: what sweep and watchers decided so far, oldest first.
    """

    task_id: str
    status: Status
    place: str | None
    because: tuple[str, ...]
    next: tuple[Forecast, ...]
    clocks: Clocks
    decisions: tuple[LoggedDecision, ...] = ()

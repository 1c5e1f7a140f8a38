"""Data of events about a task as a whole."""

from __future__ import annotations

from pydantic import Field

from neuraphage.model.anomaly import Anomaly
from neuraphage.model.event_data.base import EventData
from neuraphage.model.money import Shortage


class TaskCreated(EventData):
    """Data of TaskCreated.

    Args:
        name: the task's name.
        starts_at_ms: server time before which it does not begin; None: at once.
    """

    name: str
    starts_at_ms: int | None = None


class WorkBegun(EventData):
    """Data of TaskStarted and TaskResumed.

    Args:
        reason: why: user_request, user_input, recovered, resumed, retried, reset, unblocked, shutdown.
        iteration: its finished turns.
        fence: of the lease that was taken.
    """

    reason: str
    iteration: int
    fence: int


class TaskScheduled(EventData):
    """Data of TaskScheduled.

    Args:
        waited_ms: how long it had stood in line.
    """

    waited_ms: int


class TaskBlocked(EventData):
    """Data of TaskBlocked.

    Args:
        resource: what it waits for.
        holder_task: the task that has it.
    """

    resource: str = ""
    holder_task: str | None = None


class TaskPaused(EventData):
    """Data of TaskPaused.

    Args:
        reason: user, recovery (by the setting `recovery_policy`), money or anomaly.
        before: the status that it had.
        shortage: of money: the pool that is used up.
        anomaly: of anomaly: what was seen.
    """

    reason: str
    before: str = Field(alias="from")
    shortage: Shortage | None = None
    anomaly: Anomaly | None = None


class LimitsChanged(EventData):
    """Data of LimitsChanged.

    Args:
        by: user.
        max_turns: the new limit of turns; none where it stays.
        max_cost_microusd: the new limit of money; none where it stays.
        max_tree_turns: the new limit of turns with all subtasks; none where it stays.
        max_running_ms: the new limit of the time that workers have it; none where it stays.
    """

    by: str
    max_turns: int | None = None
    max_cost_microusd: int | None = None
    max_tree_turns: int | None = None
    max_running_ms: int | None = None


class ModelChanged(EventData):
    """Data of ModelChanged.

    Args:
        by: user, fallback (the one before was refused) or failures (the setting `escalate_after`).
        model: that is called now.
        tier: the tier that it was named by.
        before: the model that was called.
        reason: in words, or the fault of the call that failed.
        who: the person's name, as their machine knows it.
    """

    by: str
    model: str
    tier: str = ""
    before: str = Field(default="", alias="from")
    reason: str = ""
    who: str = ""


class ReplySuperseded(EventData):
    """Data of ReplySuperseded.

    Args:
        by: user.
        first: number of the conversation's entry from which on it is hidden from the model.
        who: the person's name, as their machine knows it.
        prompt: id of the prompt that was open and is closed by it.
    """

    by: str
    first: int
    who: str = ""
    prompt: str = ""


class TaskCompleted(EventData):
    """Data of TaskCompleted.

    Args:
        summary: what the model says that was done.
        files: of a subtask: paths that its tools wrote, for its parent.
    """

    summary: str = ""
    files: tuple[str, ...] = ()


class TaskFailed(EventData):
    """Data of TaskFailed.

    Args:
        error: why, in a sentence.
        recoverable: whether a retry may help.
        files: of a subtask: paths that its tools wrote, for its parent.
    """

    error: str
    recoverable: bool
    files: tuple[str, ...] = ()


class TaskCancelled(EventData):
    """Data of TaskCancelled.

    Args:
        reason: as the person gave it.
    """

    reason: str = ""

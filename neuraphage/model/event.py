"""What happened to a task: the kinds of events, and one line of the history."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import Field

from neuraphage.model.base import Frozen


class EventKind(StrEnum):
    """Every kind that this release writes; a newer one may have written others."""

    TASK_CREATED = "TaskCreated"
    """It was submitted."""
    TASK_STARTED = "TaskStarted"
    """Its first turn began; told once in its life."""
    TASK_RESUMED = "TaskResumed"
    """A later stretch of work began, with its reason."""
    TASK_UNPAUSED = "TaskUnpaused"
    """A person resumed it; TaskResumed tells who goes on with it."""
    REQUEST_SENT = "RequestSent"
    """The model was about to be asked."""
    REQUEST_ATTACHED = "RequestAttached"
    """A call that outlived its worker was met, and its reply is read."""
    REQUEST_FAILED = "RequestFailed"
    """The call failed, and may be repeated."""
    REQUEST_HELD = "RequestHeld"
    """A call of the model waits, since the model takes none from this key now."""
    RESPONSE_RECEIVED = "ResponseReceived"
    """The reply is committed."""
    CONTEXT_COMPACTED = "ContextCompacted"
    """From now on the conversation is sent in a shorter form."""
    TOOL_HELD = "ToolHeld"
    """A call waits, since the task has begun as many of its kind as it may within a minute."""
    TOOL_STARTED = "ToolStarted"
    """A call was about to run."""
    TOOL_ATTACHED = "ToolAttached"
    """A command that outlived its worker was met, and is waited for."""
    TOOL_SETTLED = "ToolSettled"
    """It was found out what became of an interrupted call."""
    TOOL_COMPLETED = "ToolCompleted"
    """The result of a call is committed."""
    HOST_REFUSED = "HostRefused"
    """A command in the sandbox asked for a host that it may not reach."""
    USER_INPUT_NEEDED = "UserInputNeeded"
    """It waits for a person."""
    ANSWER_RECEIVED = "AnswerReceived"
    """A prompt was answered, by a person or by its deadline."""
    ANSWER_TAKEN = "AnswerTaken"
    """The answer to a question reached the task: in words, without secrets. Of a permission the decision has them."""
    INPUT_RECEIVED = "InputReceived"
    """A message came."""
    PERMISSION_GRANTED = "PermissionGranted"
    """A call was allowed."""
    PERMISSION_DENIED = "PermissionDenied"
    """A call was not allowed."""
    PERMISSION_VOIDED = "PermissionVoided"
    """A call was allowed, and what it would do has changed before it ran."""
    TASK_RECOVERED = "TaskRecovered"
    """It was taken from a worker that is gone, or stuck."""
    TASK_PAUSED = "TaskPaused"
    """It stands until it is resumed."""
    LIMITS_CHANGED = "LimitsChanged"
    """A person set its limits."""
    MODEL_CHANGED = "ModelChanged"
    """Another model is called from the next request on: by a person, or in place of one that was refused."""
    BUDGET_WARNING = "BudgetWarning"
    """Half, three quarters or nine tenths of a pool of money are used."""
    TASK_RETRIED = "TaskRetried"
    """A person had it go on from where it failed."""
    REPLY_SUPERSEDED = "ReplySuperseded"
    """A person had the model asked again for its last reply."""
    TASK_RESET = "TaskReset"
    """A person had it begin anew."""
    WORKING_DIR_LOST = "WorkingDirLost"
    """Its working directory is gone."""
    WORKING_DIR_BACK = "WorkingDirBack"
    """Its working directory is there again."""
    TASK_BLOCKED = "TaskBlocked"
    """It waits for a lock or another task."""
    TASK_COMPLETED = "TaskCompleted"
    """Over: done."""
    TASK_FAILED = "TaskFailed"
    """Over: failed."""
    TASK_CANCELLED = "TaskCancelled"
    """Over: cancelled."""


class Event(Frozen):
    """One line of a task's history: an audit record, never a source of recovery.

    Args:
        kind: an EventKind, or the text of one that this release does not know.
        data: what identifies it; small.
        event_id: the stream's id, when read back.
        at_ms: server time, when read back.
    """

    kind: str
    data: dict[str, Any] = Field(default_factory=dict)
    event_id: str | None = None
    at_ms: int | None = None

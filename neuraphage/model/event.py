"""What happened to a task: the kinds of events by groups, and one line of the history."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field

from neuraphage.model.base import Frozen

if TYPE_CHECKING:
    from neuraphage.model.event_data import EventData


class EventGroup(StrEnum):
    """What an event is about."""

    LIFECYCLE = "lifecycle"
    """The task as a whole: how it came, goes, stands and ends."""
    ITERATION = "iteration"
    """One step of a turn: a call of the model or of a tool, or a word with a person."""
    CROSS_TASK = "cross-task"
    """What tasks have to do with each other."""
    SECURITY = "security"
    """Whether something may be done."""
    DRIFT = "drift"
    """Something departs from what was expected: money, the working directory, how the task goes."""
    RECOVERY = "recovery"
    """What was begun by a process that is gone is met again."""


class EventKind(StrEnum):
    """Every kind of event, with its group; a newer release may have written others.

    What each carries as data is in `neuraphage.model.event_data`, under the same name.
    """

    group: EventGroup

    def __new__(cls, value: str, group: EventGroup = EventGroup.LIFECYCLE) -> Self:
        """One kind: its name, and its group."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.group = group
        return kind

    # --- lifecycle ---
    TASK_CREATED = "TaskCreated", EventGroup.LIFECYCLE
    """It was submitted."""
    TASK_STARTED = "TaskStarted", EventGroup.LIFECYCLE
    """Its first turn began; told once in its life."""
    TASK_RESUMED = "TaskResumed", EventGroup.LIFECYCLE
    """A later stretch of work began, with its reason."""
    TASK_SCHEDULED = "TaskScheduled", EventGroup.LIFECYCLE
    """It may begin or go on: it has a slot. Only where settings limit how many tasks are at work."""
    TASK_BLOCKED = "TaskBlocked", EventGroup.LIFECYCLE
    """It waits for a lock or another task."""
    TASK_PAUSED = "TaskPaused", EventGroup.LIFECYCLE
    """It stands until it is resumed."""
    TASK_UNPAUSED = "TaskUnpaused", EventGroup.LIFECYCLE
    """A person resumed it; TaskResumed tells who goes on with it."""
    LIMITS_CHANGED = "LimitsChanged", EventGroup.LIFECYCLE
    """A person set its limits."""
    MODEL_CHANGED = "ModelChanged", EventGroup.LIFECYCLE
    """Another model is called from the next request on: by a person, or in place of one that was refused."""
    TASK_RETRIED = "TaskRetried", EventGroup.LIFECYCLE
    """A person had it go on from where it failed."""
    TASK_RESET = "TaskReset", EventGroup.LIFECYCLE
    """A person had it begin anew."""
    REPLY_SUPERSEDED = "ReplySuperseded", EventGroup.LIFECYCLE
    """A person had the model asked again for its last reply."""
    TASK_COMPLETED = "TaskCompleted", EventGroup.LIFECYCLE
    """Over: done."""
    TASK_FAILED = "TaskFailed", EventGroup.LIFECYCLE
    """Over: failed."""
    TASK_CANCELLED = "TaskCancelled", EventGroup.LIFECYCLE
    """Over: cancelled."""

    # --- iteration ---
    REQUEST_HELD = "RequestHeld", EventGroup.ITERATION
    """A call of the model waits, since the model takes none from this key now."""
    REQUEST_SENT = "RequestSent", EventGroup.ITERATION
    """The model was about to be asked."""
    REQUEST_FAILED = "RequestFailed", EventGroup.ITERATION
    """The call failed, and may be repeated."""
    RESPONSE_RECEIVED = "ResponseReceived", EventGroup.ITERATION
    """The reply is committed."""
    CONTEXT_COMPACTED = "ContextCompacted", EventGroup.ITERATION
    """From now on the conversation is sent in a shorter form."""
    TOOL_HELD = "ToolHeld", EventGroup.ITERATION
    """A call waits, since the task has begun as many of its kind as it may within a minute."""
    TOOL_STARTED = "ToolStarted", EventGroup.ITERATION
    """A call was about to run."""
    TOOL_COMPLETED = "ToolCompleted", EventGroup.ITERATION
    """The result of a call is committed."""
    USER_INPUT_NEEDED = "UserInputNeeded", EventGroup.ITERATION
    """It waits for a person."""
    INPUT_RECEIVED = "InputReceived", EventGroup.ITERATION
    """A message came."""
    ANSWER_RECEIVED = "AnswerReceived", EventGroup.ITERATION
    """A prompt was answered, by a person or by its deadline."""
    ANSWER_TAKEN = "AnswerTaken", EventGroup.ITERATION
    """The answer to a question reached the task: in words, without secrets. Of a permission the decision has them."""

    # --- cross-task ---
    RESOURCE_LOCK_WAIT = "ResourceLockWait", EventGroup.CROSS_TASK
    """A call of it waits for locks that others hold; it is Blocked."""
    RESOURCE_LOCK_ACQUIRED = "ResourceLockAcquired", EventGroup.CROSS_TASK
    """It has the locks that it has waited for; those that were free are taken without a word."""
    RESOURCE_LOCK_RELEASED = "ResourceLockReleased", EventGroup.CROSS_TASK
    """It holds locks no more that others wait for."""
    RESOURCE_LOCK_BROKEN = "ResourceLockBroken", EventGroup.CROSS_TASK
    """A person took a lock away from it; what held it goes on."""
    SUBTASK_SPAWNED = "SubtaskSpawned", EventGroup.CROSS_TASK
    """It has made another task, whose parent it is."""
    DEPENDENCY_ADDED = "DependencyAdded", EventGroup.CROSS_TASK
    """A person has it wait for another task."""
    DEPENDENCY_REMOVED = "DependencyRemoved", EventGroup.CROSS_TASK
    """A person has it wait for another task no more."""
    LEARNING_EXTRACTED = "LearningExtracted", EventGroup.CROSS_TASK
    """Something that it has learned is kept for others."""
    KNOWLEDGE_QUERY = "KnowledgeQuery", EventGroup.CROSS_TASK
    """It was looked up what others have learned."""
    KNOWLEDGE_INJECTED = "KnowledgeInjected", EventGroup.CROSS_TASK
    """Its next request tells the model of that."""

    # --- security ---
    PERMISSION_REQUEST = "PermissionRequest", EventGroup.SECURITY
    """A person is asked whether a call may run."""
    PERMISSION_GRANTED = "PermissionGranted", EventGroup.SECURITY
    """A call was allowed."""
    PERMISSION_DENIED = "PermissionDenied", EventGroup.SECURITY
    """A call was not allowed."""
    PERMISSION_VOIDED = "PermissionVoided", EventGroup.SECURITY
    """A call was allowed, and what it would do has changed before it ran."""
    HOST_REFUSED = "HostRefused", EventGroup.SECURITY
    """A command in the sandbox asked for a host that it may not reach."""
    SECURITY_POLICY_CHECK = "SecurityPolicyCheck", EventGroup.SECURITY
    """Guards have judged a call."""
    SECURITY_VIOLATION = "SecurityViolation", EventGroup.SECURITY
    """A call was against a policy, and was not run."""

    # --- drift ---
    BUDGET_WARNING = "BudgetWarning", EventGroup.DRIFT
    """Half, three quarters or nine tenths of a pool of money are used."""
    WORKING_DIR_LOST = "WorkingDirLost", EventGroup.DRIFT
    """Its working directory is gone."""
    WORKING_DIR_BACK = "WorkingDirBack", EventGroup.DRIFT
    """Its working directory is there again."""
    ANOMALY_DETECTED = "AnomalyDetected", EventGroup.DRIFT
    """It goes on in a way that leads nowhere."""

    # --- recovery ---
    TASK_RECOVERED = "TaskRecovered", EventGroup.RECOVERY
    """It was taken from a worker that is gone, or stuck."""
    REQUEST_ATTACHED = "RequestAttached", EventGroup.RECOVERY
    """A call that outlived its worker was met, and its reply is read."""
    TOOL_ATTACHED = "ToolAttached", EventGroup.RECOVERY
    """A command that outlived its worker was met, and is waited for."""
    TOOL_SETTLED = "ToolSettled", EventGroup.RECOVERY
    """It was found out what became of an interrupted call."""


class Cause(StrEnum):
    """Who or what an event comes from."""

    PERSON = "person"
    """A person, or a program in their name."""
    WORKER = "worker"
    """The turn that was under way."""
    DEADLINE = "deadline"
    """A prompt's time was over."""
    SWEEP = "sweep"
    """The periodic visit of all places."""
    WATCHER = "watcher"
    """The thread of a host that sees dead processes."""
    LOCK = "lock"
    """A lock that it waited for came free."""
    DEPENDENCY = "dependency"
    """The end of a task that it waits for."""
    SLOT = "slot"
    """A slot that another task has given back, or a higher limit of those at work."""
    REPAIR = "repair"
    """`neuraphage repair`."""


RESERVED = frozenset(
    {
        EventKind.LEARNING_EXTRACTED,
        EventKind.KNOWLEDGE_QUERY,
        EventKind.KNOWLEDGE_INJECTED,
    }
)
"""Kinds of what tasks learn, which have their name and wait for a store of it: no run of this release writes them."""


class Event(Frozen):
    """One line of a task's history: an audit record, never a source of recovery.

    Args:
        kind: an EventKind, or the text of one that this release does not know.
        data: what identifies it; small. `typed` gives it as a value.
        event_id: its id, the same in the stream of its task and in that of the namespace, when read back.
        at_ms: server time, when read back.
        task_id: whose it is, when read back.
        turn: the turn under way then, by number from 0: the turns that the task had finished.
        fence: of the lease under which it was written; None where nobody held one.
        cause: a Cause, or the text of one that this release does not know.
        schema_version: of stored shapes, as the release knew it that wrote the event.

    These last four are None of what an earlier release has written, and where nothing but kind and task is left.
    """

    kind: str
    data: dict[str, Any] = Field(default_factory=dict)
    event_id: str | None = None
    at_ms: int | None = None
    task_id: str | None = None
    turn: int | None = None
    fence: int | None = None
    cause: str | None = None
    schema_version: int | None = None

    @property
    def group(self) -> EventGroup | None:
        """What it is about; None of a kind that this release does not know."""
        return EventKind(self.kind).group if self.kind in _KINDS else None

    def typed(self) -> EventData | None:
        """Its data as a value; fields that a newer release has added are left out.

        Returns:
            None of a kind that this release does not know, and where an earlier release wrote less than it has now.
        """
        from neuraphage.model.event_data import typed  # noqa: PLC0415 - most readers show lines alone

        return typed(self.kind, self.data)


_KINDS = frozenset(kind.value for kind in EventKind)

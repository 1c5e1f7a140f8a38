"""What events carry, by kind. A new kind is a row here, with a class in the file of its group."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from neuraphage.model.event import EventKind
from neuraphage.model.event_data import cross_task, drift, iteration, lifecycle, recovery, security
from neuraphage.model.event_data.base import EventData, NoData

DATA: Mapping[str, type[EventData]] = {
    EventKind.TASK_CREATED: lifecycle.TaskCreated,
    EventKind.TASK_STARTED: lifecycle.WorkBegun,
    EventKind.TASK_RESUMED: lifecycle.WorkBegun,
    EventKind.TASK_SCHEDULED: lifecycle.TaskScheduled,
    EventKind.TASK_BLOCKED: lifecycle.TaskBlocked,
    EventKind.TASK_PAUSED: lifecycle.TaskPaused,
    EventKind.TASK_UNPAUSED: NoData,
    EventKind.LIMITS_CHANGED: lifecycle.LimitsChanged,
    EventKind.MODEL_CHANGED: lifecycle.ModelChanged,
    EventKind.TASK_RETRIED: NoData,
    EventKind.TASK_RESET: NoData,
    EventKind.REPLY_SUPERSEDED: lifecycle.ReplySuperseded,
    EventKind.TASK_COMPLETED: lifecycle.TaskCompleted,
    EventKind.TASK_FAILED: lifecycle.TaskFailed,
    EventKind.TASK_CANCELLED: lifecycle.TaskCancelled,
    EventKind.REQUEST_HELD: iteration.RequestHeld,
    EventKind.REQUEST_SENT: iteration.RequestSent,
    EventKind.REQUEST_FAILED: iteration.RequestFailed,
    EventKind.RESPONSE_RECEIVED: iteration.ResponseReceived,
    EventKind.CONTEXT_COMPACTED: iteration.ContextCompacted,
    EventKind.TOOL_HELD: iteration.ToolHeld,
    EventKind.TOOL_STARTED: iteration.ToolCalled,
    EventKind.TOOL_COMPLETED: iteration.ToolCompleted,
    EventKind.USER_INPUT_NEEDED: iteration.UserInputNeeded,
    EventKind.INPUT_RECEIVED: iteration.InputReceived,
    EventKind.ANSWER_RECEIVED: iteration.AnswerReceived,
    EventKind.ANSWER_TAKEN: iteration.AnswerTaken,
    EventKind.RESOURCE_LOCK_WAIT: cross_task.ResourceLockWait,
    EventKind.RESOURCE_LOCK_ACQUIRED: cross_task.ResourceLocks,
    EventKind.RESOURCE_LOCK_RELEASED: cross_task.ResourceLocks,
    EventKind.RESOURCE_LOCK_BROKEN: cross_task.ResourceLockBroken,
    EventKind.DEPENDENCY_ADDED: cross_task.DependencyAdded,
    EventKind.DEPENDENCY_REMOVED: cross_task.DependencyRemoved,
    EventKind.SUBTASK_SPAWNED: cross_task.SubtaskSpawned,
    EventKind.PERMISSION_REQUEST: security.PermissionRequest,
    EventKind.PERMISSION_GRANTED: security.Decided,
    EventKind.PERMISSION_DENIED: security.Decided,
    EventKind.PERMISSION_VOIDED: security.PermissionVoided,
    EventKind.HOST_REFUSED: security.HostRefused,
    EventKind.SECURITY_POLICY_CHECK: security.SecurityPolicyCheck,
    EventKind.SECURITY_VIOLATION: security.SecurityViolation,
    EventKind.BUDGET_WARNING: drift.BudgetWarning,
    EventKind.ANOMALY_DETECTED: drift.AnomalyDetected,
    EventKind.WORKING_DIR_LOST: drift.WorkingDirChanged,
    EventKind.WORKING_DIR_BACK: drift.WorkingDirChanged,
    EventKind.TASK_RECOVERED: recovery.TaskRecovered,
    EventKind.REQUEST_ATTACHED: iteration.RequestSent,
    EventKind.TOOL_ATTACHED: iteration.ToolCalled,
    EventKind.TOOL_SETTLED: recovery.ToolSettled,
}
"""The class of each kind's data; kinds that are only reserved may have none yet."""


def typed(kind: str, data: Mapping[str, Any]) -> EventData | None:
    """The data of an event as a value; see `Event.typed`."""
    shape = DATA.get(kind)
    try:
        return None if shape is None else shape.model_validate(data)
    except ValidationError:  # of an earlier release, which wrote less
        return None


__all__ = ["DATA", "EventData", "NoData", "typed"]

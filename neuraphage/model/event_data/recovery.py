"""Data of events about what was begun by a process that is gone."""

from __future__ import annotations

from neuraphage.model.event_data.base import EventData


class TaskRecovered(EventData):
    """Data of TaskRecovered.

    Args:
        verdict: recovered, or paused.
        evidence: expired, stalled, gone or absent (`neuraphage why` explains them).
        reason: in a sentence.
        owner: process id of the former holder.
        task_id: the task.
        marker: the last change of its journal.
        iteration: its finished turns.
        cost_microusd: its cost.
        recoveries: recoveries since the last outcome.
        lease_age_ms: how long the lease had been over; negative: time left.
        heartbeat_age_ms: age of its last renewal.
        saved_age_ms: age of the last commit.
    """

    verdict: str
    evidence: str
    reason: str
    owner: str | None = None
    task_id: str = ""
    marker: str = ""
    iteration: int = 0
    cost_microusd: int = 0
    recoveries: int = 0
    lease_age_ms: int = 0
    heartbeat_age_ms: int = 0
    saved_age_ms: int = 0


class ToolSettled(EventData):
    """Data of ToolSettled.

    Args:
        tool: its name.
        id: of the call.
        how: what was found.
    """

    tool: str
    id: str
    how: str

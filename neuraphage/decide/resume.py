"""What a marker says of the phase a task is in, and of the point it goes on from (R19, R21)."""

from __future__ import annotations

from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.task import Phase, ResumePoint, ResumePointKind

PHASES: dict[MarkerName, Phase] = {
    MarkerName.TASK_CREATED: Phase.INITIALIZING,
    MarkerName.REQUEST_SENT: Phase.LLM_REQUEST,
    MarkerName.RESPONSE_RECEIVED: Phase.PROCESSING,
    MarkerName.TOOL_STARTED: Phase.TOOL_EXECUTION,
    MarkerName.TOOL_COMPLETED: Phase.PROCESSING,
    MarkerName.WAITING_FOR_USER: Phase.PROCESSING,
}

RESUME_POINTS: dict[MarkerName, ResumePointKind] = {
    MarkerName.TASK_CREATED: ResumePointKind.CONTEXT_ASSEMBLY,
    MarkerName.REQUEST_SENT: ResumePointKind.LLM_CALL,
    MarkerName.RESPONSE_RECEIVED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.TOOL_STARTED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.TOOL_COMPLETED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.WAITING_FOR_USER: ResumePointKind.WAITING_FOR_USER,
}


def phase_of(marker: Marker, place: str | None) -> Phase:
    """The phase of a Running task from its marker and the place it sits in."""
    if place == "outbox" and marker.name is not MarkerName.TASK_CREATED:
        return Phase.BETWEEN_TURNS
    if place == "timers":
        return Phase.RETRY_WAIT
    return PHASES[marker.name]


def resume_point_of(marker: Marker, remaining_tools: tuple[str, ...] = ()) -> ResumePoint:
    """Where a paused task goes on."""
    return ResumePoint(kind=RESUME_POINTS[marker.name], remaining_tools=remaining_tools)

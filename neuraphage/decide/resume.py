"""The phase a task is in and the point it goes on from, from its marker and its journal.

A marker outlives the turn that wrote it; the journal does not. So an empty journal says that the next turn has done
nothing yet, whatever the marker names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from neuraphage.model.effect import EffectState, Journal, Marker, MarkerName, model_effect
from neuraphage.model.phase import Phase
from neuraphage.model.place import Place
from neuraphage.model.resume_point import ResumePoint, ResumePointKind

PHASES: dict[MarkerName, Phase] = {
    MarkerName.TASK_CREATED: Phase.INITIALIZING,
    MarkerName.REQUEST_SENT: Phase.LLM_REQUEST,
    MarkerName.RESPONSE_RECEIVED: Phase.PROCESSING,
    MarkerName.SUMMARY_SENT: Phase.LLM_REQUEST,
    MarkerName.SUMMARY_RECEIVED: Phase.ASSEMBLING_CONTEXT,
    MarkerName.TOOL_STARTED: Phase.TOOL_EXECUTION,
    MarkerName.TOOL_COMPLETED: Phase.PROCESSING,
    MarkerName.WAITING_FOR_USER: Phase.PROCESSING,
}

RESUME_POINTS: dict[MarkerName, ResumePointKind] = {
    MarkerName.TASK_CREATED: ResumePointKind.CONTEXT_ASSEMBLY,
    MarkerName.REQUEST_SENT: ResumePointKind.LLM_CALL,
    MarkerName.RESPONSE_RECEIVED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.SUMMARY_SENT: ResumePointKind.CONTEXT_ASSEMBLY,
    MarkerName.SUMMARY_RECEIVED: ResumePointKind.CONTEXT_ASSEMBLY,
    MarkerName.TOOL_STARTED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.TOOL_COMPLETED: ResumePointKind.TOOL_EXECUTION,
    MarkerName.WAITING_FOR_USER: ResumePointKind.WAITING_FOR_USER,
}


def phase_of(marker: Marker, place: str | None, *, between_turns: bool) -> Phase:
    """The phase of a Running task.

    Args:
        marker: the journal's last change.
        place: where the task sits.
        between_turns: whether the journal is empty.
    """
    if place == Place.OUTBOX and marker.name is not MarkerName.TASK_CREATED:
        return Phase.BETWEEN_TURNS
    if place == Place.TIMERS:
        return Phase.RETRY_WAIT
    if between_turns and marker.name is not MarkerName.TASK_CREATED:
        return Phase.ASSEMBLING_CONTEXT
    return PHASES[marker.name]


def resume_point_of(marker: Marker, *, between_turns: bool, remaining_tools: tuple[str, ...] = ()) -> ResumePoint:
    """Where a paused task goes on.

    Args:
        marker: the journal's last change.
        between_turns: whether the journal is empty.
        remaining_tools: see below.
    """
    kind = ResumePointKind.CONTEXT_ASSEMBLY if between_turns else RESUME_POINTS[marker.name]
    return ResumePoint(kind=kind, remaining_tools=remaining_tools)


def remaining_tools(journal: Journal, tail: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The ids of this turn's tool calls that have no result yet, in the order of the reply.

    Args:
        journal: of the turn.
        tail: the last entries of the conversation, from the reply on or from before it.
    """
    from neuraphage.decide.conversation import tool_calls  # noqa: PLC0415 - only for a task paused amidst its calls

    model = model_effect(journal)
    if model is None or model.state is not EffectState.COMPLETED:
        return ()
    content = [entry["content"] for entry in tail if entry["role"] == "assistant"]
    settled = {key for key, entry in journal.items() if entry.state is EffectState.COMPLETED}
    calls = tool_calls(content[-1]) if content else ()
    return tuple(call.tool_use_id for call in calls if call.tool_use_id not in settled)

"""What an event's call works on and what came of it, which the event itself leaves to the conversation."""

from __future__ import annotations

from neuraphage.api.transcript import Transcript
from neuraphage.cli.call_text import outcome, title
from neuraphage.cli.event_text import event_text
from neuraphage.cli.traits import traits_of
from neuraphage.model.event import Event, EventKind
from neuraphage.model.tool_traits import ResultView

_OF_CALLS = frozenset(
    {
        EventKind.TOOL_STARTED,
        EventKind.TOOL_ATTACHED,
        EventKind.TOOL_SETTLED,
        EventKind.TOOL_COMPLETED,
        EventKind.PERMISSION_REQUEST,
        EventKind.PERMISSION_GRANTED,
        EventKind.PERMISSION_DENIED,
        EventKind.PERMISSION_VOIDED,
        EventKind.SECURITY_VIOLATION,
    }
)


def told(event: Event, transcript: Transcript) -> str:
    """One line about an event; of a call with its command or path, of one that has ended with its result.

    Args:
        event: the events of a task, in order.
        transcript: of the same task, read along.
    """
    text = event_text(event)
    if event.kind == EventKind.TASK_RESET:
        transcript.restart()
    if event.kind not in _OF_CALLS:
        return text
    call_id = str(event.data.get("id", ""))
    call = transcript.call(call_id)
    if call is None:  # of a conversation that a reset has archived
        return text
    named = title(call.tool, call.params).removeprefix(">").strip().removeprefix(call.tool).strip()
    line = f"{text}: {named}" if named else text
    if event.kind != EventKind.TOOL_COMPLETED or event.data.get("unknown"):
        return line
    result = transcript.take_result(call_id)
    if result is None:
        return line
    words, lines = outcome(call.tool, result.text, is_error=result.is_error)
    at_its_end = traits_of(call.tool).result is ResultView.END
    end = words or (lines[-1 if at_its_end else 0][0] if lines else "")
    return f"{line}: {end}" if end else line

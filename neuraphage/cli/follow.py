"""Shows a task as it goes: the streaming reply and the lines of its history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console

from neuraphage.cli.console import dollars, harmless
from neuraphage.client import Client
from neuraphage.model.prompt import Event, Prompt
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import Delta

EventText = Callable[[dict[str, Any]], str]

_TEXTS: dict[str, EventText] = {
    "TaskCreated": lambda d: f"created: {d['name']}",
    "TaskStarted": lambda d: f"claimed by a worker ({d['reason']}, lease {d['fence']})",
    "RequestSent": lambda d: "asks the model" + (f" again (call {d['attempt']})" if d["attempt"] > 1 else ""),
    "RequestFailed": lambda d: f"the call failed ({d['fault']})" + (", will be repeated" if d["retry_at_ms"] else ""),
    "ResponseReceived": lambda d: f"reply committed ({dollars(d['cost_microusd'])})",
    "ToolStarted": lambda d: f"{d['tool']} starts",
    "ToolAttached": lambda d: f"{d['tool']} still runs: attached to it",
    "ToolSettled": lambda d: f"{d['tool']}: {d['how']}",
    "ToolCompleted": lambda d: f"{d['tool']} done" + (" (with an error)" if d["error"] else ""),
    "UserInputNeeded": lambda _: "waits for you",
    "AnswerReceived": lambda d: f"answered by {d['by']}",
    "InputReceived": lambda d: f"message from {d['by']}",
    "PermissionGranted": lambda d: f"{d['tool']} allowed by {d['by']}",
    "PermissionDenied": lambda d: f"{d['tool']} not allowed by {d['by']}",
    "TaskRecovered": lambda d: f"recovered: its worker is {d['evidence']}. {d['reason']}",
    "TaskPaused": lambda d: f"paused ({d['reason']})",
    "TaskResumed": lambda _: "resumed",
    "TaskRetried": lambda _: "retried",
    "TaskReset": lambda _: "reset",
    "TaskBlocked": lambda d: f"waits for {d.get('resource', 'something')}",
    "TaskCompleted": lambda d: f"completed: {d.get('summary', '')}",
    "TaskFailed": lambda d: f"failed: {d.get('error', '')}",
    "TaskCancelled": lambda d: "cancelled" + (f": {d['reason']}" if d.get("reason") else ""),
}
_STYLES = {
    "TaskRecovered": "yellow",
    "ToolAttached": "yellow",
    "ToolSettled": "yellow",
    "UserInputNeeded": "cyan",
    "TaskCompleted": "green",
    "TaskFailed": "red",
    "RequestFailed": "red",
}


def event_text(event: Event) -> str:
    """One line for people about one event."""
    text = _TEXTS.get(event.kind)
    try:
        return event.kind if text is None else text(event.data)
    except (KeyError, TypeError):
        return event.kind


class Viewer:
    """Writes events and deltas to a console; keeps the streaming text on lines of its own.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._in_text = False

    def line(self, text: str, style: str = "") -> None:
        """A line of its own."""
        self.end_text()
        self._console.print(harmless(text, style))

    def show(self, item: Event | Delta) -> None:
        """A line of the history, or a piece of the reply."""
        if isinstance(item, Event):
            self.event(item)
        else:
            self.delta(item)

    def event(self, event: Event) -> None:
        """A line of the history."""
        self.line(f"  {event_text(event)}", _STYLES.get(event.kind, "dim"))

    def delta(self, delta: Delta) -> None:
        """A piece of the streaming reply."""
        if delta.kind == "tool":
            return
        style = "italic dim" if delta.kind == "thinking" else ""
        if not self._in_text:
            self._console.print("  | ", end="", style="dim")
        self._in_text = True
        self._console.print(harmless(delta.text.replace("\n", "\n  | "), style), end="")

    def end_text(self) -> None:
        """End a line of streaming text."""
        if self._in_text:
            self._console.print()
        self._in_text = False


def follow(client: Client, task_id: str, viewer: Viewer, *, stop_waiting: bool = True) -> TaskRecord:
    """Show a task until it is over, or waits for a person.

    Args:
        client: reads.
        task_id: full id.
        viewer: writes.
        stop_waiting: return also when the task waits for a person or is paused.
    """
    resting = {Status.WAITING_FOR_USER, Status.PAUSED} if stop_waiting else set()
    quiet = True
    for item in client.follow(task_id, poll_s=POLL_S):
        if isinstance(item, TaskRecord):
            if quiet and (item.status in TERMINAL or item.status in resting):
                break
            quiet = True
        else:
            quiet = False
            viewer.show(item)
    viewer.end_text()
    return client.get(task_id)


POLL_S = 0.05
"""Events are shown within this time; well under the 200 ms that people notice."""


def show_prompt(viewer: Viewer, record: TaskRecord, prompt: Prompt) -> None:
    """One open prompt, with the command that answers it."""
    viewer.line(f"? {prompt.text}", "bold")
    if prompt.params_summary:
        viewer.line(f"    {prompt.params_summary}")
    options = f" ({'/'.join(prompt.options)})" if prompt.options else ""
    command = f"neuraphage answer {record.task_id} --prompt {prompt.prompt_id} ANSWER"
    viewer.line(f"    answer{options}: {command}", "dim")

"""Shows a task as it goes: the streaming reply and the lines of its history."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from typing import Any, Protocol

from rich.console import Console

from neuraphage.cli.console import dollars, harmless, print_json, short_id
from neuraphage.client import Client
from neuraphage.model.prompt import Event, Prompt
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import Delta

POLL_S = 0.05
"""Events are shown within this time; well under the 200 ms that people notice."""
BAR = "  | "
MAX_LINE_CHARS = 500
MAX_WORD_CHARS = 60
"""A longer run without blanks is shown as it comes."""

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
    "ToolCompleted": lambda d: f"{d['tool']} {_how_it_ended(d)}",
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


def _how_it_ended(data: dict[str, Any]) -> str:
    if data["unknown"]:
        return "was interrupted: nothing knows whether it ran"
    return "done (with an error)" if data["error"] else "done"


def event_text(event: Event) -> str:
    """One line for people about one event."""
    text = _TEXTS.get(event.kind)
    try:
        return event.kind if text is None else text(event.data)
    except (KeyError, TypeError):
        return event.kind


class Show(Protocol):
    """What follows a task."""

    def line(self, text: str, style: str = "") -> None:
        """A line of its own."""

    def show(self, item: Event | Delta) -> None:
        """A line of the history, or a piece of the reply."""

    def end_text(self) -> None:
        """End a line of streaming text."""


class Viewer:
    """Writes events and deltas to a console; keeps the streaming text on lines of its own.

    Args:
        console: where to.
    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._column = 0  # of the streaming text; 0 when none is open
        self._word = ""  # its last word, until that is whole
        self._style = ""

    def line(self, text: str, style: str = "") -> None:
        """A line of its own."""
        self.end_text()
        self._console.print(harmless(text, style, indent=BAR))

    def show(self, item: Event | Delta) -> None:
        """A line of the history, or a piece of the reply."""
        if isinstance(item, Event):
            self.event(item)
        else:
            self.delta(item)

    def event(self, event: Event) -> None:
        """A line of the history."""
        text = textwrap.shorten(event_text(event), MAX_LINE_CHARS, placeholder=" ...")
        self.line(f"  {text}", _STYLES.get(event.kind, "dim"))

    def delta(self, delta: Delta) -> None:
        """A piece of the streaming reply."""
        if delta.kind == "tool":
            return
        style = "italic dim" if delta.kind == "thinking" else ""
        if style != self._style:
            self.end_text()
        self._style = style
        *whole, rest = re.split(r"(\s)", self._word + delta.text)
        for piece in whole:
            self._write(piece)
        self._word = rest
        if not self._wraps or len(rest) > MAX_WORD_CHARS:
            self._flush_word()

    def end_text(self) -> None:
        """End a line of streaming text."""
        self._flush_word()
        if self._column:
            self._console.print()
        self._column = 0

    def _flush_word(self) -> None:
        word, self._word = self._word, ""
        self._write(word)

    def _write(self, piece: str) -> None:
        """A word or a blank; on a terminal a word that does not fit goes on the next line, behind the bar."""
        if piece == "\n":
            self._console.print("" if self._column else BAR)
            self._column = 0
            return
        if not piece:
            return
        shown = harmless(piece, self._style)
        if self._wraps and self._column > len(BAR) and self._column + shown.cell_len > self._console.width:
            self._console.print()
            self._column = 0
            if piece.isspace():
                return
        if not self._column:
            self._console.print(BAR, end="", style="dim")
            self._column = len(BAR)
        self._console.print(shown, end="")
        self._column += shown.cell_len

    @property
    def _wraps(self) -> bool:
        return self._console.is_terminal


class JsonLines:
    """Writes events and pieces of the reply as JSON, one document a line; comments are left out."""

    def line(self, text: str, style: str = "") -> None:
        """Nothing: comments are for people."""

    def show(self, item: Event | Delta) -> None:
        """One line."""
        if isinstance(item, Event):
            print_json({"event": item.kind, "id": item.event_id, "at_ms": item.at_ms, "data": item.data}, None)
        else:
            print_json({"delta": item.kind, "text": item.text}, None)

    def end_text(self) -> None:
        """Nothing: every document ends its line."""


def follow(client: Client, task_id: str, viewer: Show) -> TaskRecord:
    """Show a task until it is over, paused, or waits for a person.

    Args:
        client: reads.
        task_id: full id.
        viewer: writes.
    """
    resting = TERMINAL | {Status.WAITING_FOR_USER, Status.PAUSED}
    quiet = True
    try:
        for item in client.follow(task_id, poll_s=POLL_S):
            if isinstance(item, TaskRecord):
                if quiet and item.status in resting:
                    break
                quiet = True
            else:
                quiet = False
                viewer.show(item)
    finally:
        viewer.end_text()
    return client.get(task_id)


def show_prompt(viewer: Show, record: TaskRecord, prompt: Prompt) -> None:
    """One open prompt, with the command that answers it."""
    options = f" ({'/'.join(prompt.options)})" if prompt.options else ""
    viewer.line(f"? {prompt.text}{options}", "bold")
    if prompt.params_summary:
        viewer.line(f"{BAR}{prompt.params_summary}")
    which = f" --prompt {prompt.prompt_id}" if len(record.prompts) > 1 else ""
    # ANSWER stands for it: an option here would be given by whoever copies the line
    viewer.line(f"  neuraphage answer {short_id(record.task_id)}{which} ANSWER", "dim")

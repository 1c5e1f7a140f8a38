"""One line for people about each event of a task's history. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.cli.console import dollars
from neuraphage.decide.policy import TIMEOUT
from neuraphage.model.prompt import Event

EventText = Callable[[dict[str, Any]], str]

_TEXTS: dict[str, EventText] = {
    "TaskCreated": lambda d: f"created: {d['name']}",
    "TaskStarted": lambda d: f"claimed by a worker ({d['reason']}, lease {d['fence']})",
    "TaskResumed": lambda d: (
        f"goes on in a worker ({d['reason']}, lease {d['fence']})" if d else "resumed"  # empty: of release 0.1.0
    ),
    "TaskUnpaused": lambda _: "resumed: waits for a worker",
    "RequestSent": lambda d: "asks the model" + (f" again (call {d['attempt']})" if d["attempt"] > 1 else ""),
    "RequestFailed": lambda d: (
        f"the call failed ({d['fault']})"
        + (f", its reply had cost {dollars(d['cost_microusd'])}" if d.get("cost_microusd") else "")
        + (", will be repeated" if d["retry_at_ms"] else "")
    ),
    "ResponseReceived": lambda d: f"reply committed ({dollars(d['cost_microusd'])})",
    "ToolStarted": lambda d: f"{d['tool']} starts",
    "ToolAttached": lambda d: f"{d['tool']} still runs: attached to it",
    "ToolSettled": lambda d: f"{d['tool']}: {d['how']}",
    "ToolCompleted": lambda d: f"{d['tool']} {_how_it_ended(d)}",
    "UserInputNeeded": lambda _: "waits for you",
    "AnswerReceived": lambda d: f"answered by {d['by']}" if d["by"] != TIMEOUT else "nobody answered in time",
    "InputReceived": lambda d: f"message from {d['by']}",
    "PermissionGranted": lambda d: f"{d['tool']} allowed by {d['by']}",
    "PermissionDenied": lambda d: (
        f"{d['tool']} not allowed by {d['by']}" if d["by"] != TIMEOUT else f"{d['tool']} not run: nobody had allowed it"
    ),
    "TaskRecovered": lambda d: f"recovered: its worker is {d['evidence']}. {d['reason']}",
    "TaskPaused": lambda d: f"paused ({d['reason']})",
    "LimitsChanged": lambda d: f"limits set by {d['by']}: {_limits(d)}",
    "TaskRetried": lambda _: "retried",
    "TaskReset": lambda _: "reset",
    "WorkingDirLost": lambda d: str(d["report"]),
    "WorkingDirBack": lambda d: f"the working directory {d['path']} is back",
    "TaskBlocked": lambda d: f"waits for {d.get('resource', 'something')}",
    "TaskCompleted": lambda d: "completed" + (f": {d['summary']}" if d.get("summary") else ""),
    "TaskFailed": lambda d: f"failed: {d.get('error', '')}",
    "TaskCancelled": lambda d: "cancelled" + (f": {d['reason']}" if d.get("reason") else ""),
}
STYLES = {
    "TaskRecovered": "yellow",
    "ToolAttached": "yellow",
    "ToolSettled": "yellow",
    "UserInputNeeded": "cyan",
    "WorkingDirLost": "red",
    "WorkingDirBack": "green",
    "TaskCompleted": "green",
    "TaskFailed": "red",
    "RequestFailed": "red",
}
"""Rich styles by kind; the others are dim."""


def _limits(data: dict[str, Any]) -> str:
    turns, cost = data.get("max_turns"), data.get("max_cost_microusd")
    said = [] if turns is None else [f"{turns:.0f} turns"]
    return ", ".join(said + ([] if cost is None else [dollars(int(cost))]))


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


def routine(event: Event) -> bool:
    """Whether an event says nothing but that a task goes its usual way; a live view tells that otherwise."""
    match event.kind:
        case "TaskStarted" | "TaskResumed":
            return event.data.get("reason") in ("user_request", "user_input")
        case "RequestSent":
            return bool(event.data.get("attempt") == 1)
        case _:
            return event.kind in _ROUTINE


_ROUTINE = frozenset({"ResponseReceived", "UserInputNeeded"})

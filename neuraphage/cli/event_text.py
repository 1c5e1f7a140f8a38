"""One line for people about each event of a task's history. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.cli.console import dollars
from neuraphage.decide.anomaly_text import told_to_people
from neuraphage.decide.duration import duration
from neuraphage.decide.policy import TIMEOUT
from neuraphage.decide.pool_text import pool_text
from neuraphage.decide.start_times import start_text
from neuraphage.model.anomaly import Anomaly
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.compaction import Shortening
from neuraphage.model.event import Event, EventKind
from neuraphage.model.money import Pool, Shortage

EventText = Callable[[dict[str, Any]], str]

_SHORTENED: dict[str, str] = {
    Shortening.IMAGES: "old images left out",
    Shortening.RESULTS: "old results of tools shortened",
    Shortening.THOUGHTS: "old results shortened, old thoughts left out",
    Shortening.SUMMARY: "a summary{} in place of the older part",
}


def _start(at_ms: int | None) -> str:
    return "" if at_ms is None else f"; starts at {start_text(at_ms)}"


_TEXTS: dict[str, EventText] = {
    EventKind.TASK_CREATED: lambda d: f"created: {d['name']}" + _start(d.get("starts_at_ms")),
    EventKind.TASK_SCHEDULED: lambda d: (
        "has a slot" + (f", after {duration(d['waited_ms'])}" if d["waited_ms"] else "")
    ),
    EventKind.TASK_STARTED: lambda d: f"claimed by a worker ({d['reason']}, lease {d['fence']})",
    EventKind.TASK_RESUMED: lambda d: (
        f"goes on in a worker ({d['reason']}, lease {d['fence']})" if d else "resumed"  # empty: of release 0.1.0
    ),
    EventKind.TASK_UNPAUSED: lambda _: "resumed: waits for a worker",
    EventKind.REQUEST_SENT: lambda d: (
        (f"asks {d.get('model', 'the model')} for a summary{_why_own(d)}" if d.get("purpose") else "asks the model")
        + (f" again (call {d['attempt']})" if d["attempt"] > 1 else "")
    ),
    EventKind.REQUEST_FAILED: lambda d: (
        f"the call failed ({d['fault']})"
        + (f", its reply had cost {dollars(d['cost_microusd'])}" if d.get("cost_microusd") else "")
        + (", the task's own model is asked" if d.get("why_own") else ", will be repeated" if d["retry_at_ms"] else "")
    ),
    EventKind.REQUEST_ATTACHED: lambda d: f"goes on with the {d.get('purpose') or 'reply'} that had begun",
    EventKind.REQUEST_HELD: lambda d: f"waits for the model: {_HELD[d['why']]}",
    EventKind.RESPONSE_RECEIVED: lambda d: f"reply committed ({dollars(d['cost_microusd'])})",
    EventKind.CONTEXT_COMPACTED: lambda d: (
        f"the conversation is sent shorter: about {d['after_tokens']:,} tokens instead of {d['before_tokens']:,}"
        f" ({_SHORTENED[d['how']].format(_by(d))})"
    ),
    EventKind.TOOL_HELD: lambda d: (
        f"{d['tool']} waits {duration(d['wait_ms'])}: {d['most']} {d['rate']} within a minute are the most"
        f" (task_{d['rate']}_per_minute)"
    ),
    EventKind.RESOURCE_LOCK_WAIT: lambda d: f"waits for {_listed(d)}, which {_short(d['holder_task'])} has",
    EventKind.RESOURCE_LOCK_ACQUIRED: lambda d: f"has {_listed(d)} now",
    EventKind.RESOURCE_LOCK_RELEASED: lambda d: f"has freed {_listed(d)} for others",
    EventKind.RESOURCE_LOCK_BROKEN: lambda d: f"lost its lock of {d['resource']} by {d.get('who') or d['by']}",
    EventKind.TOOL_STARTED: lambda d: f"{d['tool']} starts",
    EventKind.TOOL_ATTACHED: lambda d: f"{d['tool']} still runs: attached to it",
    EventKind.TOOL_SETTLED: lambda d: f"{d['tool']}: {d['how']}",
    EventKind.TOOL_COMPLETED: lambda d: f"{d['tool']} {_how_it_ended(d)}",
    EventKind.HOST_REFUSED: lambda d: f"{d['tool']} was refused the host {d['host']}, port {d['port']}",
    EventKind.USER_INPUT_NEEDED: lambda _: "waits for you",
    EventKind.ANSWER_RECEIVED: lambda d: (
        f"answered by {d.get('who') or d['by']}{_said(d)}" if d["by"] != TIMEOUT else "nobody answered in time"
    ),
    EventKind.ANSWER_TAKEN: lambda d: f"the answer{_said(d)}",
    EventKind.INPUT_RECEIVED: lambda d: f"message from {d['by']}",
    EventKind.PERMISSION_REQUEST: lambda d: f"asks a person about {d['tool']}",
    EventKind.PERMISSION_GRANTED: lambda d: f"{d['tool']} allowed by {_who(d)}",
    EventKind.PERMISSION_DENIED: lambda d: (
        f"{d['tool']} not allowed by {_who(d)}" if d["by"] != TIMEOUT else f"{d['tool']} not run: nobody had allowed it"
    ),
    EventKind.SECURITY_POLICY_CHECK: lambda d: (
        (f"{d['tool']}: " if d["tool"] else "")
        + f"guards of {d['point']} say {d['verdict']}"
        + (f" ({d['by']})" if d.get("by") else "")
    ),
    EventKind.SECURITY_VIOLATION: lambda d: (
        f"{d['tool']} was against {_policy(d)}, and not run" if d["id"] else f"blocked at {d['tool']} by {d['by']}"
    ),
    EventKind.PERMISSION_VOIDED: lambda d: f"{d['tool']} is asked about again: {d['why']}",
    EventKind.TASK_RECOVERED: lambda d: f"recovered: its worker is {d['evidence']}. {d['reason']}",
    EventKind.TASK_PAUSED: lambda d: (
        f"paused ({d['reason']})"
        + (f": {pool_text(Shortage(**d['shortage']))}" if d.get("shortage") else "")
        + (f": {d['anomaly']['kind']}" if d.get("anomaly") else "")
    ),
    EventKind.ANOMALY_DETECTED: lambda d: told_to_people(Anomaly(**d)),
    EventKind.BUDGET_WARNING: lambda d: (
        f"{d['percent']}% of {_pool(d['pool'])} is used:"
        f" {dollars(d['used_microusd'])} of {dollars(d['limit_microusd'])}"
    ),
    EventKind.LIMITS_CHANGED: lambda d: f"limits set by {d['by']}: {_limits(d)}",
    EventKind.MODEL_CHANGED: lambda d: f"calls {d['model']} from now on, by {_model_by(d)}",
    EventKind.TASK_RETRIED: lambda _: "retried",
    EventKind.REPLY_SUPERSEDED: lambda d: f"asked again for the last reply by {d.get('who') or d['by']}",
    EventKind.TASK_RESET: lambda _: "reset",
    EventKind.WORKING_DIR_LOST: lambda d: str(d["report"]),
    EventKind.WORKING_DIR_BACK: lambda d: f"the working directory {d['path']} is back",
    EventKind.TASK_BLOCKED: lambda d: f"waits for {d.get('resource', 'something')}",
    EventKind.DEPENDENCY_ADDED: lambda d: f"is to wait for {d['task_id']} (if that fails: {d['on_failure']})",
    EventKind.DEPENDENCY_REMOVED: lambda d: f"waits for {d['task_id']} no more",
    EventKind.TASK_COMPLETED: lambda d: "completed" + (f": {d['summary']}" if d.get("summary") else ""),
    EventKind.TASK_FAILED: lambda d: f"failed: {d.get('error', '')}",
    EventKind.TASK_CANCELLED: lambda d: "cancelled" + (f": {d['reason']}" if d.get("reason") else ""),
}
STYLES: dict[str, str] = {
    EventKind.TASK_RECOVERED: "yellow",
    EventKind.REQUEST_ATTACHED: "yellow",
    EventKind.TOOL_ATTACHED: "yellow",
    EventKind.TOOL_SETTLED: "yellow",
    EventKind.HOST_REFUSED: "yellow",
    EventKind.SECURITY_VIOLATION: "yellow",
    EventKind.USER_INPUT_NEEDED: "cyan",
    EventKind.WORKING_DIR_LOST: "red",
    EventKind.WORKING_DIR_BACK: "green",
    EventKind.TASK_COMPLETED: "green",
    EventKind.TASK_FAILED: "red",
    EventKind.REQUEST_FAILED: "red",
    EventKind.BUDGET_WARNING: "yellow",
}
"""Rich styles by kind; the others are dim."""


def _listed(data: dict[str, Any]) -> str:
    return ", ".join(data["resources"])


def _short(task_id: str | None) -> str:
    return (task_id or "another task").rpartition("-")[2]


def _why_own(data: dict[str, Any]) -> str:
    return f" ({data['why_own']})" if data.get("why_own") else ""


def _by(data: dict[str, Any]) -> str:
    return f" by {data['model']}" if data.get("model") else ""


def _model_by(d: dict[str, Any]) -> str:
    if d["by"] == "fallback":
        return f"the list of fall-backs: {d['from']} is refused ({d['reason']})"
    who = "itself" if d["by"] == "failures" else str(d.get("who") or d["by"])
    return f"{who}: {d['reason']}" if d.get("reason") else who


_HELD: dict[str, str] = {
    CapacityReason.RATE_LIMITED: "the provider takes no calls from this key now (429)",
    CapacityReason.OVERLOADED: "the provider is overloaded (529)",
    CapacityReason.EXHAUSTED: "the provider said that this key has nothing left for now",
    CapacityReason.PROBE: "another call finds out whether it takes calls again",
    CapacityReason.REQUESTS: "the calls of model_limits are used",
    CapacityReason.INPUT_TOKENS: "the input tokens of model_limits are used",
    CapacityReason.OUTPUT_TOKENS: "the output tokens of model_limits are used",
}


def _pool(name: str) -> str:
    if name == Pool.TASK:
        return "the limit of the task"
    return "the pool of the day" if name == Pool.DAY else f"the pool of {name}"


def _who(data: dict[str, Any]) -> str:
    if data.get("edited"):
        return f"{data.get('who') or data['by']}, who changed its {', '.join(data['edited'])}"
    return f"the rule `{data['rule']}`" if data.get("rule") else str(data.get("who") or data["by"])


def _policy(data: dict[str, Any]) -> str:
    return f"the rule `{data['by']}`" if data.get("source") else str(data["by"])


def _said(data: dict[str, Any]) -> str:
    return f": {' '.join(str(data['answer']).split())}" if data.get("answer") else ""


def _limits(data: dict[str, Any]) -> str:
    turns, cost = data.get("max_turns"), data.get("max_cost_microusd")
    said, tree = [] if turns is None else [f"{turns:.0f} turns"], data.get("max_tree_turns")
    said += [] if tree is None else [f"{tree:.0f} turns with its subtasks"]
    running = data.get("max_running_ms")
    said += [] if running is None else [f"{duration(int(running))} at work"]
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
        case EventKind.TASK_STARTED | EventKind.TASK_RESUMED:
            return event.data.get("reason") in ("user_request", "user_input")
        case EventKind.PERMISSION_GRANTED:
            return bool(event.data.get("rule"))
        case EventKind.SECURITY_VIOLATION:
            return bool(event.data.get("source"))  # of rules; PermissionDenied tells of them
        case EventKind.SECURITY_POLICY_CHECK:
            return event.data.get("verdict") in ("allow", "block")  # SecurityViolation tells of a block
        case EventKind.REQUEST_SENT:
            return bool(event.data.get("attempt") == 1)
        case _:
            return event.kind in _ROUTINE


_ROUTINE = frozenset(
    {
        EventKind.RESPONSE_RECEIVED,
        EventKind.USER_INPUT_NEEDED,
        EventKind.PERMISSION_REQUEST,  # a view shows the prompt
        EventKind.ANSWER_TAKEN,
    }
)

"""Which models take calls now, and what is used of their limits: one gate for each family of models of each key.

What is kept here is advice that expires. A task that waits sits in timers as any other; should all of this be lost, the
model is called a little too early, and the provider says so again.
"""

from __future__ import annotations

from typing import Any

from neuraphage.decide.learned_limits import window_s_of
from neuraphage.decide.model_limits import in_window
from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, HeardLimits, ModelLimits
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import dumps
from neuraphage.store.scripts import script

HEAD_START_MS = 15_000
"""A task stands so much ahead of one of the next lower priority that asked at the same time."""
STEP_MS, STEPS_MAX = 5_000, 6
"""Who waits for a probe asks again so much later for each that stands before, if nobody wakes it."""
WAKE_MS = 20
"""Between two that are woken together."""
KEEP_MS = 3_600_000
"""How long a gate is remembered behind the end of its cooling, or of its windows, while nobody calls."""
SLACK_S = 5.0
"""Until a call that was let in is announced and sent, on top of the waits of the call itself."""
KEPT_MS = 600_000
"""How long workers keep a limit that they have learned, after it was last heard that little is left of it."""
LOOKS_MAX = 500
"""Most tasks and shares of calls that are looked at when a call asks; who waits asks again within a window."""


def admit_call(
    context: StoreContext,
    gate: str,
    task_id: str,
    priority: int,
    limits: ModelLimits | None,
    share: CallShare | None,
) -> Capacity:
    """See ports.CapacityStore."""
    settings, keys = context.settings, context.keys
    arrival_s = settings.connect_timeout_s + SLACK_S
    given = limited(context, task_id, limits, share.ticket if share else "")
    given |= {
        "gate": gate,
        "behind_ms": priority * HEAD_START_MS,
        "probe_ms": int((arrival_s + settings.read_timeout_s) * 1000),
        "step_ms": STEP_MS,
        "steps_max": STEPS_MAX,
        "input": share.input_tokens if share else 0,
        "output": share.output_tokens if share else 0,
        "grace_ms": int(settings.sweep_s * 2000),
        "arrival_ms": int(arrival_s * 1000),
        "hold_ms": int((settings.call_timeout_s + SLACK_S) * 1000),
        "learned": " ".join(share.learned) if share else "",
    }
    of_gate = (keys.cooling, keys.queue(gate), keys.used(gate), keys.gate(gate), keys.gates)
    verdict, *rest = script("admit").run(context, given, keys=of_gate)
    if verdict != b"WAIT":
        return Capacity(is_admitted=True, probes=verdict == b"PROBE")
    due_ms, why, until_ms = rest
    return Capacity(is_admitted=False, why=CapacityReason(why.decode()), due_ms=int(due_ms), until_ms=int(until_ms))


def settle_call(
    context: StoreContext,
    gate: str,
    task_id: str,
    limits: ModelLimits,
    used: CallShare,
    answered_ms: int,
    heard: HeardLimits | None = None,
) -> None:
    """See ports.CapacityStore."""
    given = limited(context, task_id, limits, used.ticket)
    given |= {"input": used.input_tokens, "output": used.output_tokens, "answered_ms": answered_ms}
    given |= heard_by(gate, heard)
    keys = context.keys
    of_gate = (keys.queue(gate), keys.used(gate), keys.gate(gate), keys.timers, keys.kept)
    script("settle").run(context, given, keys=of_gate)


def cool_model(context: StoreContext, gate: str, why: CapacityReason, delay_s: float) -> None:
    """See ports.CapacityStore."""
    given = {"gate": gate, "why": why.value, "delay_ms": int(delay_s * 1000), "keep_ms": KEEP_MS}
    script("cool").run(context, given, keys=(context.keys.cooling,))


def open_model(context: StoreContext, gate: str, task_id: str, *, is_limited: bool) -> None:
    """See ports.CapacityStore."""
    given = {"gate": gate, "task": task_id, "limited": int(is_limited), "wake_ms": WAKE_MS}
    keys = context.keys
    script("open").run(context, given, keys=(keys.cooling, keys.queue(gate), keys.timers))


def limited(context: StoreContext, task_id: str, limits: ModelLimits | None, ticket: str) -> dict[str, Any]:
    """What admit and settle are given."""
    return {**windows(context, task_id, limits), "ticket": ticket, "looks_max": LOOKS_MAX}


def windows(context: StoreContext, task_id: str, limits: ModelLimits | None) -> dict[str, Any]:
    """What admit, settle and learn are given of limits."""
    settings, most = context.settings, limits or ModelLimits()
    window_s = window_s_of(most, settings.model_limit_window_s)
    longest_s = settings.call_timeout_s + 2 * window_s
    return {
        "task": task_id,
        "requests": in_window(most.requests, window_s),
        "input_tokens": in_window(most.input_tokens, window_s),
        "output_tokens": in_window(most.output_tokens, window_s),
        "window_ms": int(window_s * 1000),
        "keep_ms": KEEP_MS + int(longest_s * 1000),
    }


def heard_by(gate: str, heard: HeardLimits | None) -> dict[str, Any]:
    """What settle and learn are given of an answer."""
    return {"gate": gate, "heard": "" if heard is None else dumps(heard.model_dump()), "kept_ms": KEPT_MS}

"""Whether the next call of a model may begin, by what all workers know of it together. Pure.

Providers limit a key, not a task. So a refusal for that reason is one of the model's gate: it holds for whoever calls a
model of the same family with the same key.
"""

from __future__ import annotations

from neuraphage.decide.capacity_actions import AskCapacity, WaitForCapacity
from neuraphage.decide.context_actions import Compact
from neuraphage.decide.duration import clock_time
from neuraphage.decide.model_family import model_family
from neuraphage.decide.retry import OVERLOADED_DELAY_S, RATE_LIMITED_DEFAULT_S, accepted_wait_s
from neuraphage.decide.snapshot import Snapshot
from neuraphage.decide.summary_model import NO_GATE, Gate
from neuraphage.errors import FaultKind
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import EffectState, Journal, ModelEffect, model_effect, summary_effect

_COOLING = {
    FaultKind.RATE_LIMITED: (CapacityReason.RATE_LIMITED, RATE_LIMITED_DEFAULT_S),
    FaultKind.OVERLOADED: (CapacityReason.OVERLOADED, OVERLOADED_DELAY_S),
}
"""Faults that are none of the task's own, with the wait where the provider names none."""
_UNANSWERED = frozenset(
    {FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED, FaultKind.GARBAGE}
)
"""After these nobody knows whether the provider takes calls; any other answer says that it does."""


def capacity_first(snapshot: Snapshot, summary: Compact | None = None) -> AskCapacity | WaitForCapacity | None:
    """What a call of the model has to wait for; None when it may begin.

    Args:
        snapshot: the facts.
        summary: what is to be called for; None for the turn's reply.
    """
    gate = Gate(snapshot.asks_capacity, snapshot.capacity)
    if summary is not None:
        gate = snapshot.summary.gates.get(summary.model, NO_GATE)
    if not gate.is_asked:
        return None
    if gate.found is None:
        return AskCapacity(summary)
    if gate.found.is_admitted or gate.found.why is None:
        return None
    return WaitForCapacity(gate.found.due_ms, gate.found.why, gate.found.until_ms, summary)


def cooling_after(kind: FaultKind, retry_after_s: float | None) -> tuple[CapacityReason, float] | None:
    """What a fault says to all workers: why the model takes no calls, and for how many seconds; None for nothing."""
    if kind not in _COOLING:
        return None
    why, default_s = _COOLING[kind]
    return why, default_s if retry_after_s is None else accepted_wait_s(retry_after_s)


def is_unanswered(kind: FaultKind) -> bool:
    """Whether a failed call may have been read by the provider all the same."""
    return kind in _UNANSWERED


def shows_capacity(kind: FaultKind) -> bool:
    """Whether a failed call shows all the same that the provider takes calls."""
    return kind not in _COOLING and kind not in _UNANSWERED


def awaited(journal: Journal) -> tuple[CapacityReason, int] | None:
    """What the turn's call waits for, and until when the provider asked everybody to wait (0 for no such time).

    Args:
        journal: of a task in timers.
    """
    entry = _next_call(journal)
    if entry is None or entry.awaits is not None:
        return None if entry is None else entry.awaits
    if entry.fault is None or entry.retry_at_ms is None or FaultKind(entry.fault) not in _COOLING:
        return None
    return _COOLING[FaultKind(entry.fault)][0], entry.retry_at_ms


def awaited_model(journal: Journal, own: str) -> str:
    """Which model the call of `awaited` is one of.

    Args:
        journal: of a task in timers.
        own: the task's model.
    """
    entry = _next_call(journal)
    return own if entry is None or entry.model is None or entry.why_own else entry.model


def _next_call(journal: Journal) -> ModelEffect | None:
    """The call that the turn is at: for a summary, while that is not over, else for the reply."""
    summary = summary_effect(journal)
    is_over = summary is None or summary.state is EffectState.COMPLETED
    return model_effect(journal) if is_over else summary


_REFUSALS = {CapacityReason.RATE_LIMITED: "429, too many", CapacityReason.OVERLOADED: "529, overloaded"}
_LIMITED = {
    CapacityReason.REQUESTS: "calls",
    CapacityReason.INPUT_TOKENS: "tokens of input",
    CapacityReason.OUTPUT_TOKENS: "tokens of output",
}


def why_waits(why: CapacityReason, until_ms: int, model: str) -> str:
    """Why a call of the model waits, as a sentence."""
    family = model_family(model)
    rest = "it waits, holds no worker and counts no attempt"
    match why:
        case CapacityReason.PROBE:
            because = f"The provider's wait for {family} is over, and one call finds out whether it takes calls again"
        case CapacityReason.REQUESTS | CapacityReason.INPUT_TOKENS | CapacityReason.OUTPUT_TOKENS:
            because = (
                f"All workers together have used the {_LIMITED[why]} that are allowed for {family} within a minute"
            )
        case CapacityReason.EXHAUSTED:
            until = f"{clock_time(until_ms)}, which everybody waits for"
            because = f"The provider said that this key has nothing left for {family} until {until}"
        case _:
            until = f"asked everybody to wait until {clock_time(until_ms)}"
            because = f"The provider refused a call of {family} ({_REFUSALS[why]}) and {until}"
    return f"{because}; {rest}."

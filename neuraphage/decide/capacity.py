"""Whether the next call of a model may begin, by what all workers know of it together. Pure.

Providers limit a key, not a task. So a refusal for that reason is one of the model's gate: it holds for whoever calls a
model of the same family with the same key.
"""

from __future__ import annotations

from neuraphage.decide.capacity_actions import AskCapacity, WaitForCapacity
from neuraphage.decide.duration import clock_time
from neuraphage.decide.model_family import model_family
from neuraphage.decide.retry import OVERLOADED_DELAY_S, RATE_LIMITED_DEFAULT_S, accepted_wait_s
from neuraphage.decide.snapshot import Snapshot
from neuraphage.errors import FaultKind
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import MODEL_ENTRY, Journal, ModelEffect

_COOLING = {
    FaultKind.RATE_LIMITED: (CapacityReason.RATE_LIMITED, RATE_LIMITED_DEFAULT_S),
    FaultKind.OVERLOADED: (CapacityReason.OVERLOADED, OVERLOADED_DELAY_S),
}
"""Faults that are none of the task's own, with the wait where the provider names none."""
_UNANSWERED = frozenset(
    {FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED, FaultKind.GARBAGE}
)
"""After these nobody knows whether the provider takes calls; any other answer says that it does."""


def capacity_first(snapshot: Snapshot) -> AskCapacity | WaitForCapacity | None:
    """What a call of the model has to wait for; None when it may begin."""
    if not snapshot.asks_capacity:
        return None
    found = snapshot.capacity
    if found is None:
        return AskCapacity()
    if found.is_admitted or found.why is None:
        return None
    return WaitForCapacity(found.due_ms, found.why, found.until_ms)


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
    entry = journal.get(MODEL_ENTRY)
    if not isinstance(entry, ModelEffect) or entry.awaits is not None:
        return entry.awaits if isinstance(entry, ModelEffect) else None
    if entry.fault is None or entry.retry_at_ms is None or FaultKind(entry.fault) not in _COOLING:
        return None
    return _COOLING[FaultKind(entry.fault)][0], entry.retry_at_ms


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
            because = f"All workers together have used the {_LIMITED[why]} that model_limits allows for {family}"
        case CapacityReason.EXHAUSTED:
            until = f"{clock_time(until_ms)}, which everybody waits for"
            because = f"The provider said that this key has nothing left for {family} until {until}"
        case _:
            until = f"asked everybody to wait until {clock_time(until_ms)}"
            because = f"The provider refused a call of {family} ({_REFUSALS[why]}) and {until}"
    return f"{because}; {rest}."

"""The one retry rule of model calls (requirements R92-R99, K10). The turn's timers carry it out.

network, timeout, 5xx and broken streams: 3 attempts, at 0, 1 and 5 s. Overloaded (529): 30 s each,
3 retries. Rate limited (429): the provider's own wait, which uses up no attempt; a cap ends it in the end.
Everything else cannot be helped by repeating.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.errors import FaultKind

PASSING = frozenset(
    {FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED, FaultKind.GARBAGE}
)
PASSING_DELAYS_S = (1.0, 5.0)
OVERLOADED_DELAY_S = 30.0
OVERLOADED_RETRIES = 3
RATE_LIMITED_DEFAULT_S = 30.0
"""Wait after a 429 without retry-after."""
RATE_LIMITED_MAX_S = 3_600.0
"""Longest wait we accept from a provider."""
RATE_LIMITED_RETRIES = 100
"""A hundred refusals in a row are no passing state."""


@dataclass(frozen=True, slots=True)
class RetryDecision:
    """What follows a failed call.

    Args:
        delay_s: wait before the next call; None gives up.
        faults: faults of this rule so far, to be kept in the journal entry.
    """

    delay_s: float | None
    faults: int


def after_fault(kind: FaultKind, faults_before: int, retry_after_s: float | None, calls: int = 1) -> RetryDecision:
    """Decide what follows a fault.

    Args:
        kind: the fault.
        faults_before: faults already counted for this request; a 429 is none of them.
        retry_after_s: the provider's wait, if it named one.
        calls: calls made for this request so far, of whatever outcome; they cap the waiting for 429s.
    """
    faults = faults_before + 1
    if kind is FaultKind.RATE_LIMITED:
        wait = RATE_LIMITED_DEFAULT_S if retry_after_s is None else min(max(retry_after_s, 0.0), RATE_LIMITED_MAX_S)
        return RetryDecision(wait if calls <= RATE_LIMITED_RETRIES else None, faults_before)
    if kind is FaultKind.OVERLOADED:
        return RetryDecision(OVERLOADED_DELAY_S if faults <= OVERLOADED_RETRIES else None, faults)
    if kind in PASSING and faults <= len(PASSING_DELAYS_S):
        return RetryDecision(PASSING_DELAYS_S[faults - 1], faults)
    return RetryDecision(None, faults)

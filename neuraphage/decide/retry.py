"""The one retry rule of model calls. The turn's timers carry it out.

network, timeout, 5xx and broken streams: 3 attempts, at 0, 1 and 5 s. Overloaded (529): the provider's own wait, 30 s
where it names none, 3 retries. Rate limited (429): the provider's own wait, which uses up no attempt; a cap ends it in
the end.
A history that the provider does not take back (a thought whose signature it no longer knows) is sent once more
without anything but words, calls and results. A request that is too long is made shorter, once. Everything else cannot
be helped by repeating.
"""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.decide.replies import OVERFLOW_ADVICE
from neuraphage.errors import FaultKind

PASSING = frozenset(
    {FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED, FaultKind.GARBAGE}
)
PLAIN_AFTER = frozenset({FaultKind.BAD_HISTORY})
"""After these the request is made again from words, calls and results alone."""
FINAL = frozenset({FaultKind.BAD_REQUEST, FaultKind.NOT_FOUND})
"""After these a person's retry would send what is refused again: the task itself is wrong."""
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


def after_fault(
    kind: FaultKind,
    faults_before: int,
    retry_after_s: float | None,
    calls: int = 1,
    *,
    plain: bool = False,
    compacted: bool = False,
) -> RetryDecision:
    """Decide what follows a fault.

    Args:
        kind: the fault.
        faults_before: faults already counted for this request; a 429 is none of them.
        retry_after_s: the provider's wait, if it named one.
        calls: calls made for this request so far, of whatever outcome; they cap the waiting for 429s.
        plain: whether this call had left out all but words, calls and results already.
        compacted: whether this call had been made shorter already.
    """
    faults = faults_before + 1
    if kind is FaultKind.RATE_LIMITED:
        wait = RATE_LIMITED_DEFAULT_S if retry_after_s is None else accepted_wait_s(retry_after_s)
        return RetryDecision(wait if calls <= RATE_LIMITED_RETRIES else None, faults_before)
    if kind is FaultKind.OVERLOADED:
        wait = OVERLOADED_DELAY_S if retry_after_s is None else accepted_wait_s(retry_after_s)
        return RetryDecision(wait if faults <= OVERLOADED_RETRIES else None, faults)
    if kind in PLAIN_AFTER:
        return RetryDecision(None if plain else 0.0, faults_before)
    if kind is FaultKind.CONTEXT_OVERFLOW:
        return RetryDecision(None if compacted else 0.0, faults_before)
    if kind in PASSING and faults <= len(PASSING_DELAYS_S):
        return RetryDecision(PASSING_DELAYS_S[faults - 1], faults)
    return RetryDecision(None, faults)


def accepted_wait_s(asked_s: float) -> float:
    """The wait that a provider asks for, as far as we accept it, in seconds."""
    return min(max(asked_s, 0.0), RATE_LIMITED_MAX_S)


def can_be_retried(fault: str | None) -> bool:
    """Whether a person's retry of the failed task may help."""
    return fault is not None and FaultKind(fault) not in FINAL


def is_sent_plain(fault: str | None) -> bool:
    """Whether the call after this fault leaves out what the provider may not take back."""
    return fault is not None and FaultKind(fault) in PLAIN_AFTER


def advice(fault: str | None, *, reply_begun: bool) -> str:
    """What a person can do about a call that failed for good; empty where the fault says it.

    Args:
        fault: the fault kind, as stored.
        reply_begun: whether it was about the reply and not about the request.
    """
    match FaultKind(fault) if fault is not None else None:
        case FaultKind.TOO_LARGE if reply_begun:
            return "Raise max_entry_bytes, or let it ask for less at a time; then a retry asks again."
        case FaultKind.TOO_LARGE | FaultKind.CONTEXT_OVERFLOW:
            return OVERFLOW_ADVICE
        case FaultKind.BAD_HISTORY:
            return "A retry asks again; a reset begins anew; a newer release may send it in another form."
        case _:
            return ""

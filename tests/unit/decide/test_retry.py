"""The retry table, row by row."""

from __future__ import annotations

import pytest

from neuraphage.decide.retry import (
    RATE_LIMITED_MAX_S,
    RATE_LIMITED_RETRIES,
    RetryDecision,
    after_fault,
    can_be_retried,
    is_sent_plain,
)
from neuraphage.errors import FaultKind

ROWS: list[tuple[FaultKind, list[float | None]]] = [
    (FaultKind.NETWORK, [1.0, 5.0, None]),
    (FaultKind.TIMEOUT, [1.0, 5.0, None]),
    (FaultKind.SERVER_ERROR, [1.0, 5.0, None]),
    (FaultKind.TRUNCATED, [1.0, 5.0, None]),
    (FaultKind.GARBAGE, [1.0, 5.0, None]),
    (FaultKind.OVERLOADED, [30.0, 30.0, 30.0, None]),
    (FaultKind.RATE_LIMITED, [30.0] * RATE_LIMITED_RETRIES + [None]),
    (FaultKind.BAD_REQUEST, [None]),
    (FaultKind.AUTHENTICATION, [None]),
    (FaultKind.PERMISSION, [None]),
    (FaultKind.NOT_FOUND, [None]),
    (FaultKind.TOO_LARGE, [None]),
    (FaultKind.CONTEXT_OVERFLOW, [0.0]),
    (FaultKind.BAD_HISTORY, [0.0]),
]
HEARD = {FaultKind.RATE_LIMITED, FaultKind.OVERLOADED}
"""Faults whose answer may name the wait."""


def waits(kind: FaultKind, count: int) -> list[float | None]:
    """The waits after `count` faults of one kind in a row."""
    found, faults = [], 0
    for calls in range(1, count + 1):
        decision = after_fault(kind, faults, None, calls)
        found.append(decision.delay_s)
        faults = decision.faults
    return found


def test_every_kind_has_a_row() -> None:
    """A new kind of fault needs a decision here too."""
    assert {kind for kind, _ in ROWS} == set(FaultKind)


@pytest.mark.parametrize(("kind", "expected"), ROWS)
def test_waits_of_each_kind(kind: FaultKind, expected: list[float | None]) -> None:
    """The waits in order, and then the end."""
    assert waits(kind, len(expected)) == expected


@pytest.mark.parametrize(
    ("asked_s", "wait_s"), [(0.0, 0.0), (7.5, 7.5), (-3.0, 0.0), (1e9, RATE_LIMITED_MAX_S), (None, 30.0)]
)
def test_a_rate_limit_waits_as_long_as_it_says(asked_s: float | None, wait_s: float) -> None:
    """429: the provider's wait, inside our bounds, and no attempt is used up."""
    assert after_fault(FaultKind.RATE_LIMITED, 2, asked_s, 3) == RetryDecision(wait_s, 2)


@pytest.mark.parametrize("kind", [kind for kind in FaultKind if kind not in HEARD])
def test_only_a_refusal_for_too_many_calls_is_heard(kind: FaultKind) -> None:
    """A wait named by any other answer changes nothing."""
    assert after_fault(kind, 0, 999.0) == after_fault(kind, 0, None)


def test_an_overloaded_provider_names_its_own_wait() -> None:
    """And that is waited for instead of 30 s; the count of tries is the same."""
    assert after_fault(FaultKind.OVERLOADED, 0, 999.0) == RetryDecision(999.0, 1)
    assert after_fault(FaultKind.OVERLOADED, 3, 999.0) == RetryDecision(None, 4)


def test_a_history_that_is_refused_is_sent_once_more_and_plainly() -> None:
    """The second request leaves out what was refused; when that is refused too, nothing can be left out any more."""
    assert is_sent_plain("bad_history")
    assert not any(is_sent_plain(kind) for kind in set(FaultKind) - {FaultKind.BAD_HISTORY})
    assert after_fault(FaultKind.BAD_HISTORY, 2, None, 3, plain=True) == RetryDecision(None, 2)


@pytest.mark.parametrize("kind", list(FaultKind))
def test_a_person_can_retry_all_but_what_is_wrong_with_the_task_itself(kind: FaultKind) -> None:
    """A context that is full, a key, an outage: all may be over or mended. A wrong model or parameter stays wrong."""
    assert can_be_retried(kind) is (kind not in {FaultKind.BAD_REQUEST, FaultKind.NOT_FOUND})


def test_kinds_share_one_count() -> None:
    """A network fault after two overloads is the third fault: no kind resets the count of another."""
    assert after_fault(FaultKind.NETWORK, 2, None).delay_s is None
    assert after_fault(FaultKind.OVERLOADED, 2, None).delay_s == 30.0

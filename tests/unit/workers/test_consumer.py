"""Whether a worker takes in messages: a pop that the broker does not answer tells that it does not."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from workers.consumer import FRESH_S, is_overdue


@pytest.mark.parametrize(
    ("in_poll", "sent_s", "overdue"),
    [
        (True, 100.0, True),
        (True, 100.0 + FRESH_S, False),  # its answer may still come in time
        (None, 50.0, False),  # every slot is taken, so none was sent
        (True, None, False),
    ],
)
def test_a_pop_without_an_answer(in_poll: object, sent_s: float | None, overdue: bool) -> None:
    """The server answers each pop after brpop_timeout at the latest."""
    channel = SimpleNamespace(_in_poll=in_poll, _brpop_sent_at=sent_s, brpop_timeout=1)
    assert is_overdue(channel, 101.5 + FRESH_S - 0.4) is overdue


def test_another_transport_has_no_pops() -> None:
    """Nothing is known of it, so nothing is held against it."""
    assert not is_overdue(SimpleNamespace(), 1_000.0)

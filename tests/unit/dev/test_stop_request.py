"""Asking a stack to stop."""

from __future__ import annotations

import threading

from neuraphage.dev.stop_request import StopRequest


def test_once_is_gentle_and_twice_is_at_once() -> None:
    """The second request says more than the first."""
    stop = StopRequest()
    assert not stop.asked
    stop.ask()
    assert (stop.asked, stop.at_once) == (True, False)
    stop.ask()
    assert stop.at_once


def test_a_gentle_request_is_never_the_second_one() -> None:
    """A closed terminal that tells it twice, or a stack that nobody uses, ends no step in hand."""
    stop = StopRequest()
    stop.ask_gently()
    stop.ask_gently()
    assert (stop.asked, stop.at_once) == (True, False)
    stop.ask()
    stop.ask_gently()
    assert stop.at_once


def test_waiting_ends_with_the_request_or_the_time() -> None:
    """Any thread may ask."""
    stop = StopRequest()
    assert not stop.wait(0.0)
    threading.Thread(target=stop.ask).start()
    assert stop.wait()

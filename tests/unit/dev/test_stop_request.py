"""Asking a stack to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from neuraphage.dev.stop_request import StopRequest, listen


@pytest.fixture
def _signals_as_before() -> Iterator[None]:
    """What a test sets is taken back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)


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


@pytest.mark.usefixtures("_signals_as_before")
@pytest.mark.parametrize(("before", "hears"), [(signal.SIG_DFL, True), (signal.SIG_IGN, False)])
def test_a_closed_terminal_is_heard_unless_that_was_ignored(before: signal.Handlers, hears: bool) -> None:
    """`nohup neuraphage dev` outlives its terminal; Ctrl-C and SIGTERM end it all the same."""
    signal.signal(signal.SIGHUP, before)
    stop = StopRequest()
    listen(stop)
    signal.raise_signal(signal.SIGHUP)
    signal.raise_signal(signal.SIGHUP)
    assert (stop.asked, stop.at_once) == (hears, False)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
    assert stop.at_once

"""Whether a worker takes in messages: a pop that the broker does not answer tells that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from neuraphage.queue.patched import consumer
from neuraphage.queue.patched.consumer import (
    AGAIN_S,
    FRESH_S,
    STEADY_S,
    TICK_S,
    ConsumerState,
    is_closed,
    is_consuming,
    is_overdue,
)


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


class Loop:
    """A consumer's loop whose time a test moves; as Celery hands it to its steps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.entries: list[Any] = []
        self.cancelled = self.disconnected = self.looked_for_children = 0
        self.timer = SimpleNamespace(call_repeatedly=self._call_repeatedly)
        self.pool = SimpleNamespace(maintain_pool=lambda: setattr(self, "looked_for_children", 1))
        self.pop = SimpleNamespace(disconnect=lambda: setattr(self, "disconnected", self.disconnected + 1))
        channel = SimpleNamespace(_in_poll=self.pop, _brpop_sent_at=None, brpop_timeout=1)
        self.task_consumer: Any = SimpleNamespace(channel=channel)
        self.state = ConsumerState(self)

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def _call_repeatedly(self, every_s: float, call: Any, arguments: tuple[Any, ...]) -> Any:
        assert every_s == TICK_S
        self.entries.append((call, arguments))
        return SimpleNamespace(cancel=lambda: setattr(self, "cancelled", self.cancelled + 1))

    def turn(self, after_s: float) -> bool:
        """The loop turns once after some time; whether messages are taken in then."""
        self.now_s += after_s
        for call, arguments in self.entries:
            call(*arguments)
        return is_consuming()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    """A loop that has not begun; the module is left as it was found."""
    made = Loop()
    monkeypatch.setattr(consumer, "time", made)
    yield made
    made.state.stop(made)
    consumer._Loop.since_s = consumer._Loop.ticked_s = 0.0
    consumer._Loop.overdue = False


def test_messages_are_taken_in_while_the_loop_turns(loop: Loop) -> None:
    """Once the connection has held for a while, and only as long as the loop has turned of late."""
    assert is_closed()
    assert not loop.turn(0.0)
    loop.state.start(loop)
    assert not is_closed()
    assert not loop.turn(STEADY_S - 0.1)
    assert loop.turn(0.2)
    assert loop.looked_for_children
    loop.now_s += FRESH_S - 0.1
    assert is_consuming()
    loop.now_s += 0.2
    assert not is_consuming()
    assert loop.turn(0.0)


def test_a_consumer_that_is_thrown_out_at_once_begins_again_later(loop: Loop) -> None:
    """Its pop is refused, say: it asks once a second. One that had held goes on at once."""
    loop.state.start(loop)
    for _ in range(3):
        began_s = loop.now_s
        loop.now_s += STEADY_S / 2
        loop.state.stop(loop)
        loop.state.start(loop)
        assert loop.now_s == began_s + STEADY_S / 2 + AGAIN_S
    loop.now_s += STEADY_S
    began_s = loop.now_s
    loop.state.stop(loop)
    loop.state.start(loop)
    assert loop.now_s == began_s


def test_none_are_taken_in_over_a_path_that_drops_everything(loop: Loop) -> None:
    """The pop in hand has had no answer for too long; with one it counts again."""
    loop.state.start(loop)
    assert loop.turn(1.0)
    loop.task_consumer.channel._brpop_sent_at = loop.now_s
    assert not loop.turn(1.0 + FRESH_S + 0.1)
    loop.task_consumer.channel._brpop_sent_at = loop.now_s
    assert loop.turn(0.1)
    loop.task_consumer = None  # between two connections
    assert loop.turn(0.1)


@pytest.mark.parametrize("polls", [True, False])
def test_a_consumer_that_stops_takes_its_last_pop_back(loop: Loop, polls: bool) -> None:
    """Whether it had sent one or not, twice or never begun: it is closed, and its loop turns no more."""
    if not polls:
        loop.task_consumer.channel._in_poll = None
    loop.state.start(loop)
    assert loop.turn(1.0)
    for _ in range(2):
        loop.state.stop(loop)
        assert (is_closed(), is_consuming()) == (True, False)
    assert loop.cancelled == 1
    assert loop.disconnected == (2 if polls else 0)


def test_a_connection_that_comes_back_counts_anew(loop: Loop) -> None:
    """It has to hold for a while again."""
    loop.state.start(loop)
    assert loop.turn(1.0)
    loop.state.stop(loop)
    loop.entries.clear()
    loop.state.start(loop)
    assert not loop.turn(STEADY_S - 0.1)
    assert loop.turn(0.2)

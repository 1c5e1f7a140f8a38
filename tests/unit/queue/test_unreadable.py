"""Which errors are taken for a message's fault, and which end the consumer's loop as before."""

from __future__ import annotations

import logging
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from kombu.utils.json import loads

from neuraphage.queue.patched.unreadable import MAX_IN_A_ROW, guard

QUEUE = "np.run"


def guarded(deliver: Callable[[Any, str], None], read: Callable[[int], None] | None = None) -> Any:
    """A transport whose two places do this."""
    transport = SimpleNamespace(_deliver=deliver, channels=[])
    transport.cycle = SimpleNamespace(on_readable=read or (lambda raw: transport._deliver(loads(raw), QUEUE)))
    guard(transport)
    return transport


def raising(error: Exception) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("raw", [b"no JSON", b"\x80", b'{"__type__": "uuid", "__value__": "x"}'])
def test_what_is_no_json_is_dropped(raw: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is handed on, and the next message is read."""
    taken: list[object] = []
    transport = guarded(lambda message, _: taken.append(message))
    transport.cycle.on_readable(raw)
    transport.cycle.on_readable(b"[1]")
    assert taken == [[1]]
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


@pytest.mark.parametrize("error", [ConnectionError("gone"), RuntimeError("the pool is closed"), MemoryError()])
def test_errors_of_the_worker_are_not_the_messages(error: Exception) -> None:
    """They pass through both places, so that Celery reconnects or ends."""
    with pytest.raises(type(error)):
        guarded(raising(error)).cycle.on_readable(b"[1]")
    with pytest.raises(type(error)):
        guarded(lambda *_: None, raising(error)).cycle.on_readable(1)


def test_an_error_of_content_outside_of_reading_is_a_bug() -> None:
    """A closed connection makes redis-py trip over its own missing socket; that is no message."""
    with pytest.raises(AttributeError):
        guarded(lambda *_: None, raising(AttributeError("'NoneType' has no recv"))).cycle.on_readable(1)


def test_a_worker_that_can_use_no_message_ends() -> None:
    """A fault of its own would else drop every message there is; one good message among them shows that it is none."""
    broken = guarded(raising(TypeError("signature")))
    for _ in range(MAX_IN_A_ROW - 1):
        broken.cycle.on_readable(b"[1]")
    with pytest.raises(RuntimeError, match="in a row"):
        broken.cycle.on_readable(b"[1]")

    def picky(message: object, _: str) -> None:
        if message == [1]:
            raise TypeError

    well = guarded(picky)
    for number in range(3 * MAX_IN_A_ROW):
        well.cycle.on_readable(b"[1]" if number % MAX_IN_A_ROW else b"[2]")

"""Drops broker messages that cannot be read, where Celery would end the worker.

Changes: `_deliver` of one transport and `on_readable` of its poller, on the objects of one connection: where it hands
a message on, and where it reads one. Only errors about the content of a message are taken for it; a broken connection
or pool ends the consumer's loop as before.
Why: a turn's message is a hint that the sweep makes again, so what somebody else has put into a queue by mistake may be
dropped, and a worker is worth more.
Read against: Celery 5.7.0, kombu 5.7.0.
"""

from __future__ import annotations

import json
import logging
from types import TracebackType
from typing import Any

from celery import bootsteps
from celery.worker import state
from kombu.utils import json as _untyped

log = logging.getLogger(__name__)

_kombu_json: Any = _untyped
"""It carries no types."""
CONTENT_ERRORS = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading content of a wrong shape raises."""
MAX_IN_A_ROW = 100
"""So many that could be read and not handed on, and none that could, are a fault of this worker: it ends."""
SHOWN_BYTES = 16


class UnreadableStep(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery carries no types
    """Guards the consumer's connection, each time it is made."""

    requires = ("celery.worker.consumer.connection:Connection",)

    def start(self, parent: Any) -> None:
        """Guard the consumer's new connection."""
        guard(parent.connection.transport)


def guard(transport: Any) -> None:
    """Let a transport drop what cannot be read.

    Args:
        transport: kombu's Redis transport; changed in place, like Celery changes a channel's `can_consume`.
    """
    gate = _Gate(transport)
    transport._deliver, transport.cycle.on_readable = gate.deliver, gate.read


class _Gate:
    def __init__(self, transport: Any) -> None:
        self._transport = transport
        self._deliver, self._read = transport._deliver, transport.cycle.on_readable
        self._in_a_row = 0

    def read(self, fileno: int) -> None:
        """Read what has come over a connection, and hand it on."""
        try:
            self._read(fileno)
        except CONTENT_ERRORS as error:
            if not _was_raised_in_json(error.__traceback__):
                raise
            content = getattr(error, "doc", None)
            log.warning("a broker message that is no JSON was dropped: %s", _described(content))

    def deliver(self, message: Any, queue: str) -> None:
        """Hand a message on to who consumes its queue."""
        try:
            self._deliver(message, queue)
        except CONTENT_ERRORS as error:
            self._in_a_row += 1
            if self._in_a_row >= MAX_IN_A_ROW:
                raise RuntimeError(f"{MAX_IN_A_ROW} broker messages in a row could not be handed on") from error
            found = _described(_as_json(message))
            log.warning(
                "a message of %s that no worker can use was dropped (%s): %s", queue, type(error).__name__, found
            )
            self._forget(message)
        else:
            self._in_a_row = 0

    def _forget(self, message: Any) -> None:
        """Take back what was noted of the message before it failed: its slot, and that it waits for an end."""
        for request in [one for one in state.requests.values() if getattr(one.message, "_raw", None) is message]:
            state.task_ready(request)
        properties = message.get("properties") if isinstance(message, dict) else None
        tag = properties.get("delivery_tag") if isinstance(properties, dict) else None
        for channel in self._transport.channels:
            if isinstance(tag, str) and channel is not None and tag in channel.qos._delivered:
                channel.basic_reject(tag, requeue=False)


def _was_raised_in_json(trace: TracebackType | None) -> bool:
    """Whether an error comes from kombu's reading of JSON, and not from what was done with a message then."""
    reading = _kombu_json.loads.__code__
    while trace is not None and trace.tb_frame.f_code is not reading:
        trace = trace.tb_next
    return trace is not None


def _as_json(message: Any) -> str | None:
    try:
        return json.dumps(message, default=repr)
    except CONTENT_ERRORS:
        return None


def _described(content: str | None) -> str:
    """Size and beginning of a message. No more of it is logged: it may hold secrets."""
    if content is None:
        return "its size is not known"
    raw = content.encode("utf-8", "replace")
    return f"{len(raw)} bytes, beginning with {raw[:SHOWN_BYTES].hex(' ')}"

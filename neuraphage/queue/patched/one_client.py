"""Connections that only publish keep one Redis client; and how many messages wait in a queue.

Changes: `conn_or_acquire` of a channel, in a transport of its own that one connection is given.
Why: kombu makes a new client for every message, which is a fifth of the time of a publish. The connection below is
kombu's, and is made again as before. The number of messages is asked of the channel (`_size`), since kombu tells it
otherwise only by a passive declare, which leaves the prefix of our keys out.
Read against: kombu 5.7.0.
"""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache, cached_property
from typing import Any

from celery import Celery


class _OneClient:
    """Mixed into a channel that only publishes."""

    def conn_or_acquire(self, client: Any = None) -> Any:
        """See kombu.transport.redis.Channel."""
        return nullcontext(client or self._kept)

    @cached_property
    def _kept(self) -> Any:
        return self._create_client()  # type: ignore[attr-defined]  # of the channel that this is mixed into


@cache
def _one_client(transport: Any) -> Any:
    channel = type("OneClientChannel", (_OneClient, transport.Channel), {})
    return type("OneClientTransport", (transport,), {"Channel": channel})


def publishing_connection(app: Celery) -> Any:
    """A broker connection for one thread that sends many messages."""
    connection: Any = app.connection_for_write()
    connection.transport_cls = _one_client(connection.get_transport_cls())
    return connection


def queue_size(channel: Any, queue: str) -> int:
    """How many messages wait in a queue.

    Args:
        channel: of a connection to the broker.
        queue: its name.
    """
    size: int = channel._size(queue)
    return size

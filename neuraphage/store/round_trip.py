"""Commands over a connection that each thread keeps: the hot path of the store.

redis-py's client takes a connection from its pool and gives it back around every call, which costs more than the
call. Here each thread keeps its own, and several commands are one round trip. All that is sent this way may be
repeated (claim id, commit token, signal key), so a broken connection is answered by sending it again.

Relies on: a pool's `connection_class` and `connection_kwargs`, of a connection `connect`, `send_packed_command`,
`read_response` and `disconnect`, and `hiredis.pack_command`. See tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0, hiredis 3.5.0.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import hiredis
import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from neuraphage.store.client import RETRIES, RedisClient
from neuraphage.store.failover import is_read_only

Command = Sequence[Any]

_BROKEN = (redis.exceptions.ConnectionError, redis.exceptions.TimeoutError)


class RoundTrips:
    """Sends commands to the state server of one client.

    Args:
        client: names the server; its pool is not used.
        retries: how often commands are sent again.
    """

    def __init__(self, client: RedisClient, retries: int = RETRIES) -> None:
        self._client = client
        self._retries = retries
        self._mine = threading.local()

    def send(self, *commands: Command) -> list[Any]:
        """Send commands together and read every reply.

        Returns:
            One reply a command; where the server refused one, the error itself.

        Raises:
            redis.exceptions.RedisError: the server does not answer, or not after a few tries.
        """
        connection = self._connection()
        try:
            return _exchange(connection, commands)
        except _BROKEN:
            retry = Retry(ExponentialBackoff(cap=0.25, base=0.05), self._retries - 1)
            return retry.call_with_retry(lambda: _exchange(connection, commands), lambda _: connection.disconnect())

    def send_once(self, *commands: Command) -> list[Any]:
        """Send commands that are not worth a second try; else as `send`."""
        return _exchange(self._connection(), commands)

    def close(self) -> None:
        """Close the connection of this thread; those of others end with their threads."""
        if getattr(self._mine, "pid", None) == os.getpid():
            self._mine.connection.disconnect()

    def _connection(self) -> Any:
        """This thread's connection; another one after a fork."""
        mine = self._mine
        if getattr(mine, "pid", None) != os.getpid():
            pool = self._client.connection_pool
            mine.connection = pool.connection_class(**pool.connection_kwargs)
            mine.pid = os.getpid()
        return mine.connection


def _exchange(connection: Any, commands: Sequence[Command]) -> list[Any]:
    replies: list[Any] = []
    try:
        connection.connect()  # nothing when connected; behind Sentinels the only way that asks who the master is
        # redis-py's own packing looks at each argument in Python first; it costs more than the packing
        connection.send_packed_command([b"".join([hiredis.pack_command(tuple(command)) for command in commands])])
        for _ in commands:
            try:
                replies.append(connection.read_response())
            except redis.exceptions.ResponseError as refused:
                if is_read_only(refused):
                    raise  # the connection has been left, so no further reply comes
                replies.append(refused)
    except BaseException:
        connection.disconnect()  # a reply left unread would be taken for the next command's
        raise
    return replies

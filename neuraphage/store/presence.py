"""The named connection of a worker process: its presence, and its ear for nudges.

The kernel closes the socket when the process dies, however it dies, and CLIENT LIST shows that at once.
Opened after a fork and never shared: a socket that leaks into a child would keep a dead process present.
"""

from __future__ import annotations

import time

import redis

from neuraphage.store.client import SOCKET_TIMEOUT_S, connect, translated
from neuraphage.store.failover import GREETING, refuse_replica
from neuraphage.store.keys import Keys
from neuraphage.store.processes import connection_name


class NamedConnection:
    """Implements ports.Presence by one pub/sub connection that carries the process id as its name.

    Args:
        url: the state server.
        namespace: of the keys.
        process_id: random id of this process.
        timeout_s: longest wait for one reply, seconds; and how long the connection may owe an answer.
    """

    def __init__(self, url: str, namespace: str, process_id: str, timeout_s: float = SOCKET_TIMEOUT_S) -> None:
        name = connection_name(namespace, process_id)
        self._client = connect(url, client_name=name, socket_timeout_s=timeout_s)
        self._timeout_s = timeout_s
        self._asked_s: float | None = None
        self._channel = Keys(namespace).nudge
        self._pubsub: redis.client.PubSub | None = None
        self._closed = False

    def wait(self, timeout_s: float) -> bool:
        """See ports.Presence."""
        with translated("presence"):
            try:
                if self._pubsub is None:
                    self._pubsub = self._client.pubsub(ignore_subscribe_messages=True)
                    self._pubsub.subscribe(self._channel)
                # a replica keeps its listeners: this process would look absent to those who ask the new master
                refuse_replica(self._client, self._client.execute_command(GREETING))
                message = self._heard(self._pubsub, timeout_s)
            except redis.exceptions.RedisError:
                self._drop()
                raise
            except (ValueError, OSError, AttributeError, TypeError):
                # closed by another thread while it was being read: the client meets its own missing socket
                self._drop()
                if not self._closed:
                    raise
                return False
        return message

    def _heard(self, pubsub: redis.client.PubSub, timeout_s: float) -> bool:
        """Whether a nudge came.

        Listening alone never meets a path that drops everything in silence: the server would count this connection as
        gone after a while, and this process as absent. So it is asked for an answer at each wait.

        Raises:
            redis.exceptions.TimeoutError: it owes one for too long.
        """
        if self._asked_s is None:
            pubsub.ping()
            self._asked_s = time.monotonic()
        message = pubsub.get_message(timeout=timeout_s)
        if message is not None and message["type"] == "pong":
            self._asked_s = None
            message = pubsub.get_message(timeout=timeout_s)
        elif message is None and time.monotonic() - self._asked_s > self._timeout_s:
            raise redis.exceptions.TimeoutError("the connection that shows this process answers no more")
        return message is not None

    def close(self) -> None:
        """See ports.Presence."""
        self._closed = True
        self._drop()
        self._client.close()

    def _drop(self) -> None:
        pubsub, self._pubsub, self._asked_s = self._pubsub, None, None
        if pubsub is not None:
            try:
                pubsub.close()
            except (redis.exceptions.RedisError, OSError):
                return

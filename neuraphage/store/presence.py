"""The named connection of a worker process: its presence, and its ear for nudges.

The kernel closes the socket when the process dies, however it dies, and CLIENT LIST shows that at once.
Opened after a fork and never shared: a socket that leaks into a child would keep a dead process present.
"""

from __future__ import annotations

import redis

from neuraphage.store.client import connect, translated
from neuraphage.store.failover import GREETING, refuse_replica
from neuraphage.store.keys import Keys
from neuraphage.store.processes import connection_name


class NamedConnection:
    """Implements ports.Presence by one pub/sub connection that carries the process id as its name.

    Args:
        url: the state server.
        namespace: of the keys.
        process_id: random id of this process.
    """

    def __init__(self, url: str, namespace: str, process_id: str) -> None:
        self._client = connect(url, client_name=connection_name(namespace, process_id))
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
                message = self._pubsub.get_message(timeout=timeout_s)
            except redis.exceptions.RedisError:
                self._drop()
                raise
            except (ValueError, OSError, AttributeError, TypeError):
                # closed by another thread while it was being read: the client meets its own missing socket
                self._drop()
                if not self._closed:
                    raise
                return False
        return message is not None

    def close(self) -> None:
        """See ports.Presence."""
        self._closed = True
        self._drop()
        self._client.close()

    def _drop(self) -> None:
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            try:
                pubsub.close()
            except (redis.exceptions.RedisError, OSError):
                return

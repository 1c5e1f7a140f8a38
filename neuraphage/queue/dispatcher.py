"""The publishing of wake-up hints: see celery_config for what a message is, turn_message for how it is written."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from redis.exceptions import RedisError

from neuraphage.queue.names import RUN_QUEUE, key_prefix
from neuraphage.queue.turn_message import turn_message

log = logging.getLogger(__name__)

_AWAY = (OSError, RedisError)

STILL_WAITS_S = 0.1
"""Where a message waited, one is taken to wait for so long: in a crowd each turn would ask, for the same answer."""


class BrokerServer(Protocol):
    """One server of the broker."""

    def send(self, *commands: Sequence[Any]) -> list[Any]:
        """Send commands together; one reply each, the error itself where the server refused one.

        Raises:
            RedisError, OSError: it does not answer.
        """

    def close(self) -> None:
        """Close the connections."""


class QueueDispatcher:
    """Implements ports.TurnDispatcher on the lists of kombu's Redis transport.

    Args:
        servers: those of the broker; of several the one that answered last is asked first.
        namespace: of the queue.
        now_s: a clock that never goes back, seconds.
    """

    def __init__(
        self, servers: Sequence[BrokerServer], namespace: str, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        if not servers:
            raise ValueError("a queue without a server: name at least one")
        self._servers = servers
        self._at = 0
        self._queue = key_prefix(namespace) + RUN_QUEUE
        self._now_s = now_s
        self._waits_until_s = float("-inf")

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """See ports.Dispatcher."""
        try:
            self._ask("LPUSH", turn_message(task_id, iteration, seq, after))
        except _AWAY as error:
            log.warning(
                "publish refused (%s: %s); the sweep publishes later",
                type(error).__name__,
                error,
                extra={"task": task_id},
            )
            return False
        return True

    def has_waiting(self) -> bool:
        """See ports.TurnDispatcher."""
        if self._now_s() < self._waits_until_s:
            return True
        length = self.queue_length()
        if length:
            self._waits_until_s = self._now_s() + STILL_WAITS_S
        return length is None or length > 0

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        try:
            return int(self._ask("LLEN"))
        except _AWAY:
            return None

    def close(self) -> None:
        """Close the connections."""
        for server in self._servers:
            server.close()

    def _ask(self, command: str, *words: bytes) -> Any:
        """One command about the queue.

        Raises:
            RedisError, OSError: no server carries it out; the error is that of the last one asked.
        """
        asked = self._at
        for step in range(len(self._servers)):
            turn = (asked + step) % len(self._servers)
            try:
                [answer] = self._servers[turn].send((command, self._queue, *words))
                if isinstance(answer, RedisError):
                    raise answer
            except _AWAY:
                if step == len(self._servers) - 1:
                    raise
            else:
                self._at = turn
                return answer
        raise AssertionError("there is at least one server")

"""The publishing of wake-up hints: see celery_config for what a message is."""

from __future__ import annotations

import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

import kombu
import kombu.exceptions
from celery import Celery
from redis.exceptions import RedisError

from neuraphage.queue.celery_config import RUN_QUEUE, RUN_TURN
from neuraphage.queue.patched.one_client import publishing_connection, queue_size

log = logging.getLogger(__name__)

_kombu: Any = kombu
"""Its classes carry no types."""

BROKER_DOWN = (OSError, kombu.exceptions.OperationalError, kombu.exceptions.KombuError, RedisError)
"""What is raised when the broker is away or refuses: redis-py's own errors where a channel is asked directly."""


_MESSAGE_ID = re.compile(r"(\S+)\.(\d{1,15})\.\d{1,15}\.[0-9a-f]{4}")
STILL_WAITS_S = 0.1
"""Where a message waited, one is taken to wait for so long: in a crowd each turn would ask, for the same answer."""


def message_id(task_id: str, iteration: int, seq: int) -> str:
    """A new id for the message of a turn: one that is sent again hides no other's outcome."""
    return f"{task_id}.{iteration}.{seq}.{secrets.token_hex(2)}"


def turn_of(message_id: str) -> tuple[str, int] | None:
    """The task and the iteration that a message is about, by its id; None for any other message."""
    found = _MESSAGE_ID.fullmatch(message_id)
    return None if found is None else (found[1], int(found[2]))


class CeleryDispatcher:
    """Implements ports.TurnDispatcher by a Celery app.

    Args:
        app: with the configuration of `celery_settings`.
        now_s: a clock that never goes back, seconds.
    """

    _RETRY = {"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.4}  # noqa: RUF012 - read only

    def __init__(self, app: Celery, now_s: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._now_s = now_s
        self._waits_until_s = float("-inf")
        self._mine = threading.local()

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """See ports.Dispatcher."""
        args = (task_id, iteration, seq)
        # Celery's own message, but without its router, its signals and its careful repr of arguments that are known
        message = self._app.amqp.create_task_message(
            message_id(task_id, iteration, seq),
            RUN_TURN,
            args,
            {},
            # a list in Flower shows the first 40 characters
            argsrepr=f"turn {iteration + 1}{after and f' after {after}'}, {task_id}",
            kwargsrepr="{}",
            ignore_result=True,
        )
        try:
            self._producer().publish(
                message.body,
                exchange="",
                routing_key=RUN_QUEUE,
                serializer="json",
                headers=message.headers,
                retry=True,
                retry_policy=self._RETRY,
                **message.properties,
            )
        except BROKER_DOWN as error:
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
        try:
            waits = queue_size(self._producer().channel, RUN_QUEUE) > 0
        except BROKER_DOWN:
            return True  # the next publication makes the connection anew
        if waits:
            self._waits_until_s = self._now_s() + STILL_WAITS_S
        return waits

    def _producer(self) -> Any:
        """A producer with a connection of its own, one a thread; made again after a fork."""
        mine = self._mine
        if getattr(mine, "pid", None) != os.getpid():
            mine.producer = _kombu.Producer(publishing_connection(self._app))
            mine.pid = os.getpid()
        return mine.producer

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        try:
            with self._app.connection_for_write() as connection:
                return queue_size(connection.default_channel, RUN_QUEUE)
        except BROKER_DOWN:
            return None

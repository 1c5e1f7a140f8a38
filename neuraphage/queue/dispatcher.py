"""The publishing of wake-up hints: see celery_config for what a message is."""

from __future__ import annotations

import logging
import os
import secrets
import threading
from contextlib import nullcontext
from functools import cache, cached_property
from typing import Any

import kombu
import kombu.exceptions
from celery import Celery

from neuraphage.queue.celery_config import RUN_QUEUE, RUN_TURN

log = logging.getLogger(__name__)

_kombu: Any = kombu
"""Its classes carry no types."""

BROKER_DOWN = (OSError, kombu.exceptions.OperationalError, kombu.exceptions.KombuError)
"""What a publish raises when the broker is away or refuses; redis errors reach us as OperationalError."""


class _OneClient:
    """Mixed into a channel that only publishes: one Redis client, where kombu makes a new one for every message.

    Making it is a fifth of the time of a publish. The connection below is kombu's, and is made again as before.
    """

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


def _publishing_connection(app: Celery) -> Any:
    """A broker connection for one thread that sends many messages."""
    connection: Any = app.connection_for_write()
    connection.transport_cls = _one_client(connection.get_transport_cls())
    return connection


class CeleryDispatcher:
    """Implements ports.Dispatcher by a Celery app.

    Args:
        app: with the configuration of `celery_settings`.
    """

    _RETRY = {"max_retries": 2, "interval_start": 0, "interval_step": 0.2, "interval_max": 0.4}  # noqa: RUF012 - read only

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._mine = threading.local()

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        """See ports.Dispatcher."""
        args = (task_id, iteration, seq)
        # Celery's own message, but without its router, its signals and its careful repr of arguments that are known
        message = self._app.amqp.create_task_message(
            f"{task_id}.{iteration}.{seq}.{secrets.token_hex(2)}",  # a message sent again hides no other's outcome
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
        """See ports.Dispatcher."""
        try:
            size: int = self._producer().channel._size(RUN_QUEUE)
        except BROKER_DOWN:
            return True  # the next publication makes the connection anew
        return size > 0

    def _producer(self) -> Any:
        """A producer with a connection of its own, one a thread; made again after a fork."""
        mine = self._mine
        if getattr(mine, "pid", None) != os.getpid():
            mine.producer = _kombu.Producer(_publishing_connection(self._app))
            mine.pid = os.getpid()
        return mine.producer

    def queue_length(self) -> int | None:
        """See ports.Dispatcher."""
        try:
            with self._app.connection_for_write() as connection:
                channel = connection.default_channel
                size: int = channel._size(RUN_QUEUE)
                return size
        except BROKER_DOWN:
            return None

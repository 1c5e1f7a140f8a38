"""Celery: the app and its configuration, and the publishing of wake-up hints.

A message is a hint with ids, never the truth: the Redis transport loses and doubles messages under kills.
So: no acknowledgement of turns (what is lost the sweep publishes again), no prefetch, no results, no countdown,
no ETA, no retry.
"""

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
import kombu.transport
from celery import Celery

from neuraphage.decide.server_url import broker_address
from neuraphage.settings import Settings

log = logging.getLogger(__name__)

_kombu: Any = kombu
"""Its classes carry no types."""

RUN_TURN = "neuraphage.run_turn"
SWEEP = "neuraphage.sweep"
START_TASK = "neuraphage.start_task"
RESUME_TASK = "neuraphage.resume_task"
CHECKPOINT_TASK = "neuraphage.checkpoint_task"
RECOVERY_REPORT = "neuraphage.recovery_report"
RUN_QUEUE = "np.run"
CONTROL_QUEUE = "np.control"

BROKER_DOWN = (OSError, kombu.exceptions.OperationalError, kombu.exceptions.KombuError)
"""What a publish raises when the broker is away or refuses; redis errors reach us as OperationalError."""


def celery_settings(settings: Settings) -> dict[str, Any]:
    """Celery's configuration. The reason of each value is beside it; the measurements are in ARCHITECTURE.md."""
    broker = broker_address(settings.broker_url.get_secret_value())
    return {
        "broker_url": broker.url,
        **({} if broker.tls is None else {"broker_use_ssl": dict(broker.tls)}),
        "task_acks_late": False,  # the lease carries the duty, not the message
        "worker_disable_prefetch": True,  # fetch only when a slot is free: nothing sits unacknowledged
        "worker_prefetch_multiplier": 1,  # the cap should disable_prefetch be off
        "worker_cancel_long_running_tasks_on_connection_loss": False,  # a blip must not kill paid calls
        "worker_eta_task_limit": 100,  # a guard; we never send an ETA
        "task_ignore_result": True,
        "accept_content": ["json"],
        "task_serializer": "json",
        "task_routes": {
            RUN_TURN: {"queue": RUN_QUEUE},
            **{
                name: {"queue": CONTROL_QUEUE}
                for name in (SWEEP, START_TASK, RESUME_TASK, CHECKPOINT_TASK, RECOVERY_REPORT)
            },
        },
        # a turn's message is never acknowledged: that would be three more synced writes a turn on the broker, to keep
        # a message that the outbox makes again anyway, and only after visibility_timeout
        "task_queues": [
            _kombu.Queue(RUN_QUEUE, _kombu.Exchange(RUN_QUEUE), routing_key=RUN_QUEUE, no_ack=True),
            _kombu.Queue(CONTROL_QUEUE, _kombu.Exchange(CONTROL_QUEUE), routing_key=CONTROL_QUEUE),
        ],
        "task_default_queue": RUN_QUEUE,
        "task_create_missing_queues": False,  # a mistyped -Q is refused, where it would wait for ever
        "broker_transport_options": {
            "visibility_timeout": 7_200,  # irrelevant with early acknowledgement; above every effect all the same
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 30,  # a publish on a dead path must not wait for ever
            "socket_connect_timeout": 5,
            "socket_keepalive": True,
            "health_check_interval": 10,
            "global_keyprefix": f"np:{{{settings.namespace}}}:broker:",
            **broker.transport_options,
        },
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,  # the default gives up after 100 tries
        "broker_channel_error_retry": True,  # OOM and READONLY are channel errors: without it the worker dies
        "broker_pool_acquire_timeout": 10,
        "worker_proc_alive_timeout": 30,  # a child of a busy machine may start slowly; Celery kills it after 4 s
        "worker_soft_shutdown_timeout": 20,
        "worker_send_task_events": False,  # costs a quarter of the throughput; `-E` turns it on for Flower
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_enable_remote_control": True,
        "beat_schedule": {
            "sweep": {
                "task": SWEEP,
                "schedule": settings.sweep_s,
                "options": {"expires": settings.sweep_s, "queue": CONTROL_QUEUE},  # no pile-up while workers are down
            }
        },
    }


class _App(Celery):  # type: ignore[misc]  # Celery carries no types
    """Our app, whatever the CELERY_* variables say: another project of the same shell or process may have set them.

    Celery puts CELERY_BROKER_URL (which `celery -b` sets too) and CELERY_RESULT_BACKEND before the configuration: our
    messages would go to a stranger's broker.
    """

    backend_cls = "disabled"

    def connection(self, hostname: str | None = None, *args: Any, **options: Any) -> Any:
        """See Celery."""
        return super().connection(hostname or self.conf["broker_url"], *args, **options)

    def connection_for_read(self, url: str | None = None, **options: Any) -> Any:
        """See Celery."""
        return super().connection_for_read(url or self.conf["broker_url"], **options)

    def connection_for_write(self, url: str | None = None, **options: Any) -> Any:
        """See Celery."""
        return super().connection_for_write(url or self.conf["broker_url"], **options)


def make_app(settings: Settings) -> Celery:
    """The Celery app of these settings; makes no connection."""
    kombu.transport.TRANSPORT_ALIASES["rediss"] = "neuraphage.broker_tls:Transport"  # refuses a plain port at once
    app = _App("neuraphage")
    app.conf.update(celery_settings(settings))
    return app


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
            argsrepr=f"turn {iteration}{after and f' after {after}'}, {task_id}",
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
                "publish refused (%s); the sweep publishes later", type(error).__name__, extra={"task": task_id}
            )
            return False
        return True

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

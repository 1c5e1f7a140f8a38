"""Celery's configuration.

A message is a hint with ids, never the truth: the Redis transport loses and doubles messages under kills.
So: no acknowledgement of turns (what is lost the sweep publishes again), no prefetch, no results, no countdown,
no ETA, no retry.
"""

from __future__ import annotations

from typing import Any

import kombu

from neuraphage.decide.server_url import broker_address
from neuraphage.queue.names import (
    CHECKPOINT_TASK,
    CONTROL_QUEUE,
    OBSERVE,
    RECOVERY_REPORT,
    RESUME_TASK,
    RUN_QUEUE,
    RUN_TURN,
    START_TASK,
    SWEEP,
    key_prefix,
)
from neuraphage.setting_relations import overdue_look_s
from neuraphage.settings import Settings

_kombu: Any = kombu
"""Its classes carry no types."""


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
                for name in (SWEEP, OBSERVE, START_TASK, RESUME_TASK, CHECKPOINT_TASK, RECOVERY_REPORT)
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
            # a path that drops everything in silence: what is sent or asked for on it gives up after this, and a pop
            # that the server should have answered (after a second at most) is left after two thirds of it more
            "socket_timeout": settings.broker_timeout_s,
            "socket_connect_timeout": settings.broker_timeout_s,
            "socket_keepalive": True,
            "health_check_interval": overdue_look_s(settings.broker_timeout_s),
            "global_keyprefix": key_prefix(settings.namespace),
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

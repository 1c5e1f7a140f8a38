"""The Celery app of neuraphage."""

from __future__ import annotations

import kombu.exceptions
from celery import Celery
from redis.exceptions import RedisError

from neuraphage.queue.celery_config import celery_settings
from neuraphage.queue.patched.app import App
from neuraphage.settings import Settings

BROKER_DOWN = (OSError, kombu.exceptions.OperationalError, kombu.exceptions.KombuError, RedisError)
"""What a connection of Celery raises when the broker is away or refuses: redis-py's own errors where a channel is asked
directly."""


def make_app(settings: Settings) -> Celery:
    """The Celery app of these settings; makes no connection."""
    app = App("neuraphage")
    app.conf.update(celery_settings(settings))
    return app

"""The Celery app of neuraphage."""

from __future__ import annotations

from celery import Celery

from neuraphage.queue.celery_config import celery_settings
from neuraphage.queue.patched.app import App
from neuraphage.settings import Settings


def make_app(settings: Settings) -> Celery:
    """The Celery app of these settings; makes no connection."""
    app = App("neuraphage")
    app.conf.update(celery_settings(settings))
    return app

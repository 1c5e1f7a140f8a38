"""The app that `celery -A workers.app ...` loads; `neuraphage.worker.app` makes it."""

from neuraphage.worker.app import app

__all__ = ["app"]

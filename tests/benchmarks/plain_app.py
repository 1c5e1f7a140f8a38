"""The real worker app, untouched but for the file that says it is ready."""

from __future__ import annotations

from celery import signals

from tests.benchmarks.workload import mark_ready
from workers.app import app

signals.worker_ready.connect(mark_ready)

__all__ = ["app"]

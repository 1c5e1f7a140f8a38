"""Celery: the app, its configuration, and the publishing of turns."""

from neuraphage.queue.app import make_app
from neuraphage.queue.celery_config import (
    CHECKPOINT_TASK,
    CONTROL_QUEUE,
    RECOVERY_REPORT,
    RESUME_TASK,
    RUN_QUEUE,
    RUN_TURN,
    START_TASK,
    SWEEP,
    celery_settings,
)
from neuraphage.queue.dispatcher import BROKER_DOWN, CeleryDispatcher, turn_of

__all__ = [
    "BROKER_DOWN",
    "CHECKPOINT_TASK",
    "CONTROL_QUEUE",
    "RECOVERY_REPORT",
    "RESUME_TASK",
    "RUN_QUEUE",
    "RUN_TURN",
    "START_TASK",
    "SWEEP",
    "CeleryDispatcher",
    "celery_settings",
    "make_app",
    "turn_of",
]

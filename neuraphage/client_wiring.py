"""Builds what clients and commands need. It imports neither Celery nor tools: a command is to begin at once."""

from __future__ import annotations

import os
import secrets
import uuid
from typing import TYPE_CHECKING

from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.decide.redaction import Redactor
    from neuraphage.store.client import RedisClient
    from neuraphage.store.tasks import RedisStore

API_KEY_VARIABLE = "ANTHROPIC_API_KEY"


def redactor() -> Redactor:
    """Takes out known token shapes and the secrets of this process's own environment."""
    from neuraphage.decide.redaction import Redactor  # noqa: PLC0415 - see Connections: a read needs none
    from neuraphage.decide.redaction_environment import secrets_in  # noqa: PLC0415 - as above

    return Redactor(secrets=secrets_in(os.environ))


def build_store(settings: Settings, client: RedisClient | None = None) -> RedisStore:
    """The store of these settings; connects when first used.

    Args:
        settings: of the namespace.
        client: of the state server, where there is one already.
    """
    from neuraphage.store.tasks import RedisStore  # noqa: PLC0415 - see Connections: most reads need no scripts

    return RedisStore(settings, SystemClock(), client)


def new_task_id() -> str:
    """A time-ordered id: `task-` and a UUID v7 (R23, K14)."""
    stamp = SystemClock().wall_ms()
    value = (stamp << 80) | secrets.randbits(80)
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return f"task-{uuid.UUID(int=value)}"

"""The task of one time of a schedule. Pure: the same time always gives the same task."""

from __future__ import annotations

import hashlib
import uuid
from zoneinfo import ZoneInfo

from neuraphage.decide.cron import next_time_ms, read_cron
from neuraphage.errors import BadInput
from neuraphage.model.schedule import TAG, ScheduleDefinition
from neuraphage.model.task import TaskSpec


def zone_of(name: str) -> ZoneInfo:
    """The zone of this name. What the system knows of zones is read as other constants are.

    Raises:
        BadInput: this machine knows none.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise BadInput(
            f"this machine knows no zone {name!r}; give one as Europe/Vienna, America/New_York or UTC"
        ) from None


def next_of(definition: ScheduleDefinition, after_ms: int) -> int:
    """The schedule's first time after another one.

    Raises:
        BadInput: the expression or the zone is none.
    """
    return next_time_ms(read_cron(definition.cron), zone_of(definition.zone), after_ms)


def occurrence_id(namespace: str, definition: ScheduleDefinition, due_ms: int) -> str:
    """The id of the task of one time: ordered by time as all are, and made of what names the time."""
    named = f"{namespace}\n{definition.name}\n{definition.created_at_ms}\n{due_ms}"
    rest = int.from_bytes(hashlib.sha256(named.encode()).digest()[:10], "big")
    value = (due_ms << 80) | rest
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    return f"task-{uuid.UUID(int=value)}"


def occurrence(namespace: str, definition: ScheduleDefinition, due_ms: int) -> TaskSpec:
    """The task of one time of a schedule."""
    spec = definition.spec
    own = {
        "task_id": occurrence_id(namespace, definition, due_ms),
        "tags": (*spec.tags, TAG + definition.name),
        "created_at_ms": due_ms,
    }
    return spec.model_copy(update=own)

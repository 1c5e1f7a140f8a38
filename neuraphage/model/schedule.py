"""Schedules: tasks that are made again and again, at times of an expression of cron."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from neuraphage.model.base import SCHEMA_VERSION, Frozen
from neuraphage.model.task import TaskSpec

MOST_SCHEDULES = 1_000
"""Of one namespace: each sweep looks at all of them."""
TAG = "schedule:"
"""The tag of a schedule's tasks is this and its name."""


class Overlap(StrEnum):
    """What happens at a time of a schedule whose last task is not over."""

    SKIP = "skip"
    """Nothing."""
    QUEUE = "queue"
    """A task is made that waits for the end of the last one; one at most waits, at further times nothing happens."""


class ScheduleChange(StrEnum):
    """What is done to a schedule."""

    ADD = "add"
    PAUSE = "pause"
    RESUME = "resume"
    REMOVE = "remove"


class ScheduleVerdict(StrEnum):
    """Answers of the script that changes schedules."""

    ACCEPTED = "ACCEPTED"
    EXISTS = "EXISTS"
    """There is one of that name. Nothing changed."""
    NOT_FOUND = "NOT_FOUND"
    TOO_MANY = "TOO_MANY"
    """There are as many as may be. Nothing changed."""


class ScheduleDefinition(Frozen):
    """What a schedule was made of; never changes.

    Args:
        name: its name, unique in the namespace.
        cron: the expression.
        zone: name of the zone whose clocks it goes by.
        overlap: see Overlap.
        spec: what its tasks are made of; their ids and times are their own.
        created_at_ms: when it was made.
        schema_version: version of this shape.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
    cron: str
    zone: str
    overlap: Overlap = Overlap.SKIP
    spec: TaskSpec
    created_at_ms: int
    schema_version: int = SCHEMA_VERSION


class ScheduleState(Frozen):
    """Where a schedule stands.

    Args:
        next_ms: its next time.
        paused: whether a person has paused it; its times are passed by.
        last_task, last_ms: its last task, and the time for which that was made.
        made, skipped: how many tasks it has made, and times at which it made none since the last was not over.
    """

    next_ms: int
    paused: bool = False
    last_task: str | None = None
    last_ms: int | None = None
    made: int = 0
    skipped: int = 0


class Schedule(Frozen):
    """A schedule as stored.

    Args:
        definition: what it was made of.
        state: where it stands.
    """

    definition: ScheduleDefinition
    state: ScheduleState

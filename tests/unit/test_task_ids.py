"""Ids of tasks: UUID v7, so that they sort by time and never meet."""

from __future__ import annotations

import uuid

from neuraphage.client_wiring import new_task_id
from neuraphage.model.task import TaskSpec
from neuraphage.runtime.clock import SystemClock


def test_an_id_is_a_uuid_of_version_7_with_its_time_in_front() -> None:
    """Version and variant of RFC 9562, and the first 48 bits are the milliseconds at which it was made."""
    clock = SystemClock()
    for _ in range(200):
        before_ms = clock.wall_ms()
        task_id = new_task_id()
        after_ms = clock.wall_ms()
        value = uuid.UUID(task_id.removeprefix("task-"))
        assert (value.version, value.variant) == (7, uuid.RFC_4122)
        assert before_ms <= value.int >> 80 <= after_ms
        assert TaskSpec(task_id=task_id, name="n", prompt="p", model="m").task_id == task_id


def test_ids_of_one_instant_differ() -> None:
    """74 bits of each are random."""
    assert len({new_task_id() for _ in range(1_000)}) == 1_000

"""A stored spec is read back as it was, and does not carry what is empty."""

from __future__ import annotations

import orjson

from neuraphage.model.task import TaskSpec
from neuraphage.store.encode import spec_bytes

TASK_ID = "task-01a220a9-4c79-72fe-8a77-d4e6cfe83daa"
PLAIN = TaskSpec(task_id=TASK_ID, name="A task", prompt="Do it.", model="m")
FULL = PLAIN.model_copy(
    update={"system": "Be brief.", "allow": ("*",), "tags": ("a", "b"), "blocked_by": (TASK_ID,), "priority": 0}
)


def test_a_spec_is_read_back_as_it_was() -> None:
    """The shortest one and one with everything that may be empty."""
    for spec in (PLAIN, FULL):
        assert TaskSpec.model_validate_json(spec_bytes(spec)) == spec


def test_what_is_empty_is_not_stored_and_what_is_a_default_is() -> None:
    """A limit left at its default must not change under a stored task when a later release has another default."""
    stored = orjson.loads(spec_bytes(PLAIN))
    assert not {"system", "allow", "tags", "blocked_by", "working_dir"} & set(stored)
    assert stored["max_tokens"] == 16_384
    assert stored["limits"] == {"max_turns": 50, "max_cost_microusd": 10_000_000}
    assert stored["priority"] == 2

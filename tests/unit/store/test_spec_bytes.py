"""A stored spec is read back as it was, and does not carry what is empty."""

from __future__ import annotations

import orjson

from neuraphage.model.dependency import Dependency
from neuraphage.model.limits import Limits
from neuraphage.model.subtask import OnParentEnd
from neuraphage.model.task import Mode, OnUnknownOutcome, TaskSpec
from neuraphage.store.encode import spec_bytes

TASK_ID = "task-01a220a9-4c79-72fe-8a77-d4e6cfe83daa"
PLAIN = TaskSpec(task_id=TASK_ID, name="A task", prompt="Do it.", model="m")
FULL = TaskSpec(
    task_id=TASK_ID,
    name="A task",
    prompt="Do it.",
    model="m",
    max_tokens=1,
    working_dir="/w",
    system="Be brief.",
    allow=("*",),
    mode=Mode.CONVERSATIONAL,
    on_unknown_outcome=OnUnknownOutcome.ASK_USER,
    limits=Limits(max_turns=0, max_cost_microusd=0),
    priority=0,
    parent_id=TASK_ID,
    depth=1,
    on_parent_end=OnParentEnd.ORPHAN,
    blocked_by=(Dependency(task_id=TASK_ID),),
    tags=("a", "b"),
    labels={"team": "web"},
    worktree="/w/.worktrees/x",
    permission_timeout_s=300.0,
    created_at_ms=1,
    starts_at_ms=2,
    tier="worker",
    fallbacks=("n",),
    extra={"top_k": 1},
)


def test_a_spec_is_read_back_as_it_was() -> None:
    """The shortest one and one with every field of its own, those included that nothing acts on yet."""
    assert {name for name in TaskSpec.model_fields if getattr(FULL, name) == getattr(PLAIN, name)} == {
        "task_id", "name", "prompt", "model", "schema_version",
    }  # fmt: skip
    for spec in (PLAIN, FULL):
        assert TaskSpec.model_validate_json(spec_bytes(spec)) == spec


def test_what_is_empty_is_not_stored_and_what_is_a_default_is() -> None:
    """A limit left at its default must not change under a stored task when a later release has another default."""
    stored = orjson.loads(spec_bytes(PLAIN))
    assert not {"system", "allow", "tags", "blocked_by", "working_dir"} & set(stored)
    assert stored["max_tokens"] == 16_384
    assert stored["limits"] == {"max_turns": 50, "max_cost_microusd": 10_000_000}
    assert stored["priority"] == 2

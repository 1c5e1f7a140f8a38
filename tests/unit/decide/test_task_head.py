"""What a request holds before its messages, word for word."""

from __future__ import annotations

from neuraphage.decide.request_head import (
    SYSTEM_TEXT,
    head_of,
    short_hash,
    system_blocks,
    system_head,
    tool_definitions,
)
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import TaskSpec
from neuraphage.model.tool import ToolDeclaration

ID = "task-00000000-0000-7000-8000-000000000001"
SPEC = TaskSpec(task_id=ID, name="Repair it", prompt="Repair the shop.", model="m")


def test_what_tasks_have_in_common_comes_first() -> None:
    """Then what the task works in: all of it facts that never change of a task."""
    full = SPEC.model_copy(
        update={
            "system": "Be brief.",
            "working_dir": "/srv/shop",
            "tags": ("shop", "night"),
            "parent_id": ID.replace("1", "2"),
            "created_at_ms": 1_796_068_524_602,
        }
    )
    assert system_blocks(full) == [
        {"type": "text", "text": f"{SYSTEM_TEXT}\n\nBe brief."},
        {
            "type": "text",
            "text": f"Task: Repair it ({ID})\n"
            "Parent task: task-00000000-0000-7000-8000-000000000002\n"
            "Labels: shop, night\n"
            "Working directory: /srv/shop\n"
            "Begun on: Monday, 2026-11-30 (UTC)",
        },
    ]
    assert system_blocks(SPEC)[1]["text"] == f"Task: Repair it ({ID})\nWorking directory: none"


def test_the_tools_are_told_in_their_order() -> None:
    """Name, description and schema, and nothing of what only policy needs."""
    one = ToolDeclaration(
        name="act", description="Acts.", input_schema={"type": "object"}, effect_class=EffectClass.PURE,
        side_effecting=False, timeout_s=1.0,
    )  # fmt: skip
    told = tool_definitions([one.model_copy(update={"name": "b"}), one])
    assert [tool["name"] for tool in told] == ["b", "act"]
    assert told[1] == {"name": "act", "description": "Acts.", "input_schema": {"type": "object"}}


def test_a_head_tells_what_of_it_has_changed() -> None:
    """Three short hashes, of which each stands for itself."""
    parts = [
        head_of("m", system_head(SPEC).digest, short_hash([])),
        head_of("n", system_head(SPEC).digest, short_hash([1])),
    ]
    (model, system, tools), (other, same, others) = (part.split(".") for part in parts)
    assert system == same
    assert (model != other, tools != others) == (True, True)

"""What a call must hold follows from its tool's declaration."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.lock_needs import CallPlaces, lock_needs, waited_too_long
from neuraphage.model.effect import EffectClass
from neuraphage.model.lock import LockState, TaskLocks
from neuraphage.model.tool import ToolDeclaration
from neuraphage.model.tool_traits import ResultView, ToolTraits

PLACES = CallPlaces("/r/sub", ("/r",), "/r/.git", lambda path: f"/r/sub/{path}")
AROUND = {"workspace:/r": "shared", "workspace:/r/sub": "shared"}
COMMAND = ToolTraits(command="line")


def needs(traits: ToolTraits, *, changes: bool = True, **params: Any) -> dict[str, str]:
    tool = ToolDeclaration(
        name="t", description="d", input_schema={}, effect_class=EffectClass.OPAQUE, side_effecting=changes,
        timeout_s=1.0, traits=traits,
    )  # fmt: skip
    found = lock_needs(tool, params, PLACES)
    assert [need.resource for need in found] == sorted(need.resource for need in found)
    return {need.resource: need.mode.value for need in found}


@pytest.mark.parametrize(
    ("traits", "params", "wanted"),
    [
        (ToolTraits(), {"path": "a"}, {}),
        (ToolTraits(reads=("path",)), {"path": "a"}, {"file:/r/sub/a": "shared"}),
        (ToolTraits(reads=("path",), within="path"), {"path": "a"}, {}),
        (ToolTraits(reads=("path",), result=ResultView.ENTRIES), {"path": "a"}, {}),
        (ToolTraits(writes=("path",)), {"path": "a"}, {"file:/r/sub/a": "exclusive", **AROUND}),
        (ToolTraits(reads=("path",), writes=("path",)), {"path": "a"}, {"file:/r/sub/a": "exclusive", **AROUND}),
        (ToolTraits(writes=("path",)), {"path": 5}, {}),
        (COMMAND, {"line": "make"}, {**AROUND, "workspace:/r/sub": "exclusive"}),
        (ToolTraits(changes_repository=True), {}, {"repository:/r/.git": "exclusive"}),
        (ToolTraits(hosts=("url",)), {"url": "https://Api.example:8443/x"}, {"host:api.example": "exclusive"}),
        (ToolTraits(hosts=("url",)), {"url": "api.example"}, {"host:api.example": "exclusive"}),
        (ToolTraits(hosts=("url",)), {"url": "http://["}, {}),
    ],
    ids=str,
)
def test_needs_follow_from_the_declaration(traits: ToolTraits, params: dict[str, Any], wanted: dict[str, str]) -> None:
    """Files by what is read and written, directories by commands and writes, and what a tool declares beside."""
    assert needs(traits, **params) == wanted


def test_a_command_that_changes_nothing_shares_its_directory() -> None:
    """By its tool's declaration; commands of other tasks that change something still wait for it."""
    assert needs(COMMAND, changes=False, line="ls") == AROUND


def test_only_the_call_that_waited_too_long_is_told_so() -> None:
    """By its id; who holds the lock is named."""
    late = TaskLocks(
        state=LockState.LATE, call="a", since_ms=0, due_ms=60_000, resource="file:/x", holder_task="task-9"
    )
    result = waited_too_long(late, "a")
    assert result is not None
    assert result.is_error
    assert all(part in result.text for part in ("file:/x", "task-9", "60 s"))
    waiting = late.model_copy(update={"state": LockState.WAITING})
    assert [waited_too_long(late, "b"), waited_too_long(waiting, "a"), waited_too_long(None, "a")] == [None] * 3

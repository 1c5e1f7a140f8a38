"""A turn whose lease another has taken: it ends where it learns of it, and writes nothing more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.message import ModelReply
from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]
WRITES = ("commit", "suspend", "finish")


def note_writes(rig: Rig, made: list[str]) -> None:
    """Have the writes of a turn noted, by name, from now on."""

    def counted(name: str, write: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **more: (made.append(name), write(*args, **more))[1]

    for name in WRITES:
        setattr(rig.store, name, counted(name, getattr(rig.store, name)))


@pytest.mark.parametrize("drains", [False, True])
@pytest.mark.parametrize("place", ["model", "tool"])
@pytest.mark.parametrize("told_by", ["renewal", "write", "renewal at the end"])
def test_after_a_loss_nothing_more_is_written(make_rig: MakeRig, told_by: str, place: str, drains: bool) -> None:
    """Whoever tells of it: a renewal that the effect hears of or that comes with its end, or the write that is refused.

    Also while the process shuts down, when a task is given back otherwise.
    """
    made: list[str] = []

    def lose(interrupt: Any) -> None:
        rig.kit.recover(task_id)
        note_writes(rig, made)
        if drains:
            rig.keeper.drain()
        if told_by != "write":
            rig.keeper.renew_now()
        if told_by == "renewal":
            interrupt.check()

    def streams(_request: Any, _show: Any, interrupt: Any) -> ModelReply:
        lose(interrupt)
        return says("Done.")

    def act(_params: Any, context: Any) -> ToolResult:
        lose(context.interrupt)
        return ToolResult(text="acted")

    rig = make_rig(extra=[FakeTool(act=act)])
    rig.model.steps = [streams] if place == "model" else [calls(("t1", "act", {}))]
    task_id = rig.submit()
    outcome = rig.step()
    assert "lease" in outcome
    assert len(made) == (told_by == "write")

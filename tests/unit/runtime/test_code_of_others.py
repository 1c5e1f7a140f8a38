"""What a tool does beside its run is code of others, too, and may hang."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.held_lease import HeldLease
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def dies_once() -> Callable[..., ToolResult]:
    """A tool's work whose first process is killed in it."""
    tries: list[int] = []

    def act(*_: Any) -> ToolResult:
        tries.append(1)
        if len(tries) == 1:
            raise Killed
        return ToolResult(text="acted")

    return act


def test_checks_preparations_and_probes_are_bounded_like_runs(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are code of others, too: one that hangs is renewed until effect_max_s and no longer."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    bounded: dict[str, bool] = {}
    made: list[HeldLease] = []
    begin = HeldLease.__init__

    def remember(held: HeldLease, *given: Any, **named: Any) -> None:
        begin(held, *given, **named)
        made.append(held)

    def noting(step: str) -> Callable[..., Any]:
        original = getattr(tool, step)

        def noted(*given: Any) -> Any:
            bounded[step] = made[-1].effect_since_s is not None
            return original(*given)

        return noted

    monkeypatch.setattr(HeldLease, "__init__", remember)
    for step in ("check", "prepare", "probe"):
        monkeypatch.setattr(tool, step, noting(step))
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert bounded == {"check": True, "prepare": True, "probe": True}
    assert made[-1].effect_since_s is None

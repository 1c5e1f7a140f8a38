"""What a tool does beside its run is code of others, too, and may hang."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from typing import Any

import billiard.common
import pytest
from celery.exceptions import WorkerShutdown, WorkerTerminate

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.held_lease import HeldLease
from neuraphage.runtime.tool_step import is_of_the_pool
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


def test_a_tool_that_exits_ends_its_call_and_nothing_else(make_rig: MakeRig) -> None:
    """`sys.exit` in a library would end the thread of the turn: the task would be taken up again, three times."""
    tool = FakeTool(act=lambda *_: sys.exit(3))
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.results(task_id)["t1"]["content"] == "act failed: SystemExit: 3"


@pytest.mark.parametrize(("effect_class", "is_open"), [(EffectClass.PURE, False), (EffectClass.KEYED, True)])
def test_what_a_tool_raises_leaves_open_whether_its_effect_came(
    make_rig: MakeRig, effect_class: EffectClass, is_open: bool
) -> None:
    """Also of a tool that implements the port itself: a time-out of a payment may have come before it or after it."""

    def act(*_: Any) -> ToolResult:
        raise TimeoutError("no answer")

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(effect_class=effect_class, act=act)])
    task_id = rig.submit()
    rig.drain()
    text = rig.results(task_id)["t1"]["content"]
    assert text.startswith("act failed: TimeoutError: no answer")
    assert ("Whether it took effect is not known." in text) is is_open


@pytest.mark.parametrize("shutdown", [WorkerTerminate(0), WorkerShutdown(0)])
def test_the_end_of_the_process_is_no_failure_of_the_tool(make_rig: MakeRig, shutdown: SystemExit) -> None:
    """Celery raises these into whatever its main thread runs."""

    def interrupted(*_: Any) -> ToolResult:
        raise shutdown

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=interrupted)])
    task_id = rig.submit()
    with pytest.raises(type(shutdown)):
        rig.drain()
    assert rig.results(task_id) == {}


def test_the_signal_handler_of_a_child_is_told_from_its_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """billiard ends a child by a plain SystemExit, raised from a frame of its own."""
    monkeypatch.setattr(billiard.common, "maybe_setsignal", lambda *_: None)
    monkeypatch.setattr(billiard.common, "_should_have_exited", [False])
    with pytest.raises(SystemExit) as raised:
        billiard.common._shutdown_cleanup(signal.SIGTERM, None)
    assert is_of_the_pool(raised.value)
    assert not is_of_the_pool(ValueError())

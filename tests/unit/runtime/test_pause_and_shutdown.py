"""Pause and shutdown, at every point where a task can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interruptkit import heard, while_streaming, working
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import PausedDetail, Status
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.outcome import REFUSALS
from turnkit import FakeTool, Rig, calls, says, until

MakeRig = Callable[..., Rig]


def paused(rig: Rig, task_id: str) -> PausedDetail:
    detail = rig.get(task_id).detail
    assert isinstance(detail, PausedDetail)
    assert rig.dispatcher.messages == [] or rig.step() in REFUSALS
    return detail


def test_pause_in_the_queue(make_rig: MakeRig) -> None:
    """Its message finds it paused; resume starts it."""
    rig = make_rig(says("Done."))
    task_id = rig.submit()
    rig.people.pause(task_id)
    assert paused(rig, task_id).reason == "user"
    assert rig.model.requests == []
    rig.people.resume(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_pause_while_the_reply_streams(make_rig: MakeRig) -> None:
    """The reply is not interrupted and not paid for again: it is stored, and its calls wait for the resume."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])
    pause = heard(rig, lambda: rig.people.pause(task_id))
    rig.model.steps = [while_streaming(pause, calls(("t1", "act", {}))), says("Done.")]
    task_id = rig.submit()
    rig.drain()
    assert paused(rig, task_id).resume_point.kind.value == "ToolExecution"
    assert (len(rig.model.requests), tool.runs) == (1, [])
    rig.people.resume(task_id)
    rig.drain()
    assert (len(rig.model.requests), len(tool.runs)) == (2, 1)
    assert rig.get(task_id).counters.model_resends == 0


def test_pause_in_a_tool(make_rig: MakeRig) -> None:
    """The call in hand is finished and recorded, the next one waits."""

    def act(params: Any, context: Any) -> ToolResult:
        rig.people.pause(task_id)
        rig.keeper.renew_now()
        return ToolResult(text="acted")

    tool, other = FakeTool(act=act), FakeTool(name="other")
    rig = make_rig(calls(("t1", "act", {}), ("t2", "other", {})), says("Done."), extra=[tool, other])
    task_id = rig.submit()
    rig.drain()
    point = paused(rig, task_id).resume_point
    assert (point.kind.value, point.remaining_tools) == ("ToolExecution", ("t2",))
    assert (list(rig.results(task_id)), other.runs) == (["t1"], [])
    rig.people.resume(task_id)
    rig.drain()
    assert (len(tool.runs), len(other.runs)) == (1, 1)
    assert rig.get(task_id).status is Status.COMPLETED


def test_pause_that_nobody_heard_of_holds_at_the_end_of_the_turn(make_rig: MakeRig) -> None:
    """Without any heartbeat the last write of the turn finds the flag."""
    rig = make_rig(extra=[FakeTool()])

    rig.model.steps = [lambda *a: (rig.people.pause(task_id), says("Part", stop_reason="max_tokens"))[1], says("Done.")]
    task_id = rig.submit()
    rig.drain()
    point = paused(rig, task_id).resume_point
    assert (point.kind.value, point.remaining_tools) == ("ContextAssembly", ())
    assert len(rig.model.requests) == 1
    rig.people.resume(task_id)
    rig.drain()
    assert rig.get(task_id).detail.summary == "Done."


def test_a_pause_that_is_taken_back_in_time_changes_nothing(make_rig: MakeRig) -> None:
    """Resume before the worker looked: it never acts on a remembered flag."""
    rig = make_rig(extra=[FakeTool()])

    def fickle() -> None:
        heard(rig, lambda: rig.people.pause(task_id))()
        rig.people.resume(task_id)

    rig.model.steps = [while_streaming(fickle, calls(("t1", "act", {}))), says("Done.")]
    task_id = rig.submit()
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert "TaskPaused" not in rig.kinds(task_id)


@pytest.mark.parametrize("answered_first", [True, False])
def test_pause_while_it_waits_for_a_person(make_rig: MakeRig, answered_first: bool) -> None:
    """The prompt stays open over the pause; a resume without its answer waits again."""
    rig = make_rig(calls(("t1", "ask_user", {"question": "Well?"})), says("Done."))
    task_id = rig.run()
    rig.people.pause(task_id)
    paused(rig, task_id)
    if answered_first:
        rig.people.answer(task_id, None, "blue")
        rig.drain()
        paused(rig, task_id)
        rig.people.resume(task_id)
    else:
        rig.people.resume(task_id)
        assert rig.get(task_id).status is Status.WAITING_FOR_USER
        rig.people.answer(task_id, None, "blue")
    rig.drain()
    assert rig.results(task_id)["t1"]["content"] == "blue"
    assert rig.get(task_id).status is Status.COMPLETED


def test_pause_during_a_retry_timer_keeps_the_wait(make_rig: MakeRig) -> None:
    """A resume does not shorten what the provider asked for."""
    rig = make_rig(ModelFault(FaultKind.RATE_LIMITED, "busy", 3_000.0), says("Done."))
    task_id = rig.run()
    due = rig.client.zscore(rig.kit.keys.timers, task_id)
    rig.people.pause(task_id)
    paused(rig, task_id)
    rig.people.resume(task_id)
    rig.drain()
    assert rig.client.zscore(rig.kit.keys.timers, task_id) == due
    assert len(rig.model.requests) == 1


def test_a_paused_task_is_left_alone(make_rig: MakeRig) -> None:
    """No sweep touches it, however long it stays."""
    rig = make_rig()
    task_id = rig.submit()
    rig.people.pause(task_id)
    rig.client.zadd(rig.kit.keys.waits, {task_id: 1})
    before = rig.kit.snapshot()[rig.kit.keys.task(task_id).encode()]
    rig.sweep.run(guarded=False)
    assert rig.kit.snapshot()[rig.kit.keys.task(task_id).encode()] == before


# --- shutdown ---


def test_a_draining_process_takes_nothing(make_rig: MakeRig) -> None:
    """The message is left to others, and so is the task."""
    rig = make_rig(says("Done."))
    task_id = rig.submit()
    rig.keeper.drain()
    assert rig.step().startswith("draining")
    assert rig.get(task_id).place == "outbox"
    assert rig.get(task_id).fence == 0


def test_shutdown_while_the_reply_streams(make_rig: MakeRig) -> None:
    """The reply is finished and stored, the lease given back; the next process goes on without a new call."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])
    rig.model.steps = [while_streaming(rig.keeper.drain, calls(("t1", "act", {}))), says("Done.")]
    task_id = rig.submit()
    rig.step()
    record = rig.get(task_id)
    assert (record.place, tool.runs, record.counters.recoveries_total) == ("outbox", [], 0)
    rig.reborn().drain()
    assert (len(rig.model.requests), len(tool.runs)) == (2, 1)
    assert rig.get(task_id).counters.model_resends == 0


def test_shutdown_in_a_tool_of_the_process_waits_for_it(make_rig: MakeRig) -> None:
    """A tool that cannot outlive the process is finished, the next one left to others."""
    order: list[str] = []

    def act(params: Any, context: Any) -> ToolResult:
        rig.keeper.drain()
        context.interrupt.check()
        order.append("first")
        return ToolResult(text="acted")

    tool = FakeTool(act=act, effect_class=EffectClass.OPAQUE)
    rig = make_rig(calls(("t1", "act", {}), ("t2", "other", {})), says("Done."), extra=[tool, FakeTool(name="other")])
    task_id = rig.submit()
    rig.step()
    assert (order, list(rig.results(task_id)), rig.get(task_id).place) == (["first"], ["t1"], "outbox")
    rig.reborn().drain()
    assert order == ["first"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_shutdown_while_a_command_runs_leaves_it_running(make_rig: MakeRig) -> None:
    """The lease is given back at once; the next process attaches to the very same command."""
    line = "echo begun >> ran; until test -e go; do sleep 0.02; done; echo ended"
    rig = make_rig(calls(("t1", "run_command", {"command": line})), says("Done."))
    task_id = rig.submit()
    with working(rig) as ran:
        rig.keeper.drain()
        until(lambda: rig.get(task_id).place == "outbox")
        (rig.folder / "go").touch()
    rig.reborn().drain()
    assert ran.read_text(encoding="utf-8") == "begun\n"
    assert "ended" in rig.results(task_id)["t1"]["content"]
    assert rig.get(task_id).counters.recoveries_total == 0

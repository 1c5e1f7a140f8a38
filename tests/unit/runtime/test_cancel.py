"""Cancel, at every point where a task can be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from interruptkit import SLEEP, heard, sleepers, working
from neuraphage.errors import CancelRequested, FaultKind, IllegalMove, ModelFault
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.runtime.outcome import REFUSALS, Outcome
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def test_cancel_before_the_first_turn(make_rig: MakeRig) -> None:
    """Nothing is called for a task that was cancelled in the queue, though its message is still there."""
    rig = make_rig()
    task_id = rig.submit()
    rig.people.cancel(task_id, "not needed")
    rig.drain()
    record = rig.get(task_id)
    assert (record.status, record.detail.reason, rig.model.requests) == (Status.CANCELLED, "not needed", [])


def test_cancel_while_the_reply_streams(make_rig: MakeRig) -> None:
    """The call is interrupted at once: the interrupt raises and wakes a blocked reader; nothing is recorded."""
    rig = make_rig()
    woken: list[str] = []

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        interrupt.subscribe(lambda: woken.append("woken"))
        heard(rig, lambda: rig.people.cancel(task_id))()
        interrupt.check()
        return says("Too late.")

    rig.model.steps = [step]
    task_id = rig.submit()
    rig.drain()
    assert woken == ["woken"]
    assert rig.get(task_id).status is Status.CANCELLED
    assert rig.get(task_id).counters.model_calls == 0
    assert [entry["role"] for entry in rig.entries(task_id)] == ["user"]


def test_cancel_that_comes_with_the_reply_keeps_what_was_paid(make_rig: MakeRig) -> None:
    """A reply that was there before the worker heard of the cancel is stored and counted; nothing else starts."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        rig.people.cancel(task_id)
        return calls(("t1", "act", {}))

    rig.model.steps = [step]
    task_id = rig.submit()
    rig.drain()
    record = rig.get(task_id)
    assert (record.status, record.counters.model_calls, tool.runs) == (Status.CANCELLED, 1, [])


def test_a_cancel_that_was_heard_with_the_reply_lets_nothing_begin(make_rig: MakeRig) -> None:
    """Not even the look at files that tells whether a person is to be asked."""
    looked: list[Any] = []

    class Looks(FakeTool):
        def refusal(self, params: Any, context: Any) -> str | None:
            looked.append(params)
            return None

    rig = make_rig(extra=[Looks(side_effecting=True)])

    def step(request: Any, show: Any, interrupt: Any) -> ModelReply:
        heard(rig, lambda: rig.people.cancel(task_id))()
        return calls(("t1", "act", {}))

    rig.model.steps = [step]
    task_id = rig.submit(allow=())
    rig.drain()
    assert (rig.get(task_id).status, looked) == (Status.CANCELLED, [])


def test_cancel_while_a_command_runs_ends_its_processes(make_rig: MakeRig) -> None:
    """No child process outlives a cancelled task."""
    rig = make_rig(calls(("t1", "run_command", SLEEP)))
    task_id = rig.submit()
    with working(rig) as ran:
        heard(rig, lambda: rig.people.cancel(task_id))()
    assert rig.get(task_id).status is Status.CANCELLED
    assert sleepers() == []
    assert ran.read_text(encoding="utf-8") == "begun\n"


def test_cancel_while_a_tool_runs_in_the_process(make_rig: MakeRig) -> None:
    """A tool that asks its interrupt stops; the calls behind it never start."""

    def act(params: Any, context: Any) -> ToolResult:
        heard(rig, lambda: rig.people.cancel(task_id))()
        context.interrupt.check()
        raise AssertionError("the interrupt let it go on")

    tool, other = FakeTool(act=act), FakeTool(name="other")
    rig = make_rig(calls(("t1", "act", {}), ("t2", "other", {})), extra=[tool, other])
    task_id = rig.submit()
    rig.drain()
    assert (rig.get(task_id).status, len(tool.runs), other.runs) == (Status.CANCELLED, 1, [])


def test_cancel_between_two_turns(make_rig: MakeRig) -> None:
    """The message of the next turn finds nothing to do."""
    rig = make_rig(calls(("t1", "act", {})), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    rig.people.cancel(task_id)
    assert rig.step() in REFUSALS
    assert (rig.get(task_id).status, len(rig.model.requests)) == (Status.CANCELLED, 1)


def test_cancel_while_it_waits_for_a_person(make_rig: MakeRig) -> None:
    """Its prompts are closed: an answer afterwards is refused and says why."""
    rig = make_rig(calls(("t1", "ask_user", {"question": "Well?"})))
    task_id = rig.run()
    rig.people.cancel(task_id)
    assert rig.get(task_id).prompts == ()
    with pytest.raises(IllegalMove, match="Cancelled"):
        rig.people.send(task_id, "yes")
    assert rig.client.zcard(rig.kit.keys.waits) == 0


def test_cancel_during_a_retry_timer(make_rig: MakeRig) -> None:
    """The timer goes with the task."""
    rig = make_rig(ModelFault(FaultKind.OVERLOADED, "busy"))
    task_id = rig.run()
    rig.people.cancel(task_id)
    assert (rig.get(task_id).status, rig.client.zcard(rig.kit.keys.timers)) == (Status.CANCELLED, 0)


def test_cancel_of_a_task_whose_worker_is_dead(make_rig: MakeRig) -> None:
    """The flag that nobody was left to see is found by the recovery."""
    rig = make_rig(ModelFault(FaultKind.NETWORK, "unused"))

    def dies(request: Any, show: Any, interrupt: Any) -> ModelReply:
        raise KeyboardInterrupt

    rig.model.steps = [dies]
    task_id = rig.submit()
    with pytest.raises(KeyboardInterrupt):
        rig.step()
    rig.people.cancel(task_id)
    assert rig.get(task_id).status is Status.RUNNING
    rig.recover(task_id)
    assert rig.get(task_id).status is Status.CANCELLED


def test_a_stale_worker_of_a_cancelled_task_starts_nothing(make_rig: MakeRig) -> None:
    """A worker that was taken for dead comes back with calls to run, after the task was taken over and cancelled."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])

    def frozen(request: Any, show: Any, interrupt: Any) -> ModelReply:
        rig.sweep.recover(rig.kit.held(task_id), "gone")
        rig.people.cancel(task_id)
        return calls(("t1", "act", {}))

    rig.model.steps = [frozen]
    task_id = rig.submit()
    rig.step()
    assert tool.runs == []
    assert rig.get(task_id).status is Status.CANCELLED
    assert [entry["role"] for entry in rig.entries(task_id)] == ["user"]


def test_a_stale_worker_of_a_task_that_moved_starts_nothing(make_rig: MakeRig) -> None:
    """The same, while another worker goes on: the old reply is dropped whole and its message publishes nothing."""
    tool = FakeTool()
    rig = make_rig(extra=[tool])

    def frozen(request: Any, show: Any, interrupt: Any) -> ModelReply:
        rig.sweep.recover(rig.kit.held(task_id), "gone")
        return calls(("t1", "act", {}))

    rig.model.steps = [frozen, says("By the other.")]
    task_id = rig.submit()
    assert rig.step() == Outcome.LOST
    rig.drain()
    assert tool.runs == []
    assert rig.get(task_id).detail.summary == "By the other."
    assert rig.get(task_id).counters.model_resends == 1


def test_an_interrupt_of_its_own_is_no_cancel(make_rig: MakeRig) -> None:
    """A tool that raises CancelRequested though nobody cancelled gives the lease back; the task goes on."""
    asked: list[int] = []

    def act(params: Any, context: Any) -> ToolResult:
        asked.append(1)
        if len(asked) == 1:
            raise CancelRequested("by mistake")
        return ToolResult(text="acted")

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=act)])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(asked) == 2

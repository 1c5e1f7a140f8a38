"""Retry and reset: what a task that begins anew takes over from before, and what it must not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def guarded() -> FakeTool:
    return FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)


def time_out(rig: Rig) -> None:
    """Every deadline passes, and the sweep comes by."""
    for member in rig.client.zrange(rig.kit.keys.deadlines, 0, -1):
        rig.client.zadd(rig.kit.keys.deadlines, {member: 1})
    rig.sweep.run(guarded=False)
    rig.drain()


def test_a_prompt_asked_again_after_a_reset_times_out_again(make_rig: MakeRig) -> None:
    """The same reply opens the same prompt: that it timed out once must not leave the task waiting for ever."""
    asks = calls(("t1", "guarded", {}))
    rig = make_rig(asks, calls(("f1", "fail_task", {"reason": "no"})), asks, says("Done."), extra=[guarded()])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    time_out(rig)
    assert rig.get(task_id).status is Status.FAILED
    rig.people.reset(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    time_out(rig)
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.client.zcard(rig.kit.keys.deadlines) == 0


def test_an_answer_of_before_a_reset_allows_nothing_after_it(make_rig: MakeRig) -> None:
    """A yes that no turn has read was given in a conversation that is archived: the new one asks again."""
    tool, asks = guarded(), calls(("t1", "guarded", {}))
    rig = make_rig(asks, asks, extra=[tool])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.client.hset(rig.kit.keys.task(task_id), "recoveries", 2)
    rig.kit.claim(task_id)
    rig.dispatcher.messages.clear()
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    assert rig.get(task_id).status is Status.FAILED
    rig.people.reset(task_id)
    rig.drain()
    assert (rig.get(task_id).status, tool.runs) == (Status.WAITING_FOR_USER, [])


def test_a_reset_runs_the_same_command_again(make_rig: MakeRig, tmp_path: Path) -> None:
    """The same call of the new conversation is another effect: the record of the old one is no result of it."""
    count = tmp_path / "count"
    runs = calls(("t1", "run_command", {"command": f"echo x >> {count}"}))
    rig = make_rig(runs, calls(("f1", "fail_task", {"reason": "no"})), runs, says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.FAILED
    rig.people.reset(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert count.read_text(encoding="utf-8").split() == ["x", "x"]

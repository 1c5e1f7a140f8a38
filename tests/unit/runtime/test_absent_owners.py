"""What waits for a former owner that was only seen absent, and what goes on at once; calls of the model that died."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ProbeVerdict, ToolResult
from turnkit import FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


def killed(*args: Any, **kwargs: Any) -> Any:
    raise Killed


def dies_once(then: str = "acted") -> Callable[..., ToolResult]:
    """A tool's work whose first process is killed in it."""
    lives: list[int] = []

    def act(params: Any, context: Any) -> ToolResult:
        lives.append(1)
        if len(lives) == 1:
            raise Killed
        return ToolResult(text=then)

    return act


# --- a former owner that was only seen absent ---


def absent(rig: Rig, task_id: str) -> Rig:
    """Recover on absence alone; the lease has 20 s left."""
    after = rig.recover(task_id, "absent")
    assert after.get(task_id).unsafe_until_ms > after.store.now_ms()
    return after


def let_the_deadline_pass(rig: Rig, task_id: str) -> None:
    """The old lease is over."""
    due_ms = rig.get(task_id).unsafe_until_ms
    assert rig.client.zscore(rig.kit.keys.timers, task_id) == due_ms
    rig.client.hset(rig.kit.keys.task(task_id), "unsafe_until", rig.store.now_ms() - 1)
    rig.kit.due("timers", task_id)
    assert rig.sweep.timers(rig.store.now_ms()) == 1
    rig.drain()


def test_a_probe_waits_until_the_old_deadline(make_rig: MakeRig) -> None:
    """The former owner may still be writing: looking earlier could see half of its work."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig = absent(rig, task_id)
    rig.drain()
    assert (tool.probes, rig.get(task_id).place) == ([], "timers")
    let_the_deadline_pass(rig, task_id)
    assert (len(tool.probes), len(tool.runs)) == (1, 2)


@pytest.mark.parametrize("effect_class", [EffectClass.CHECKABLE, EffectClass.OPAQUE])
def test_a_new_effect_that_could_meet_the_old_one_waits(make_rig: MakeRig, effect_class: EffectClass) -> None:
    """The reply was there, the call had not begun as far as is stored: it starts only after the old deadline."""
    tool = FakeTool(effect_class=effect_class)
    first = FakeTool(name="first", act=dies_once())
    rig = make_rig(calls(("t0", "first", {}), ("t1", "act", {})), says("Done."), extra=[first, tool])
    task_id = rig.submit()
    rig.dies()
    rig = absent(rig, task_id)
    rig.drain()
    assert (tool.runs, list(rig.results(task_id)), rig.get(task_id).place) == ([], ["t0"], "timers")
    let_the_deadline_pass(rig, task_id)
    assert len(tool.runs) == 1
    assert rig.get(task_id).status is Status.COMPLETED


def test_pure_calls_need_not_wait(make_rig: MakeRig) -> None:
    """Reading meets nobody's work: the task goes on at once."""
    tool = FakeTool(effect_class=EffectClass.PURE, act=dies_once())
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    absent(rig, task_id).drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_certain_death_needs_no_wait(make_rig: MakeRig) -> None:
    """A process that was seen to be gone can meet nobody: the probe is made at once."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id, "gone").drain()
    assert rig.get(task_id).status is Status.COMPLETED


# --- the model ---


def test_a_call_whose_process_died_is_made_again_and_counted(make_rig: MakeRig) -> None:
    """Under the same request id, with the possible double billing counted; the prompt stands once."""
    rig = make_rig(killed, says("Done."))
    task_id = rig.submit()
    rig.dies()
    rig.recover(task_id).drain()
    assert len({request.request_id for request in rig.model.requests}) == 1
    assert texts(rig.model.requests[1].messages) == ["Do it."]
    assert rig.get(task_id).counters.model_resends == 1


def test_a_call_made_again_takes_in_no_new_input(make_rig: MakeRig) -> None:
    """Under one request id goes one request: what a person said meanwhile waits for the next turn, and is read then."""
    rig = make_rig(killed, says("Done."), says("Read."))
    task_id = rig.submit()
    rig.dies()
    rig.people.send(task_id, "And this.")
    rig.recover(task_id).drain()
    first, again, later = rig.model.requests
    assert again.request_id == first.request_id
    assert again.messages == first.messages
    assert "And this." in texts(later.messages)


def test_a_reply_ends_the_run_of_crashes(make_rig: MakeRig) -> None:
    """Deaths before a reply and deaths after it are not one run: a task that gets on is never given up for them."""
    rig = make_rig(killed, killed, says("Done."))
    task_id = rig.submit()
    rig.dies()
    rig = rig.recover(task_id)
    rig.dies()
    assert rig.get(task_id).counters.recoveries == 1
    rig.recover(task_id).drain()
    counters = rig.get(task_id).counters
    assert (counters.recoveries, counters.recoveries_total) == (0, 2)

"""A task at its limit goes on with a higher one; a completed one goes on with a message; a conversation lasts."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from neuraphage.errors import LimitReached
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.task import CompletedDetail, FailedDetail, Mode, Status
from turnkit import FakeTool, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
CALL = ("act", {})


def working(make_rig: MakeRig, *more: object, turns: int = 3) -> Rig:
    """A model that works for some turns, and then says what else it is given."""
    return make_rig(*[calls((f"t{i}", *CALL)) for i in range(turns)], *more, extra=[FakeTool()])


@pytest.mark.parametrize(
    ("limits", "change"),
    [
        (Limits(max_turns=2), LimitChange(max_turns=4)),
        (Limits(max_cost_microusd=200), LimitChange(max_cost_microusd=400)),
    ],
)
@pytest.mark.parametrize("with_retry", [True, False])
def test_a_task_at_its_limit_goes_on(
    make_rig: MakeRig, limits: Limits, change: LimitChange, *, with_retry: bool
) -> None:
    """A bare retry is refused before anything is written; with a higher limit no turn is lost or repeated."""
    rig = working(make_rig, says("Done."))
    task_id = rig.run(limits=limits)
    assert len(rig.model.requests) == 2
    with pytest.raises(LimitReached, match="neuraphage retry"):
        rig.people.retry(task_id)
    if with_retry:
        rig.people.retry(task_id, limits=change)
    else:
        rig.people.limit(task_id, change)
        rig.people.retry(task_id)
    rig.drain()
    record = rig.get(task_id)
    assert isinstance(record.detail, CompletedDetail)
    assert (record.detail.summary, record.counters.iteration, record.counters.cost_microusd) == ("Done.", 4, 400)
    assert rig.called(task_id) == ["t0", "t1", "t2"]


def test_the_command_in_the_failure_raises_the_limit_far_enough(make_rig: MakeRig) -> None:
    """The error that is stored names it, with this task's id."""
    rig = working(make_rig, says("Done."))
    task_id = rig.run(limits=Limits(max_turns=2))
    record = rig.get(task_id)
    assert isinstance(record.detail, FailedDetail)
    found = re.search(r"`neuraphage retry (\w+) --max-turns (\d+)`", record.detail.error)
    assert found is not None
    assert task_id.endswith(found[1])
    rig.people.retry(task_id, limits=LimitChange(max_turns=int(found[2])))
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_limit_raised_while_the_turn_fails_at_it_holds(make_rig: MakeRig) -> None:
    """The person is sooner than the write of the failure: the turn is begun once more, and nobody has to retry."""
    rig = working(make_rig, says("Done."))
    task_id = rig.submit(limits=Limits(max_turns=2))
    rig.step()
    rig.step()
    store, finish = rig.services.store, rig.services.store.finish

    def raised_before(*args: object, **more: object) -> object:
        store.finish = finish  # type: ignore[method-assign]
        rig.people.limit(task_id, LimitChange(max_turns=9))
        return finish(*args, **more)  # type: ignore[arg-type]

    store.finish = raised_before  # type: ignore[assignment, method-assign]
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert "TaskFailed" not in rig.kinds(task_id)
    assert len(rig.model.requests) == 4


def test_a_completed_task_goes_on_with_its_conversation(make_rig: MakeRig) -> None:
    """The next request holds all that was said, then the message; turns count anew, and it completes once more."""
    rig = working(make_rig, says("First."), says("Second."), turns=1)
    task_id = rig.run("Begin.", limits=Limits(max_turns=2))
    assert rig.get(task_id).status is Status.COMPLETED
    rig.people.send(task_id, "Go on.")
    rig.drain()
    record = rig.get(task_id)
    assert isinstance(record.detail, CompletedDetail)
    assert (record.detail.summary, record.counters.iteration, record.turns_from) == ("Second.", 3, 2)
    assert texts(rig.model.requests[-1].messages) == ["Begin.", "First.", "Go on."]


def test_a_task_that_completed_by_a_tool_goes_on_too(make_rig: MakeRig) -> None:
    """The call of complete_task has its result before the message."""
    rig = make_rig(calls(("c1", "complete_task", {"summary": "All."})), says("More."))
    task_id = rig.run()
    rig.people.send(task_id, "And?")
    rig.drain()
    last = rig.model.requests[-1].messages[-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "text"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_conversation_is_longer_than_its_limit_of_turns(make_rig: MakeRig) -> None:
    """The limit bounds the work on one message, so that a long talk is none that runs away."""
    rig = make_rig(*[says(f"Answer {n}.") for n in range(5)])
    task_id = rig.run("0", mode=Mode.CONVERSATIONAL, limits=Limits(max_turns=1))
    for number in range(1, 5):
        assert rig.get(task_id).status is Status.WAITING_FOR_USER
        rig.people.send(task_id, str(number))
        rig.drain()
    assert len(rig.model.requests) == 5
    assert rig.get(task_id).status is Status.WAITING_FOR_USER


def test_a_message_at_the_limit_of_money_is_not_lost(make_rig: MakeRig) -> None:
    """The conversation fails without having read it; with more money the next request holds it."""
    rig = make_rig(says("One."), says("Two."))
    task_id = rig.run("0", mode=Mode.CONVERSATIONAL, limits=Limits(max_cost_microusd=100))
    rig.people.send(task_id, "Still there?")
    rig.drain()
    assert rig.get(task_id).status is Status.FAILED
    rig.people.retry(task_id, limits=LimitChange(max_cost_microusd=900))
    rig.drain()
    assert texts(rig.model.requests[-1].messages)[-1] == "Still there?"

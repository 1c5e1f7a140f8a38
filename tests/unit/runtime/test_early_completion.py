"""complete_task and fail_task beside other calls: an end is one only when nothing beside it speaks against it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import CompletedDetail, FailedDetail, Status
from neuraphage.model.tool import ToolResult
from neuraphage.model.tool_traits import ToolTraits
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
DONE = ("done", "complete_task", {"summary": "All done."})
FAILED = ("failed", "fail_task", {"reason": "It cannot be done."})


def failing(params: Any, context: Any) -> ToolResult:
    return ToolResult(text="the file is not there", is_error=True)


@dataclass(frozen=True)
class Sibling:
    """A call beside complete_task that does not work.

    Args:
        name: of the tool.
        params: of the call.
        told: words of its result.
        tool: one that is added.
        answer: of the person who is asked, about this call or one before.
        asked_before: whether the same call was asked about and answered in a turn before.
    """

    name: str
    params: dict[str, Any]
    told: str
    tool: FakeTool | None = None
    answer: str = "the red one"
    asked_before: bool = False


SIBLINGS = {
    "failed": Sibling("act", {}, "the file is not there", FakeTool(act=failing)),
    "a command that failed": Sibling("run_command", {"command": "exit 3"}, "3"),
    "unknown": Sibling("no_such_tool", {}, "There is no tool"),
    "unfit": Sibling("act", {"bad": 1}, "bad is no parameter", FakeTool()),
    "a question": Sibling("ask_user", {"question": "Which one?"}, "the red one"),
    "destructive": Sibling(
        "act", {"command": "mkfs.ext4 /dev/null"}, "It never runs here", FakeTool(traits=ToolTraits(command="command"))
    ),
    "a remembered never": Sibling(
        "act", {}, "may never run in this task", FakeTool(side_effecting=True), answer="never", asked_before=True
    ),
}


@pytest.mark.parametrize("first", [True, False], ids=["complete_task first", "complete_task last"])
@pytest.mark.parametrize("sibling", SIBLINGS.values(), ids=SIBLINGS.keys())
def test_a_completion_beside_what_did_not_work_completes_nothing(
    make_rig: MakeRig, sibling: Sibling, first: bool
) -> None:
    """It gets an error result whatever the order of the calls, and the task goes on."""
    call = ("t1", sibling.name, sibling.params)
    before = [calls(("t0", *call[1:]))] if sibling.asked_before else []
    reply = calls(DONE, call) if first else calls(call, DONE)
    again = calls(("again", "complete_task", {"summary": "Now it is."}))
    rig = make_rig(*before, reply, again, extra=[sibling.tool] if sibling.tool else [])
    task_id = rig.run(allow=() if sibling.asked_before else ("*",))
    for prompt in rig.get(task_id).prompts:
        rig.people.answer(task_id, prompt.prompt_id, sibling.answer)
        rig.drain()
    assert rig.get(task_id).detail.summary == "Now it is."
    held, beside = rig.results(task_id)["done"], rig.results(task_id)["t1"]
    assert held["is_error"] is True
    assert "not completed" in held["content"]
    assert sibling.told in beside["content"]
    assert rig.model.requests[-1].messages[-1]["content"][0 if first else 1]["tool_use_id"] == "done"


def test_a_completion_beside_a_denied_call_completes_nothing(make_rig: MakeRig) -> None:
    """The calls are settled first, also where a person decides on them."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(DONE, ("t1", "act", {})), says("I stop here."), extra=[tool])
    task_id = rig.run(allow=())
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "no")
    rig.drain()
    assert rig.get(task_id).detail.summary == "I stop here."
    assert rig.results(task_id)["done"]["is_error"] is True


def test_a_completion_beside_a_call_of_unknown_outcome_completes_nothing(make_rig: MakeRig) -> None:
    """An interrupted opaque call may not have run."""

    def dies(params: Any, context: Any) -> ToolResult:
        raise Killed

    tool = FakeTool(effect_class=EffectClass.OPAQUE, act=dies)
    rig = make_rig(calls(("t1", "act", {}), DONE), says("I looked: it ran."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    heir = rig.recover(task_id)
    heir.drain()
    assert heir.get(task_id).detail.summary == "I looked: it ran."


@pytest.mark.parametrize("first", [True, False])
def test_a_completion_beside_calls_that_worked_completes(make_rig: MakeRig, first: bool) -> None:
    """The calls before and behind it are run; one model call is enough."""
    tool = FakeTool()
    act = ("t1", "act", {})
    rig = make_rig(calls(DONE, act) if first else calls(act, DONE), extra=[tool])
    record = rig.get(rig.run())
    assert isinstance(record.detail, CompletedDetail)
    assert (record.detail.summary, len(tool.runs)) == ("All done.", 1)


@pytest.mark.parametrize("first", [True, False])
def test_a_failure_beside_a_failed_call_fails(make_rig: MakeRig, first: bool) -> None:
    """That it cannot be done stays true; the calls beside it are settled before."""
    tool = FakeTool(act=failing)
    act = ("t1", "act", {})
    rig = make_rig(calls(FAILED, act) if first else calls(act, FAILED), extra=[tool])
    record = rig.get(rig.run())
    assert isinstance(record.detail, FailedDetail)
    assert (record.detail.error, len(tool.runs)) == ("It cannot be done.", 1)


def test_both_ends_in_one_reply_are_none(make_rig: MakeRig) -> None:
    """Done and impossible at once: the model has to say which."""
    rig = make_rig(calls(DONE, FAILED), says("It is done."))
    task_id = rig.run()
    assert rig.get(task_id).detail.summary == "It is done."
    assert all(result["is_error"] for result in rig.results(task_id).values())


def test_the_first_of_two_completions_counts(make_rig: MakeRig) -> None:
    """Said twice is said."""
    rig = make_rig(calls(DONE, ("t2", "complete_task", {"summary": "Second."})))
    assert rig.get(rig.run()).detail.summary == "All done."


def test_an_unfit_completion_beside_a_good_one_holds_it_back(make_rig: MakeRig) -> None:
    """It is a call that failed like any other, wherever it stands."""
    rig = make_rig(calls(DONE, ("t2", "complete_task", {})), says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).detail.summary == "Done."
    assert all(result["is_error"] for result in rig.results(task_id).values())


def test_a_process_that_dies_before_the_end_leaves_the_same_answer(make_rig: MakeRig) -> None:
    """The next process finds the failed call in the journal and holds the completion back as the first would have."""

    def dies(params: Any, context: Any) -> ToolResult:
        if len(second.runs) == 1:
            raise Killed
        return ToolResult(text="acted")

    first, second = FakeTool(act=failing), FakeTool(name="other", act=dies)
    rig = make_rig(calls(DONE, ("t1", "act", {}), ("t2", "other", {})), says("I stop."), extra=[first, second])
    task_id = rig.submit()
    rig.dies()
    heir = rig.recover(task_id)
    heir.drain()
    assert heir.get(task_id).detail.summary == "I stop."
    assert (len(first.runs), len(second.runs)) == (1, 2)

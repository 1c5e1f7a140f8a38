"""Failures that other systems showed in public about people and parallel calls; each test shows what is right.

openai-agents#4244, langgraph#3126 and #6533, letta-code#284, software-agent-sdk#4488; claude-code#69578 is
tests/contract/test_tree_race.py, extra#139 test_seals.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import IllegalMove, PromptNotOpen
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def sender() -> FakeTool:
    """A tool with an effect that nothing takes back."""
    return FakeTool(name="send", effect_class=EffectClass.OPAQUE, side_effecting=True)


def test_a_call_beside_one_that_asks_runs_once(make_rig: MakeRig) -> None:
    """langgraph#3126: one call of a reply waits for a person; after the answer, its sibling does not run again."""
    tool = sender()
    both = calls(("s", "send", {}), ("q", "ask_user", {"question": "Which?"}))
    rig = make_rig(both, says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    rig = rig.reborn()
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "the first")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(tool.runs) == 1
    assert "the first" in str(rig.results(task_id)["q"])


def test_parallel_prompts_answered_in_reverse_get_their_own_answers(make_rig: MakeRig) -> None:
    """langgraph#6533: three prompts of one reply, each answered after a restart, the last one first."""
    asked = calls(*((f"q{one}", "ask_user", {"question": f"Number {one}?"}) for one in range(3)))
    rig = make_rig(asked, says("Done."))
    task_id = rig.run()
    prompts = rig.get(task_id).prompts
    assert len({prompt.prompt_id for prompt in prompts}) == 3
    for prompt in reversed(prompts):
        rig = rig.reborn()
        rig.people.answer(task_id, prompt.prompt_id, f"answer to {prompt.text}")
        rig.drain()
    for one in range(3):
        assert f"answer to Number {one}?" in str(rig.results(task_id)[f"q{one}"])
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_prompt_outlives_everybody_and_a_stale_answer_is_told_so(make_rig: MakeRig) -> None:
    """letta-code#284: all processes die while a permission is open; a yes counts once, a second one is told."""
    tool = sender()
    rig = make_rig(calls(("s", "send", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    prompt = rig.get(task_id).prompts[0].prompt_id
    rig = rig.reborn()
    rig.people.send(task_id, "Are you there?")
    rig.people.answer(task_id, prompt, "yes")
    with pytest.raises(PromptNotOpen):
        rig.people.answer(task_id, prompt, "no")
    rig.drain()
    assert (rig.get(task_id).status, len(tool.runs)) == (Status.COMPLETED, 1)
    with pytest.raises(IllegalMove):
        rig.people.cancel(task_id)


def test_an_approval_holds_in_a_fresh_process(make_rig: MakeRig) -> None:
    """openai-agents#4244: the decision is part of the task: the next worker runs the call once, and asks nobody."""
    tool = sender()
    rig = make_rig(calls(("s", "send", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.reborn().drain()
    assert rig.kinds(task_id).count("UserInputNeeded") == 1
    assert (rig.get(task_id).status, len(tool.runs)) == (Status.COMPLETED, 1)


def test_a_result_stands_behind_its_call_whoever_died(make_rig: MakeRig) -> None:
    """software-agent-sdk#4488: call and result are in one conversation, in order, after a death in the call."""
    deaths = [True]

    def act(*_: object) -> ToolResult:
        if deaths.pop() if deaths else False:
            raise Killed
        return ToolResult(text="acted")

    rig = make_rig(calls(("s", "act", {})), says("Done."), extra=[FakeTool(act=act)])
    task_id = rig.submit()
    rig.dies()
    rig = rig.recover(task_id)
    rig.dispatcher.messages[:] = [(task_id, rig.get(task_id).seq)]
    rig.drain()
    kinds = [block["type"] for entry in rig.entries(task_id) for block in entry["content"]]
    assert kinds == ["text", "tool_use", "tool_result", "text"]

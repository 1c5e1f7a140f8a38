"""Failures that other systems showed in public about people and parallel calls; each test shows what is right.

openai-agents#4244, langgraph#3126, #6533 and #6626, letta-code#284, lettabot#127 and #249, extra#139,
software-agent-sdk#4488; claude-code#69578 is tests/contract/test_tree_race.py and test_tree_pool.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import IllegalMove, PromptNotOpen
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def sender() -> FakeTool:
    """A tool with an effect that nothing takes back."""
    return FakeTool(name="send", effect_class=EffectClass.OPAQUE, side_effecting=True)


@pytest.mark.parametrize("order", [("s", "q"), ("q", "s")], ids=["it acts first", "it asks first"])
def test_a_call_beside_one_that_asks_runs_once(make_rig: MakeRig, order: tuple[str, str]) -> None:
    """langgraph#3126: one call of a reply waits for a person; after the answer, its sibling does not run again."""
    tool = sender()
    wanted = {"s": ("s", "send", {}), "q": ("q", "ask_user", {"question": "Which?"})}
    both = calls(*(wanted[one] for one in order))
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


def test_parallel_permissions_answered_in_reverse_are_each_for_their_own_call(make_rig: MakeRig) -> None:
    """langgraph#6626: three approvals of one reply, each by another client, the last one first."""
    tool = FakeTool(name="send", effect_class=EffectClass.OPAQUE, side_effecting=True)
    asked = calls(*((f"s{one}", "send", {"to": str(one)}) for one in range(3)))
    rig = make_rig(asked, says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    prompts = rig.get(task_id).prompts
    assert [prompt.tool_use_id for prompt in prompts] == ["s0", "s1", "s2"]
    for prompt, word in zip(reversed(prompts), ("yes", "no", "yes"), strict=True):
        rig = rig.reborn()
        rig.people.answer(task_id, prompt.prompt_id, word)
        rig.drain()
    denied = {key for key, result in rig.results(task_id).items() if result.get("is_error")}
    assert (denied, len(tool.runs)) == ({"s1"}, 2)
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_permission_that_nobody_answers_is_denied_after_everybody_died(make_rig: MakeRig) -> None:
    """lettabot#127: all processes die while it is open; its deadline comes all the same, and a late yes is told so."""
    tool = sender()
    rig = make_rig(calls(("s", "send", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    prompt = rig.get(task_id).prompts[0].prompt_id
    rig = rig.reborn()
    (member,) = rig.client.zrange(rig.kit.keys.deadlines, 0, -1)
    rig.client.zadd(rig.kit.keys.deadlines, {member: 1})
    rig.sweep.run(guarded=False)
    with pytest.raises(PromptNotOpen):
        rig.people.answer(task_id, prompt, "yes")
    rig.drain()
    assert (rig.get(task_id).status, tool.runs) == (Status.COMPLETED, [])


def test_a_cancel_ends_what_waits_for_a_permission_after_everybody_died(make_rig: MakeRig) -> None:
    """lettabot#249: it is over at once, its call never runs, and an answer is told so."""
    tool = sender()
    rig = make_rig(calls(("s", "send", {})), extra=[tool])
    task_id = rig.run(allow=())
    prompt = rig.get(task_id).prompts[0].prompt_id
    rig = rig.reborn()
    rig.people.cancel(task_id)
    assert rig.get(task_id).status is Status.CANCELLED
    with pytest.raises((PromptNotOpen, IllegalMove)):
        rig.people.answer(task_id, prompt, "yes")
    rig.drain()
    assert tool.runs == []


def test_an_approval_is_for_the_call_that_was_seen(make_rig: MakeRig) -> None:
    """extra#139: another process goes on, whose model writes another call: what was seen runs, the other is asked."""
    tool = sender()
    rig = make_rig(calls(("s", "send", {"to": "ada"})), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig = rig.reborn(FakeModel(calls(("t", "send", {"to": "mallory"})), says("Done.")))
    rig.drain()
    assert len(tool.runs) == 1
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    (prompt,) = rig.get(task_id).prompts
    assert (prompt.tool_use_id, "mallory" in prompt.model_dump_json()) == ("t", True)


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

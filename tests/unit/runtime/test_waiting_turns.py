"""What a task waits for is what it goes on with: words are no permission, a resume is no words."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.effect import MODEL_ENTRY, EffectClass
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Mode, Status
from neuraphage.model.tool_traits import ToolTraits
from turnkit import USAGE, FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


def test_words_are_no_permission(make_rig: MakeRig) -> None:
    """A message to a task that waits for two is kept while the first is given; then the second is waited for."""
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = make_rig(calls(("t1", "guarded", {}), ("t2", "guarded", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    first, second = (prompt.prompt_id for prompt in rig.get(task_id).prompts)
    rig.people.send(task_id, "By the way.")
    rig.people.answer(task_id, first, "yes")
    rig.drain()
    record = rig.get(task_id)
    assert (record.status, [p.prompt_id for p in record.prompts]) == (Status.WAITING_FOR_USER, [second])
    assert len(tool.runs) <= 1
    rig.people.answer(task_id, second, "yes")
    rig.drain()
    assert (rig.get(task_id).status, len(tool.runs)) == (Status.COMPLETED, 2)
    assert "By the way." in texts(rig.model.requests[1].messages)


def test_a_resume_is_no_words(make_rig: MakeRig) -> None:
    """A conversation that was paused while it waited waits on, and no reply is paid for."""
    rig = make_rig(says("Hello."), says("Never."))
    task_id = rig.run(mode=Mode.CONVERSATIONAL)
    before = rig.get(task_id).prompts
    rig.people.pause(task_id)
    rig.people.resume(task_id)
    rig.drain()
    record = rig.get(task_id)
    assert (record.status, record.prompts) == (Status.WAITING_FOR_USER, before)
    assert len(rig.model.requests) == 1


def test_a_call_that_failed_is_tried_again_when_its_time_has_come(make_rig: MakeRig) -> None:
    """The timer of the task is the time in its journal: an earlier one would wake it for nothing, again and again."""
    rig = make_rig(ModelFault(FaultKind.OVERLOADED, "busy"), says("Done."))
    task_id = rig.run()
    due_ms = rig.client.zscore(rig.kit.keys.timers, task_id)
    assert due_ms == rig.journal(task_id)[MODEL_ENTRY].retry_at_ms
    assert due_ms > rig.store.now_ms() - 60_000


@pytest.mark.parametrize("dies", [True, False])
def test_the_call_a_reply_broke_off_in_is_known_after_a_crash_too(make_rig: MakeRig, dies: bool) -> None:
    """Behind the results of the calls before it."""
    lives: list[int] = []

    def act(params: object, context: object) -> object:
        lives.append(1)
        if dies and len(lives) == 2:
            raise Killed
        return FakeTool().run({}, context)  # type: ignore[arg-type]

    content = [{"type": "tool_use", "id": f"t{n}", "name": "act", "input": {"n": n}} for n in range(3)]
    cut = ModelReply(content=content, stop_reason="max_tokens", usage=USAGE, model="scripted-1", message_id="msg-1")
    tool = FakeTool(act=act, effect_class=EffectClass.PURE)
    rig = make_rig(cut, says("Done."), extra=[tool])
    task_id = rig.submit()
    if dies:
        rig.dies()
        rig = rig.recover(task_id)
    rig.drain()
    assert "length limit" in rig.results(task_id)["t2"]["content"]
    assert len(lives) == (3 if dies else 2)
    assert rig.get(task_id).status is Status.COMPLETED


def test_nobody_is_asked_about_a_command_that_would_destroy_the_machine(make_rig: MakeRig) -> None:
    """It is told as refused, whatever is allowed, and the turn goes on."""
    tool = FakeTool(side_effecting=True, traits=ToolTraits(command="line"))
    rig = make_rig(
        calls(("t1", "act", {"line": "true > /dev/disk/none/at-all"}), ("t2", "act", {})),
        says("Done."),
        extra=[tool],
    )
    task_id = rig.run(allow=("*",))
    assert "never runs here" in rig.results(task_id)["t1"]["content"]
    assert rig.results(task_id)["t1"]["is_error"] is True
    assert (len(tool.runs), rig.get(task_id).status) == (1, Status.COMPLETED)

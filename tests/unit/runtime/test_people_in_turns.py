"""Permissions, questions and talk inside turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from neuraphage.client_wiring import new_task_id
from neuraphage.decide.hashing import prompt_id
from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectClass
from neuraphage.model.prompt import PromptKind
from neuraphage.model.task import Mode, Status, TaskSpec
from neuraphage.model.tool import ToolResult
from neuraphage.ports import Signal, SignalKind
from neuraphage.store import listing
from turnkit import FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


def guarded(**more: Any) -> FakeTool:
    return FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True, **more)


def three_calls() -> Any:
    return calls(*[(f"t{i}", "guarded", {"n": i}) for i in range(3)])


def ids_by_call(rig: Rig, task_id: str) -> dict[str, str]:
    return {prompt.tool_use_id or "": prompt.prompt_id for prompt in rig.get(task_id).prompts}


def test_nothing_runs_before_it_is_allowed(make_rig: MakeRig) -> None:
    """Default deny: a side effect that the task does not allow opens a prompt and holds no lease."""
    tool = guarded()
    rig = make_rig(calls(("t1", "guarded", {"path": "a"})), extra=[tool])
    task_id = rig.run(allow=())
    record = rig.get(task_id)
    assert (record.status, record.place, tool.runs) == (Status.WAITING_FOR_USER, "waits", [])
    (prompt,) = record.prompts
    assert (prompt.kind, prompt.tool, prompt.options) == (
        PromptKind.PERMISSION,
        "guarded",
        ("yes", "no", "always", "never"),
    )
    assert "path='a'" in (prompt.params_summary or "")
    assert rig.kinds(task_id)[-1] == "UserInputNeeded"


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
def test_three_prompts_are_open_at_once_and_answered_in_any_order(make_rig: MakeRig, order: tuple[int, ...]) -> None:
    """All prompts of a turn are shown together; each answer decides its own call, whatever the order."""
    tool = guarded()
    rig = make_rig(three_calls(), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    prompts = ids_by_call(rig, task_id)
    assert set(prompts) == {"t0", "t1", "t2"}
    for number in order:
        rig.people.answer(task_id, prompts[f"t{number}"], "no" if number == 1 else "yes")
        rig.drain()
    assert len(tool.runs) == 2
    results = rig.results(task_id)
    assert ["is_error" in results[f"t{i}"] for i in range(3)] == [False, True, False]
    assert rig.get(task_id).status is Status.COMPLETED


def test_three_answers_at_once_are_taken_in_one_turn(make_rig: MakeRig) -> None:
    """Answers that came while nobody worked are all read by the next turn."""
    tool = guarded()
    rig = make_rig(three_calls(), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    for identity in ids_by_call(rig, task_id).values():
        rig.people.answer(task_id, identity, "yes")
    rig.drain()
    assert len(tool.runs) == 3
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("answer", "runs", "asked_again"), [("yes", 1, True), ("no", 0, True), ("always", 2, False), ("never", 0, False)]
)
def test_what_each_answer_means_for_the_next_call(make_rig: MakeRig, answer: str, runs: int, asked_again: bool) -> None:
    """yes and no hold for one call, always and never for every later call of the tool."""
    tool = guarded()
    rig = make_rig(calls(("t1", "guarded", {})), calls(("t2", "guarded", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, answer)
    rig.drain()
    assert (rig.get(task_id).status is Status.WAITING_FOR_USER) is asked_again
    assert len(tool.runs) == runs
    granted = "PermissionGranted" if answer in ("yes", "always") else "PermissionDenied"
    assert granted in rig.kinds(task_id)


def test_an_approval_holds_for_its_parameters_only(make_rig: MakeRig) -> None:
    """A yes that is bound to something else decides nothing: the person is asked again, by another prompt."""
    tool = guarded()
    rig = make_rig(calls(("t1", "guarded", {"path": "a"})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    stale = prompt.model_copy(update={"prompt_id": "0" * 16, "digest": "0" * 64})
    keys = rig.kit.keys
    rig.client.hdel(keys.task(task_id), f"p:{prompt.prompt_id}")
    rig.client.hset(keys.task(task_id), f"p:{stale.prompt_id}", stale.model_dump_json())
    entry = orjson.loads(rig.client.hget(keys.turn(task_id), "t1"))
    rig.client.hset(keys.turn(task_id), "t1", orjson.dumps({**entry, "prompt_id": stale.prompt_id}))
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert tool.runs == []
    (again,) = rig.get(task_id).prompts
    assert again.digest == prompt.digest
    assert again.prompt_id not in (prompt.prompt_id, stale.prompt_id)
    assert again.text.startswith("May guarded run? It was allowed before, but")
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert len(tool.runs) == 1


def test_an_unanswered_permission_is_denied_at_its_deadline(make_rig: MakeRig) -> None:
    """The sweep gives the default answer no."""
    tool = guarded()
    rig = make_rig(calls(("t1", "guarded", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    (member,) = rig.client.zrange(rig.kit.keys.deadlines, 0, -1)
    rig.client.zadd(rig.kit.keys.deadlines, {member: 1})
    rig.sweep.run(guarded=False)
    rig.drain()
    assert tool.runs == []
    assert rig.get(task_id).status is Status.COMPLETED


def test_ask_user_waits_and_the_answer_is_its_result(make_rig: MakeRig) -> None:
    """A question is no permission: any words are the result of the call."""
    rig = make_rig(
        calls(("t1", "ask_user", {"question": "Which colour?", "options": ["red", "blue"]})), says("Blue it is.")
    )
    task_id = rig.run()
    (prompt,) = rig.get(task_id).prompts
    assert (prompt.kind, prompt.text, prompt.options) == (PromptKind.QUESTION, "Which colour?", ("red", "blue"))
    rig.people.answer(task_id, None, "blue")
    rig.drain()
    assert rig.results(task_id)["t1"]["content"] == "blue"


def test_ask_user_beside_other_calls_leaves_none_without_a_result(make_rig: MakeRig) -> None:
    """A question among other calls: every call gets its result before the next request."""
    tool = FakeTool()
    rig = make_rig(
        calls(("t1", "act", {}), ("t2", "ask_user", {"question": "Well?"}), ("t3", "act", {})),
        says("Done."),
        extra=[tool],
    )
    task_id = rig.run()
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert set(rig.results(task_id)) == {"t1", "t2", "t3"}
    assert rig.get(task_id).status is Status.COMPLETED


def test_talk_waits_for_the_person_and_goes_on_with_their_words(make_rig: MakeRig) -> None:
    """Conversational mode: end_turn hands over to the person, whose message opens the next turn."""
    rig = make_rig(says("Hello."), says("Good, too."))
    task_id = rig.run(mode=Mode.CONVERSATIONAL)
    assert rig.get(task_id).status is Status.WAITING_FOR_USER
    assert rig.get(task_id).prompts[0].kind is PromptKind.CONVERSATION
    rig.people.send(task_id, "How are you?")
    rig.drain()
    assert texts(rig.model.requests[1].messages) == ["Do it.", "Hello.", "How are you?"]
    assert len(rig.get(task_id).prompts) == 1


def test_an_answer_to_the_conversation_prompt_is_a_message(make_rig: MakeRig) -> None:
    """Answering the open talk prompt by its id is the same as sending a message."""
    rig = make_rig(says("Hello."), says("Good."))
    task_id = rig.run(mode=Mode.CONVERSATIONAL)
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "Go on.")
    rig.drain()
    assert texts(rig.model.requests[1].messages)[-1] == "Go on."


def test_words_sent_during_a_turn_reach_the_next_request(make_rig: MakeRig) -> None:
    """Input in mid-turn never splits a call from its result, and a task with unread words does not end."""
    rig = make_rig()

    def talk(request: Any, show: Any, interrupt: Any) -> Any:
        rig.people.send(task_id, "One more thing.")
        return says("Done.")

    rig.model.steps += [talk, says("That too.")]
    task_id = rig.submit()
    rig.drain()
    assert texts(rig.model.requests[1].messages)[-1] == "One more thing."
    assert rig.get(task_id).detail.summary == "That too."


def test_a_prompt_that_went_with_a_failed_task_is_asked_again(make_rig: MakeRig) -> None:
    """Retry of a task that failed while one of its prompts was open asks anew instead of waiting for nothing."""

    def deadly(params: Any, context: Any) -> ToolResult:
        raise Killed

    first = FakeTool(name="deadly", effect_class=EffectClass.PURE, side_effecting=True, act=deadly)
    second = guarded()
    rig = make_rig(
        calls(("t1", "deadly", {}), ("t2", "guarded", {})), says("Done."), extra=[first, second], max_recoveries=1
    )
    task_id = rig.run(allow=())
    rig.people.answer(task_id, ids_by_call(rig, task_id)["t1"], "yes")
    rig.dies()
    rig = rig.recover(task_id)
    assert rig.get(task_id).status is Status.FAILED
    first.act = lambda params, context: ToolResult(text="fine now")
    rig.people.retry(task_id)
    rig.drain()
    assert [prompt.tool for prompt in rig.get(task_id).prompts] == ["guarded"]
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert len(second.runs) == 1
    assert rig.get(task_id).status is Status.COMPLETED


def test_prompt_ids_are_the_same_for_the_same_call(make_rig: MakeRig) -> None:
    """A prompt announced again after a recovery keeps its id, so that an answer on its way still fits."""
    rig = make_rig(calls(("t1", "guarded", {})), extra=[guarded()])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    assert prompt.prompt_id == prompt_id(task_id, 0, "t1", f"permission:{prompt.digest}")


def test_a_repeated_answer_counts_once(make_rig: MakeRig) -> None:
    """The same key twice is one answer; a second answer under another key finds the prompt closed."""
    rig = make_rig(calls(("t1", "guarded", {})), says("Done."), extra=[guarded()])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    sent = [Signal(SignalKind.ANSWER, key, "yes", prompt.prompt_id) for key in ("k", "k", "other")]
    assert [rig.store.signal(task_id, one).verdict.value for one in sent] == ["ACCEPTED", "REPEATED", "PROMPT_NOT_OPEN"]
    rig.dispatcher.publish_turn(task_id, 0, rig.get(task_id).seq)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_submit_whose_first_answer_was_lost_is_published(make_rig: MakeRig) -> None:
    """The store has the task, its message was never sent: the repeat sends it, and makes no second task."""
    rig = make_rig(says("Done."))
    spec = TaskSpec(task_id=new_task_id(), name="A task", prompt="Do it.", model="scripted-1")
    assert rig.store.create(spec, "key")[0]
    again = spec.model_copy(update={"task_id": new_task_id()})
    assert rig.people.submit(again, "key") == spec.task_id
    rig.drain()
    assert listing.all_ids(rig.store.context) == [spec.task_id]
    assert rig.get(spec.task_id).status is Status.COMPLETED
    assert rig.people.submit(again, "key") == spec.task_id
    assert rig.dispatcher.messages == []  # there is nothing to wake after the end


HALF = "half a character: \udcff"


@pytest.mark.parametrize(
    "ask",
    [
        lambda rig, task_id: rig.submit("x", tags=(HALF,)),
        lambda rig, task_id: rig.submit("x", working_dir=f"/{HALF}"),
        lambda rig, task_id: rig.people.send(task_id, HALF),
        lambda rig, task_id: rig.people.cancel(task_id, HALF),
        lambda rig, task_id: rig.people.pause(task_id, key=HALF),
        lambda rig, task_id: rig.get(HALF),
    ],
    ids=["tag", "directory", "message", "reason", "key", "id"],
)
def test_text_that_no_server_takes(make_rig: MakeRig, ask: Callable[[Rig, str], object]) -> None:
    """Half a character, as Python reads bytes that are no UTF-8: bad input, and nothing is stored."""
    rig = make_rig(says("Done."))
    task_id = rig.submit()
    before = rig.kit.state()
    with pytest.raises(BadInput):
        ask(rig, task_id)
    assert rig.kit.state() == before


def test_what_is_still_open_after_a_recovery_is_announced_once_more(make_rig: MakeRig) -> None:
    """The first prompt's call killed the worker: the other prompt keeps its id and its deadline."""

    def deadly(params: Any, context: Any) -> ToolResult:
        raise Killed

    first = FakeTool(name="deadly", effect_class=EffectClass.PURE, side_effecting=True, act=deadly)
    rig = make_rig(calls(("t1", "deadly", {}), ("t2", "guarded", {})), says("Done."), extra=[first, guarded()])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    before = next(prompt for prompt in rig.get(task_id).prompts if prompt.tool_use_id == "t2")
    rig.people.answer(task_id, ids_by_call(rig, task_id)["t1"], "yes")
    rig.dies()
    first.act = FakeTool.act
    rig = rig.recover(task_id)
    rig.drain()
    for _ in range(2):
        rig.sweep.run(guarded=False)
        rig.drain()
    assert rig.get(task_id).prompts == (before,)
    assert rig.kinds(task_id).count("UserInputNeeded") == 2

"""Guards of requests, replies, results, people's words, policy and the loop: what they say holds over deaths too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mediakit import png
from neuraphage.cli.event_text import event_text
from neuraphage.client_wiring import new_task_id
from neuraphage.decide.attachments import attachment_of
from neuraphage.hooks import (
    LoopIteration,
    PermissionRequest,
    PostContextAssembly,
    PostLLMCall,
    PostToolUse,
    PostUserInput,
    PreContextAssembly,
    PreLLMCall,
    SecurityPolicyCheck,
    Verdict,
    allow,
    answer,
    block,
    change,
    guard,
)
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Mode, Status, TaskSpec
from neuraphage.store import queries
from neuraphage.testing import CrashInjector, CrashPoint, Side
from turnkit import FakeTool, Rig, calls, killed, recorded, says, texts

MakeRig = Callable[..., Rig]
CALL = ("t1", "act", {"n": 1})


def hook(point: str, *said: Verdict | None, given: list[Any]) -> Any:
    """A guard that says one after the other, and the last one for ever; `given` has what it was given."""

    def judge(payload: Any) -> Verdict | None:
        given.append(payload)
        return said[min(len(given), len(said)) - 1]

    return guard(point, name="judge")(judge)


def opaque() -> FakeTool:
    return FakeTool(effect_class=EffectClass.OPAQUE, side_effecting=True)


# --- requests ---


@pytest.mark.parametrize("point", ["PreContextAssembly", "PostContextAssembly", "PreLLMCall"])
def test_a_blocked_request_is_not_sent_and_a_retry_asks_again(make_rig: MakeRig, point: str) -> None:
    """The task fails with the guard's reason; once the guard allows it, a retry goes on."""
    given: list[Any] = []
    rig = make_rig(says("Done."), hooks=[hook(point, block("no budget today"), None, given=given)])
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert rig.get(task_id).status is Status.FAILED
    assert f"The guard judge blocked at {point}: no budget today" in detail.error
    assert detail.recoverable
    assert rig.model.requests == []
    assert rig.kinds(task_id)[-3:] == ["SecurityPolicyCheck", "SecurityViolation", "TaskFailed"]
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(given) == 2


def test_words_are_added_before_a_request(make_rig: MakeRig) -> None:
    """They stand in the conversation, once; the guard sees what a person has said."""
    given: list[PreContextAssembly] = []
    rig = make_rig(
        calls(CALL),
        says("Done."),
        extra=[FakeTool()],
        hooks=[hook("PreContextAssembly", change(text="Mind the gap."), None, given=given)],
    )
    rig.run("Do it.")
    assert [one.said for one in given] == [("Do it.",), ()]
    assert [texts(request.messages).count("Mind the gap.") for request in rig.model.requests] == [1, 1]


def test_a_request_is_changed_and_only_by_what_may_be(make_rig: MakeRig) -> None:
    """Guards add to the system text and set the longest reply; what was counted is what is sent."""
    after: list[PostContextAssembly] = []
    before: list[PreLLMCall] = []
    hooks = [
        guard("PostContextAssembly", name="a")(lambda p: (after.append(p), change(system="Be brief."))[1]),
        guard("PreLLMCall", name="b")(lambda p: (before.append(p), change(max_tokens=77, system="Be kind."))[1]),
    ]
    rig = make_rig(says("Done."), hooks=hooks)
    rig.run()
    (request,) = rig.model.requests
    assert request.max_tokens == 77
    assert [block["text"] for block in request.system[-1:]] == ["Be brief.\n\nBe kind."] or request.system[-1][
        "text"
    ] == "Be kind."
    assert "Be brief." in before[0].system
    assert (after[0].message_count, before[0].max_tokens, len(after[0].sha256)) == (1, 16_384, 64)
    assert after[0].tokens > 0
    assert before[0].cost_microusd > 0


def test_a_guard_replies_in_place_of_the_model(make_rig: MakeRig) -> None:
    """Nothing is sent, and nothing is paid."""
    rig = make_rig(hooks=[hook("PreLLMCall", answer("From the cache."), given=[])])
    task_id = rig.run()
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED
    assert rig.model.requests == []
    assert record.counters.cost_microusd == 0
    assert texts(rig.entries(task_id))[-1] == "From the cache."


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_request_is_judged_once_for_what_was_announced(make_rig: MakeRig, when: str) -> None:
    """Died behind the announcement, the next process sends the request as it was judged, and asks nobody."""
    given: list[Any] = []
    rig = make_rig(says("Done."), hooks=[hook("PreLLMCall", change(max_tokens=77), given=given)])
    task_id = rig.submit()
    recorded(rig, CrashInjector(CrashPoint("TurnStore.commit", 1, Side(when)), killed))
    rig.dies()
    following = rig.recover(task_id)
    following.drain()
    assert len(given) == (2 if when == "before" else 1)
    assert [request.max_tokens for request in rig.model.requests] == [77]


@pytest.mark.parametrize("turns", [1, "auto"])
@pytest.mark.parametrize("said", [answer("Cached."), change(max_tokens=77), block("enough"), None])
def test_a_request_that_the_claim_has_announced_is_judged_too(
    make_rig: MakeRig, said: Verdict | None, turns: int | str
) -> None:
    """The second turn goes straight on from the first: what was announced is taken back, or sent as it was judged."""
    hooks = [hook("PreLLMCall", None, said, given=(given := []))]
    rig = make_rig(calls(CALL), says("Done."), extra=[FakeTool()], hooks=hooks, turns_per_message=turns)
    task_id = rig.run()
    assert len(given) == 2
    failed = said is not None and said.verdict.value == "block"
    assert rig.get(task_id).status is (Status.FAILED if failed else Status.COMPLETED)
    assert len(rig.model.requests) == (1 if failed or said == answer("Cached.") else 2)
    assert rig.get(task_id).counters.model_resends == 0


# --- replies ---


def test_the_words_of_a_reply_are_changed_and_its_calls_stay(make_rig: MakeRig) -> None:
    """What is stored is what the guard let in."""
    given: list[PostLLMCall] = []
    rig = make_rig(
        calls(CALL, text="secret plan"),
        says("Done."),
        extra=[FakeTool()],
        hooks=[hook("PostLLMCall", change(text="a plan"), None, given=given)],
    )
    task_id = rig.run()
    assert "secret plan" not in str(rig.entries(task_id))
    assert "a plan" in texts(rig.entries(task_id))
    assert (given[0].text, given[0].calls) == ("secret plan", [{"id": "t1", "name": "act", "input": {"n": 1}}])
    assert given[0].output_tokens == 20
    assert "t1" in rig.results(task_id)


def test_a_withheld_reply_is_paid_runs_nothing_and_a_retry_asks_for_another(make_rig: MakeRig) -> None:
    """Its words and calls are not stored."""
    tool = FakeTool()
    rig = make_rig(
        calls(CALL, text="evil"),
        says("Done."),
        extra=[tool],
        hooks=[hook("PostLLMCall", block("evil words"), None, given=[])],
    )
    task_id = rig.run()
    record = rig.get(task_id)
    assert record.status is Status.FAILED
    assert "The guard judge withheld the reply of the model: evil words" in record.detail.error
    assert record.counters.cost_microusd > 0
    assert "'evil'" not in str(rig.entries(task_id))
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert tool.runs == []


# --- results ---


@pytest.mark.parametrize(
    ("said", "text", "error"),
    [
        (change(text="shorter"), "shorter", False),
        (change(is_error=True), "acted", True),
        (block("private"), "This act call has run. The guard judge withheld its result. Its reason: private", True),
    ],
)
def test_a_result_is_changed_or_withheld(make_rig: MakeRig, said: Verdict, text: str, error: bool) -> None:
    """Of a call that has run; the model is told that it has."""
    given: list[PostToolUse] = []
    rig = make_rig(calls(CALL), says("Done."), extra=[FakeTool()], hooks=[hook("PostToolUse", said, given=given)])
    task_id = rig.run()
    result = rig.results(task_id)["t1"]
    assert result["content"] == text
    assert bool(result.get("is_error")) == error
    assert [(one.text, one.params) for one in given] == [("acted", {"n": 1})]


def test_a_result_that_no_call_has_is_not_judged(make_rig: MakeRig) -> None:
    """A call that was refused has not run."""
    given: list[Any] = []
    rig = make_rig(
        calls(("t1", "act", {"bad": 1})),
        says("Done."),
        extra=[FakeTool()],
        hooks=[hook("PostToolUse", None, given=given)],
    )
    rig.run()
    assert given == []


# --- policy and people ---


def test_policy_is_checked_once_more_before_a_call_runs(make_rig: MakeRig) -> None:
    """The guard is told by which rule, or by whose yes, the call would run; its block beats both."""
    given: list[SecurityPolicyCheck] = []
    rig = make_rig(
        calls(CALL),
        says("Done."),
        extra=[tool := opaque()],
        hooks=[hook("SecurityPolicyCheck", block("not on Fridays"), given=given)],
    )
    task_id = rig.run()
    assert [(one.rules, one.is_approved) for one in given] == [(("allow *",), False)]
    assert "not on Fridays" in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []


@pytest.mark.parametrize(
    ("said", "runs", "asked"),
    [(answer("yes"), 1, 0), (answer("no"), 0, 0), (block("ask nobody"), 0, 0), (None, 0, 1)],
)
def test_a_guard_answers_in_place_of_a_person(make_rig: MakeRig, said: Verdict | None, runs: int, asked: int) -> None:
    """Only by yes; everything else is no."""
    given: list[PermissionRequest] = []
    rig = make_rig(
        calls(CALL), says("Done."), extra=[tool := opaque()], hooks=[hook("PermissionRequest", said, given=given)]
    )
    task_id = rig.run(allow=())
    assert len(tool.runs) == runs
    assert len(rig.get(task_id).prompts) == asked
    assert ("PermissionGranted" in rig.kinds(task_id)) == bool(runs)
    assert len(given) == 1


def test_no_guard_allows_what_a_rule_forbids(make_rig: MakeRig) -> None:
    """Its yes stands in place of a person's, and no person's yes beats such a rule."""
    hooks = [hook("PermissionRequest", answer("yes"), given=[])]
    rig = make_rig(calls(CALL), says("Done."), extra=[tool := opaque()], hooks=hooks, rules=("deny act",))
    rig.run(allow=())
    assert tool.runs == []


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (change(text="in other words"), "in other words"),
        (block("rude"), "[What a person wrote was withheld by the guard judge: rude]"),
    ],
)
def test_what_people_write_is_changed_or_withheld(make_rig: MakeRig, said: Verdict, text: str) -> None:
    """A message, and the answer to a question; the model is told that something was withheld."""
    given: list[PostUserInput] = []
    question = calls(("q1", "ask_user", {"question": "Which?"}))
    rig = make_rig(says("Yes?"), question, says("Done."), hooks=[hook("PostUserInput", None, said, given=given)])
    task_id = rig.run(mode=Mode.CONVERSATIONAL)
    rig.people.send(task_id, "mine")
    rig.drain()
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "that one")
    rig.drain()
    assert [one.text for one in given] == ["Do it.", "mine", "that one"]
    assert text in texts(rig.model.requests[1].messages)
    assert rig.results(task_id)["q1"]["content"] == text


@pytest.mark.parametrize("side", [None, *Side])
@pytest.mark.parametrize(
    ("said", "shown"), [(None, "Do it."), (allow(), "Do it."), (change(text="Do it kindly."), "Do it kindly.")]
)
def test_the_goal_is_judged_before_the_first_request(
    make_rig: MakeRig, said: Verdict | None, shown: str, side: Side | None
) -> None:
    """Once for what was announced, whoever dies: a guard's words take the place of the person's for each request, and
    those stay stored. It is a guard's of each message and answer, too, which says nothing here."""
    given: list[PostUserInput] = []
    before: list[PreContextAssembly] = []
    hooks = [hook("PostUserInput", said, given=given), hook("PreContextAssembly", None, given=before)]
    rig = make_rig(calls(CALL), says("Done."), extra=[FakeTool()], hooks=hooks)
    task_id = rig.submit("Do it.")
    if side is not None:
        recorded(rig, CrashInjector(CrashPoint("TurnStore.commit", 1, side), killed))
        rig.dies()
        rig = rig.recover(task_id)
    rig.drain()
    assert [(one.text, one.prompt_id, one.by, one.recovered) for one in given] == [
        ("Do it.", "", "user", recovered) for recovered in ([False, True] if side is Side.BEFORE else [False])
    ]
    assert before[0].said == (shown,)
    assert [texts(request.messages)[0] for request in rig.model.requests] == [shown] * 2
    assert all("Do it." not in texts(request.messages) for request in rig.model.requests) == (shown != "Do it.")
    assert texts(rig.entries(task_id))[0] == "Do it."
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.kinds(task_id).count("SecurityPolicyCheck") == (shown != "Do it.")


def test_a_goal_that_is_rejected_fails_and_a_retry_asks_again(make_rig: MakeRig) -> None:
    """Nothing is sent, and the history has the violation."""
    given: list[Any] = []
    rig = make_rig(says("Done."), hooks=[hook("PostUserInput", block("no such work"), None, given=given)])
    task_id = rig.run()
    assert "The guard judge blocked at PostUserInput: no such work" in rig.get(task_id).detail.error
    assert rig.model.requests == []
    told = queries.events(rig.store.context, task_id)[-3:]
    assert [event.kind for event in told] == ["SecurityPolicyCheck", "SecurityViolation", "TaskFailed"]
    assert list(map(event_text, told[:2])) == [
        "guards of PostUserInput say block (judge)",
        "blocked at PostUserInput by judge",
    ]
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(given) == 2


def test_a_reset_has_the_goal_judged_anew(make_rig: MakeRig) -> None:
    """It stands at the beginning of another conversation."""
    given: list[Any] = []
    hooks = [hook("PostUserInput", change(text="Kindly."), given=given)]
    rig = make_rig(calls(("f", "fail_task", {"reason": "no"})), says("Done."), hooks=hooks)
    task_id = rig.run()
    rig.people.reset(task_id)
    rig.drain()
    assert [one.text for one in given] == ["Do it.", "Do it."]
    assert [texts(request.messages)[0] for request in rig.model.requests] == ["Kindly.", "Kindly."]


def test_what_came_with_a_goal_stays(make_rig: MakeRig) -> None:
    """A guard changes words; an image beside them is no matter of its."""
    given: list[PostUserInput] = []
    rig = make_rig(says("Done."), hooks=[hook("PostUserInput", change(text="Kindly."), given=given)], images="on")
    spec = TaskSpec(task_id=new_task_id(), name="A task", prompt="Do it.", model="scripted-1")
    rig.people.submit(spec, None, [attachment_of(png(), "a.png")])
    rig.drain()
    (request,) = rig.model.requests
    kinds = [block["type"] for block in request.messages[0]["content"]]
    assert kinds.count("image") == 1
    assert texts(request.messages)[-1] == "Kindly."
    assert "Do it." not in texts(request.messages)
    assert [one.text for one in given] == ["Do it."]


# --- the loop ---


def test_the_loop_goes_on_or_stops(make_rig: MakeRig) -> None:
    """A guard has a task that is done go on with another turn, and ends one that is not."""
    given: list[LoopIteration] = []
    rig = make_rig(
        says("Done."),
        says("Done again."),
        hooks=[hook("LoopIteration", change(text="Run the tests first."), None, given=given)],
    )
    task_id = rig.run()
    assert [(one.then, one.finished, one.text) for one in given] == [
        ("completed", 1, "Done."),
        ("completed", 2, "Done again."),
    ]
    assert "Run the tests first." in texts(rig.model.requests[1].messages)
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_guard_that_never_lets_a_task_end_runs_into_its_limit(make_rig: MakeRig) -> None:
    """A stop hook cannot loop for ever."""
    rig = make_rig(
        *[says(f"Done {n}.") for n in range(9)], hooks=[hook("LoopIteration", change(text="More."), given=[])]
    )
    task_id = rig.run(limits={"max_turns": 4})
    assert rig.get(task_id).status is Status.FAILED
    assert len(rig.model.requests) == 4


def test_a_blocked_loop_fails_and_a_retry_asks_again(make_rig: MakeRig) -> None:
    """What the turn has done is stored."""
    hooks = [hook("LoopIteration", block("enough"), None, given=[])]
    rig = make_rig(calls(CALL), says("Done."), extra=[tool := FakeTool()], hooks=hooks)
    task_id = rig.run()
    assert "The guard judge blocked at LoopIteration: enough" in rig.get(task_id).detail.error
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(tool.runs) == 1

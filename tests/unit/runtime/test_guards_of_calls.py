"""Guards of calls: what they say holds, is journaled with the intent, and is not asked again after a death."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.errors import BadInput
from neuraphage.hooks import PreToolUse, PreUserPrompt, Verdict, allow, answer, block, change, guard
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.store import queries
from neuraphage.testing import CrashInjector, CrashPoint, Side
from turnkit import FakeTool, Rig, calls, killed, recorded, says

MakeRig = Callable[..., Rig]
CALL = ("t1", "act", {"n": 1})


def echo() -> FakeTool:
    """An opaque tool that says what it was given; policy allows it by `allow=("*",)`."""
    return FakeTool(
        effect_class=EffectClass.OPAQUE,
        side_effecting=True,
        act=lambda params, _: ToolResult(text=f"did {dict(params)}"),
    )


def told(rig: Rig, task_id: str, kind: str) -> list[dict[str, Any]]:
    return [event.data for event in queries.events(rig.store.context, task_id) if event.kind == kind]


@pytest.mark.parametrize(
    ("said", "text", "runs"),
    [
        (None, "did {'n': 1}", 1),
        (allow(), "did {'n': 1}", 1),
        (block("not today"), "The guard judge blocked this act call. It was not run. Its reason: not today", 0),
        (
            change(params={"n": 2}),
            "The guard judge changed this call, to {\"n\":2}. What follows is about that call.\ndid {'n': 2}",
            1,
        ),
        (answer("cached"), "cached", 0),
    ],
)
def test_what_a_guard_says_holds(make_rig: MakeRig, said: Verdict | None, text: str, runs: int) -> None:
    """Allow, block with a reason, other parameters, or a result in place of the call; the model is told which."""
    tool, given = echo(), []

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict | None:
        given.append(call)
        return said

    rig = make_rig(calls(CALL), says("Done."), extra=[tool], hooks=[judge])
    task_id = rig.run()
    assert rig.results(task_id)["t1"]["content"] == text
    assert len(tool.runs) == runs
    assert [(one.tool, one.params, one.effect, one.recovered) for one in given] == [("act", {"n": 1}, "opaque", False)]
    (check,) = told(rig, task_id, "SecurityPolicyCheck")
    verdict = "allow" if said is None else said.verdict.value
    assert (check["point"], check["verdict"]) == ("PreToolUse", verdict)
    assert len(told(rig, task_id, "SecurityViolation")) == (verdict == "block")
    assert rig.get(task_id).status is Status.COMPLETED


def test_guards_are_asked_in_order_until_one_blocks(make_rig: MakeRig) -> None:
    """The next one sees what the one before has changed; behind a block nobody is asked."""
    asked = []

    @guard("PreToolUse")
    def first(call: PreToolUse) -> Verdict:
        asked.append(("first", call.params))
        return change(params={"n": 2})

    @guard("PreToolUse")
    def second(call: PreToolUse) -> Verdict:
        asked.append(("second", call.params))
        return block("two is too many")

    @guard("PreToolUse")
    def third(call: PreToolUse) -> None:
        asked.append(("third", call.params))

    rig = make_rig(calls(CALL), says("Done."), extra=[tool := echo()], hooks=[first, second, third])
    task_id = rig.run()
    assert asked == [("first", {"n": 1}), ("second", {"n": 2})]
    assert "The guard second blocked this act call" in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []


def fails(call: PreToolUse) -> Verdict:
    raise OSError("the policy server is away")


def leaves(call: PreToolUse) -> Verdict:
    raise SystemExit(0)


HANG = threading.Event()


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (fails, "it failed with OSError: the policy server is away"),
        (leaves, "it failed with SystemExit: 0"),
        (lambda _: HANG.wait(), "it did not answer within 0.05 s"),
        (lambda _: True, "it returned a bool, not a Verdict"),
        (lambda _: {"verdict": "allow"}, "it returned a dict, not a Verdict"),
        (lambda _: change(text="x"), "a change at PreToolUse has no text"),
        (lambda _: change(params={"n": "x" * 300_000}), "262144 are the most"),
        (lambda _: change(params={"n": object()}), "its change is no JSON"),
        (lambda _: change(params={"bad": 1}), "The guard's change of the call does not fit: bad is no parameter"),
        (lambda _: change(nonsense=1), "it failed with ValidationError"),
    ],
)
def test_a_guard_that_cannot_judge_has_blocked(make_rig: MakeRig, judge: Callable[[Any], Any], why: str) -> None:
    """Whatever it raises, returns, or does not return in time: what no guard has allowed does not run."""
    hook = guard("PreToolUse", timeout_s=0.05 if "0.05" in why else 10.0, name="judge")(judge)
    rig = make_rig(calls(CALL), says("Done."), extra=[tool := echo()], hooks=[hook])
    task_id = rig.run()
    assert why in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []
    assert rig.get(task_id).status is Status.COMPLETED


def test_calls_that_hang_are_not_piled_up(make_rig: MakeRig) -> None:
    """A worker would run out of threads; once eight calls of a guard hang, it blocks without being asked."""
    asked = []

    def hang(call: PreToolUse) -> None:
        asked.append(call)
        HANG.wait()

    wanted = [(f"t{n}", "act", {"n": n}) for n in range(10)]
    hook = guard("PreToolUse", timeout_s=0.02, name="hang")(hang)
    rig = make_rig(calls(*wanted), says("Done."), extra=[echo()], hooks=[hook])
    task_id = rig.run()
    assert len(asked) == 8
    assert "8 calls of it have not come back" in rig.results(task_id)["t9"]["content"]


def test_a_person_is_asked_about_the_changed_call(make_rig: MakeRig) -> None:
    """The guard comes before policy and people; their yes is for what runs, and the guard is not asked again."""
    asked = []

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict:
        asked.append(call.params)
        return change(params={"n": 2})

    rig = make_rig(calls(CALL), says("Done."), extra=[tool := echo()], hooks=[judge])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    assert prompt.params_summary == "n=2"
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert len(tool.runs) == 1
    assert asked == [{"n": 1}]


def test_nobody_is_asked_about_what_a_guard_blocks(make_rig: MakeRig) -> None:
    """Also the second of two calls, which would be asked about together with the first one."""

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict | None:
        return block("never two") if call.params["n"] == 2 else None

    rig = make_rig(calls(CALL, ("t2", "act", {"n": 2})), says("Done."), extra=[echo()], hooks=[judge])
    task_id = rig.run(allow=())
    assert [prompt.tool_use_id for prompt in rig.get(task_id).prompts] == ["t1"]


def test_what_a_person_has_changed_is_judged_anew(make_rig: MakeRig) -> None:
    """Their change does not go past the guard; and a guard changes nothing that a person has put in place."""
    asked = []

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict | None:
        asked.append(call.params)
        return block("three is forbidden") if call.params["n"] == 3 else None

    rig = make_rig(calls(CALL), says("Done."), extra=[tool := echo()], hooks=[judge])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, 'edit: {"n": 3}')
    rig.drain()
    assert asked == [{"n": 1}, {"n": 3}]
    assert "three is forbidden" in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []


@pytest.mark.parametrize(
    ("said", "text"),
    [(answer("blue"), "blue"), (block("no questions"), "no questions"), (change(text="Colour?"), None)],
)
def test_questions_have_guards_of_their_own(make_rig: MakeRig, said: Verdict, text: str | None) -> None:
    """A guard answers in place of a person, forbids the question, or puts it in other words."""

    @guard("PreUserPrompt")
    def judge(prompt: PreUserPrompt) -> Verdict:
        assert prompt.text == "Which colour?"
        return said

    rig = make_rig(calls(("q1", "ask_user", {"question": "Which colour?"})), says("Done."), hooks=[judge])
    task_id = rig.run()
    if text is None:
        assert [prompt.text for prompt in rig.get(task_id).prompts] == ["Colour?"]
    else:
        assert text in rig.results(task_id)["q1"]["content"]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_guard_is_asked_once_for_what_was_begun(make_rig: MakeRig, when: str) -> None:
    """Its verdict is in the commit that announces the call. Died before it, the guard is asked again, and told so; died
    after it, the next process takes what is journaled."""
    asked = []

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict:
        asked.append(call.recovered)
        return change(params={"n": 2})

    tool = FakeTool(act=lambda params, _: ToolResult(text=f"did {dict(params)}"))
    replies = [calls(CALL)] * (2 if when == "before" else 1)  # one that was not committed is asked for again
    rig = make_rig(*replies, says("Done."), extra=[tool], hooks=[judge])
    task_id = rig.submit()
    injector = CrashInjector(CrashPoint("TurnStore.commit", 2, Side(when)), killed)
    recorded(rig, injector)
    rig.dies()
    following = rig.recover(task_id)
    following.drain()
    assert asked == ([False, True] if when == "before" else [False])
    assert following.results(task_id)["t1"]["content"].endswith("did {'n': 2}")
    assert len(tool.runs) == 1


def test_a_verdict_holds_in_a_worker_without_the_guard(make_rig: MakeRig) -> None:
    """What was journaled is what runs, whoever goes on."""

    @guard("PreToolUse")
    def judge(call: PreToolUse) -> Verdict:
        return change(params={"n": 2})

    rig = make_rig(
        calls(CALL), says("Done."), extra=[FakeTool(act=lambda p, _: ToolResult(text=f"did {dict(p)}"))], hooks=[judge]
    )
    task_id = rig.submit()
    recorded(rig, CrashInjector(CrashPoint("TurnStore.commit", 2, Side.AFTER), killed))
    rig.dies()
    rig.hooks = ()
    following = rig.recover(task_id)
    following.drain()
    assert following.results(task_id)["t1"]["content"].endswith("did {'n': 2}")


@pytest.mark.parametrize("points", [(), ("TaskCompleted",), ("PreToolUse", "Nonsense")])
def test_a_guard_is_declared_for_points_of_guards(points: tuple[str, ...]) -> None:
    """What has happened cannot be judged any more."""
    with pytest.raises(BadInput, match="no point of guards; these are: PreContextAssembly"):
        guard(*points)


@pytest.mark.parametrize("timeout_s", [0.0, -1.0, 301.0, float("inf")])
def test_a_guard_has_a_time(timeout_s: float) -> None:
    """No guard waits for ever."""
    with pytest.raises(BadInput, match="above 0, and 300 at most"):
        guard("PreToolUse", timeout_s=timeout_s)

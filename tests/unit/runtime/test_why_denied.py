"""What the model and people are told of a call that was not allowed: by whom, or that nobody answered."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.cli.event_text import event_text
from neuraphage.decide.policy import why_denied
from neuraphage.decide.rules.reading import read_rule
from neuraphage.model.task import Status
from neuraphage.store import queries
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def unanswered(make_rig: MakeRig) -> tuple[Rig, str]:
    """A task whose permission nobody gave or refused in time."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(("t1", "act", {})), says("I go on without."), extra=[tool])
    task_id = rig.run(allow=(), permission_timeout_s=300.0)
    (member,) = rig.client.zrange(rig.kit.keys.deadlines, 0, -1)
    rig.client.zadd(rig.kit.keys.deadlines, {member: 1})
    rig.sweep.run(guarded=False)
    rig.drain()
    assert tool.runs == []
    return rig, task_id


def test_a_permission_that_timed_out_is_no_refusal(make_rig: MakeRig) -> None:
    """The model is told that nobody answered, within how long, and not that a person said no."""
    rig, task_id = unanswered(make_rig)
    result = rig.results(task_id)["t1"]
    assert result["is_error"] is True
    assert "Nobody answered within 300 s" in result["content"]
    assert "did not allow" not in result["content"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_the_history_says_that_nobody_answered(make_rig: MakeRig) -> None:
    """For people as well: `timeout` is nobody's name."""
    rig, task_id = unanswered(make_rig)
    lines = [event_text(event) for event in queries.events(rig.store.context, task_id)]
    assert "nobody answered in time" in lines
    assert "act not run: nobody had allowed it" in lines
    assert not any("timeout" in line for line in lines)


@pytest.mark.parametrize(("said", "again"), [("no", "did not allow"), ("never", "has said before")])
def test_what_a_person_said_is_told_as_said(make_rig: MakeRig, said: str, again: str) -> None:
    """The asked call was refused; a later one under a remembered `never` was not asked about."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(("t1", "act", {})), calls(("t2", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, said)
    rig.drain()
    if said == "no":
        rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, said)
        rig.drain()
    assert "did not allow" in rig.results(task_id)["t1"]["content"]
    assert again in rig.results(task_id)["t2"]["content"]


@pytest.mark.parametrize(
    ("rules", "instead"),
    [
        (("deny act",), ""),
        (("deny act", "allow other: x *"), ""),
        (("deny act: x *",), " Other act calls are judged by themselves."),
        (("deny act: x *", "allow act: y *", "allow act", "allow act: z"), " Rules allow `act: y *`, `act: z`."),
        (("deny act: x *", *(f"allow act: y{n}" for n in range(9))), "`act: y3`, `act: y4`."),
    ],
)
def test_the_model_is_told_what_would_be_allowed(rules: tuple[str, ...], instead: str) -> None:
    """Beside the rule that forbids: what rules allow of this tool, a few of them."""
    read = [read_rule(rule) for rule in rules]
    told = why_denied("act", None, None, read[0], rules=read)
    assert told.startswith(f"The rule `{rules[0]}` of the settings forbids this act call.")
    assert told.endswith(f"Do what can be done without it.{instead}" if not instead.endswith("y4`.") else instead)


def test_a_task_is_told_what_its_rules_allow(make_rig: MakeRig) -> None:
    """Those of the settings and its own, in the result of the call."""
    call = ("t1", "run_command", {"command": "git push"})
    rig = make_rig(calls(call), says("Done."), rules=("deny run_command: git push *", "allow run_command: git log *"))
    task_id = rig.run(allow=("run_command: pytest *",))
    assert rig.results(task_id)["t1"]["content"].endswith(
        " Rules allow `run_command: git log *`, `run_command: pytest *`."
    )


def test_a_timeout_of_unknown_length_is_told_too() -> None:
    """A prompt may outlive the setting that it came from."""
    assert "Nobody answered in time" in why_denied("act", "timeout", None)

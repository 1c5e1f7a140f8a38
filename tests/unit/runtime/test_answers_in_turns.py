"""More than yes and no: words with a no, and rules that a task remembers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.api.service import TaskService
from neuraphage.decide.fate import fate_of
from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput
from neuraphage.model.task import Status
from neuraphage.own_rule_changes import add_rule
from neuraphage.own_rules import OwnRules
from neuraphage.ports import Signal, SignalKind, SignalVerdict
from neuraphage.store import queries
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def run(key: str, command: str) -> tuple[str, str, dict[str, str]]:
    return key, "run_command", {"command": command}


def answered(rig: Rig, task_id: str, text: str) -> None:
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, text)
    rig.drain()


def test_words_with_a_no_reach_the_model(make_rig: MakeRig) -> None:
    """Without a secret that is in them; the call is not run."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    key = "sk-ant-api03-" + "Ab1_" * 24
    answered(rig, task_id, f"no: use the other one, with {key}")
    result = rig.results(task_id)["t1"]
    assert result["is_error"]
    assert "A person did not allow this act call. It was not run." in result["content"]
    assert "They say: use the other one, with " in result["content"]
    assert key not in str(rig.kit.state())
    assert tool.runs == []


def test_a_pattern_holds_for_such_calls_of_the_task(make_rig: MakeRig) -> None:
    """Also in another process; for others, and for lines of which a part is another, a person is asked."""
    rig = make_rig(
        calls(run("t1", "cat a.txt")),
        calls(run("t2", "cat b.txt | cat")),
        calls(run("t3", "cat a.txt; ls")),
        says("Done."),
    )
    task_id = rig.run(allow=())
    rig = rig.reborn()
    answered(rig, task_id, "always run_command: cat *")
    assert rig.get(task_id).grants == {"run_command: cat *": "granted"}
    assert set(rig.results(task_id)) == {"t1", "t2"}
    assert [prompt.tool_use_id for prompt in rig.get(task_id).prompts] == ["t3"]


def test_a_pattern_allows_the_call_that_was_asked_about_too(make_rig: MakeRig) -> None:
    """Whether it fits it or not: the person was asked about this call, and said yes."""
    rig = make_rig(calls(run("t1", "ls")), calls(run("t2", "cat a")), calls(run("t3", "ls")), says("Done."))
    task_id = rig.run(allow=())
    answered(rig, task_id, "always: cat *")
    assert set(rig.results(task_id)) == {"t1", "t2"}
    assert rig.get(task_id).status is Status.WAITING_FOR_USER


@pytest.mark.parametrize("rule", ["deny run_command: cat *", "ask run_command: cat *"])
def test_a_remembered_pattern_beats_no_rule(make_rig: MakeRig, rule: str) -> None:
    """As no remembered answer does."""
    rig = make_rig(calls(run("t1", "ls")), calls(run("t2", "cat a.txt")), says("Done."), rules=(rule,))
    task_id = rig.run(allow=())
    answered(rig, task_id, "always: cat *")
    if rule.startswith("deny"):
        assert "forbids this run_command call" in rig.results(task_id)["t2"]["content"]
    else:
        assert [prompt.tool_use_id for prompt in rig.get(task_id).prompts] == ["t2"]


def test_what_arrives_unread_is_a_no(make_rig: MakeRig) -> None:
    """Past what every surface refuses: it never counts as a yes."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    with pytest.raises(BadInput, match="no answer to"):
        rig.people.answer(task_id, prompt.prompt_id, "yes: all of it")
    rig.store.signal(task_id, Signal(SignalKind.ANSWER, "k", "yes: all of it", prompt.prompt_id))
    rig.dispatcher.publish_turn(task_id, 0, rig.get(task_id).seq)
    rig.drain()
    assert tool.runs == []
    assert rig.get(task_id).grants == {}


def test_no_answer_is_taken_that_a_task_could_not_remember(make_rig: MakeRig) -> None:
    """The record of a task has a limit."""
    rig = make_rig(calls(("t1", "act", {})), extra=[FakeTool(side_effecting=True)])
    task_id = rig.run(allow=())
    full = {f"g:act: {n}": "granted" for n in range(100)}
    rig.client.hset(rig.kit.keys.task(task_id), mapping=full)
    with pytest.raises(BadInput, match="remembers 100 answers"):
        answered(rig, task_id, "always")
    assert rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "no").verdict is SignalVerdict.ACCEPTED


def test_rules_of_the_person_hold_from_the_next_turn_on(make_rig: MakeRig, tmp_path: Path) -> None:
    """The same process, without a restart; only where they hold."""
    path = tmp_path / "own" / "rules.toml"
    rig = make_rig(calls(run("t1", "ls")), calls(run("t2", "ls")), calls(run("t3", "ls")), says("Done."))
    object.__setattr__(rig.services, "own_rules", OwnRules(path))
    task_id = rig.run(allow=())
    add_rule(path, read_rule("allow run_command: ls *"), "/elsewhere")
    answered(rig, task_id, "yes")
    assert [prompt.tool_use_id for prompt in rig.get(task_id).prompts] == ["t2"]
    add_rule(path, read_rule("allow run_command: ls *"), str(rig.folder))
    answered(rig, task_id, "yes")
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_rule_that_an_answer_makes_holds_for_the_task_too(make_rig: MakeRig) -> None:
    """The worker may be another machine's, which has no file of this person."""
    rig = make_rig(calls(run("t1", "ls")), calls(run("t2", "ls -l")), says("Done."))
    task_id = rig.run(allow=())
    made: list[tuple[str, str | None]] = []
    people = TaskService(
        rig.store,
        rig.dispatcher,
        rig.services.redaction,
        lambda: "key",
        lambda rule, folder: made.append((str(rule), folder)) is None,
    )
    people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "always here: ls *")
    rig.drain()
    assert made == [("allow run_command: ls *", str(rig.folder))]
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("call", "text"),
    [(("t1", "act", {}), "no: use tabs"), (("t1", "ask_user", {"question": "Which?"}), "the blue one")],
)
def test_late_answers_are_told_the_words_of_the_first(make_rig: MakeRig, call: Any, text: str) -> None:
    """Once a turn has taken it: whoever asks what became of the prompt reads them, without secrets."""
    rig = make_rig(calls(call), says("Done."), extra=[FakeTool(side_effecting=True)])
    task_id = rig.run(allow=())
    (prompt,) = rig.get(task_id).prompts
    answered(rig, task_id, text)
    fate = fate_of(queries.events(rig.store.context, task_id), prompt.prompt_id)
    assert fate is not None
    assert (fate.answer, fate.by) == (text, "user")

"""A person changes a call and allows it: what runs is judged like any other call, and the model knows what ran."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.model.tool_traits import ToolTraits
from neuraphage.settings import Settings
from neuraphage.store import queries
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
RUN = ("t1", "run_command", {"command": "echo one", "timeout_ms": 30000})


def edited(rig: Rig, task_id: str, **changes: Any) -> None:
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, f"edit: {json.dumps(changes)}")
    rig.drain()


def test_the_changed_call_runs_and_the_model_is_told(make_rig: MakeRig) -> None:
    """The other parameters stay; a null takes one away. The history says who changed what, and what was decided."""
    rig = make_rig(calls(RUN), says("Done."))
    task_id = rig.run(allow=())
    shown = rig.get(task_id).prompts[0].digest
    edited(rig, task_id, command="echo two", timeout_ms=None)
    text = rig.results(task_id)["t1"]["content"]
    assert 'A person changed this call before they allowed it, to {"command":"echo two","timeout_ms":null}' in text
    assert "two" in text.partition("\n")[2]
    (event,) = [one for one in queries.events(rig.store.context, task_id) if one.kind == "PermissionGranted"]
    assert (event.data["by"], event.data["edited"]) == ("user", ["command", "timeout_ms"])
    assert event.data["digest"] != shown
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_changed_call_is_judged_by_the_rules(make_rig: MakeRig) -> None:
    """A rule that forbids it beats the person's word, as it does for every call."""
    rig = make_rig(calls(RUN), says("Done."), rules=("deny run_command: cat *",))
    task_id = rig.run(allow=())
    edited(rig, task_id, command="cat a.txt")
    text = rig.results(task_id)["t1"]["content"]
    assert "The rule `deny run_command: cat *` of the settings forbids this run_command call" in text
    assert "A person changed this call" in text
    assert "ToolStarted" not in rig.kinds(task_id)


def test_a_changed_call_that_destroys_never_runs(make_rig: MakeRig) -> None:
    """Whoever wrote it. The tool only looks like one that runs commands."""
    tool = FakeTool(side_effecting=True, traits=ToolTraits(command="command"))
    rig = make_rig(calls(("t1", "act", {"command": "true"})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    edited(rig, task_id, command="mkfs.ext4 /dev/none")
    assert "It never runs here." in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []


def test_changes_that_do_not_fit_are_asked_about_again(make_rig: MakeRig) -> None:
    """By another prompt, which says why; it is about the call as the model made it."""
    rig = make_rig(calls(RUN), says("Done."))
    task_id = rig.run(allow=())
    edited(rig, task_id, nonsense=1)
    (prompt,) = rig.get(task_id).prompts
    assert "The change was not taken: The parameters of run_command do not fit" in prompt.text
    assert "echo one" in (prompt.params_summary or "")
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert rig.results(task_id)["t1"]["content"].strip().startswith("one")


def test_what_changed_since_the_asking_is_asked_about_again(make_rig: MakeRig) -> None:
    """The person changed another picture: nothing of it is taken over."""
    rig = make_rig(calls(RUN), says("Done."))
    task_id = rig.run(allow=())
    settings = Settings(**{**dict(rig.settings), "rules": ("ask edit",)})
    rig = dataclasses.replace(rig, settings=settings).reborn()
    edited(rig, task_id, command="echo two")
    (prompt,) = rig.get(task_id).prompts
    assert "The change was not taken, since the rules or the tool have changed." in prompt.text
    assert rig.results(task_id) == {}


def test_a_changed_path_is_the_one_that_is_written(make_rig: MakeRig) -> None:
    """And the next call knows the file as it was written."""
    write = ("t1", "write_file", {"path": "a.txt", "content": "old\n"})
    edit = ("t2", "edit", {"path": "b.txt", "old_string": "new", "new_string": "newer"})
    rig = make_rig(calls(write), calls(edit), says("Done."))
    task_id = rig.run(allow=())
    edited(rig, task_id, path="b.txt", content="new\n")
    assert not (rig.folder / "a.txt").exists()
    assert (rig.folder / "b.txt").read_text(encoding="utf-8") == "new\n"
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert (rig.folder / "b.txt").read_text(encoding="utf-8") == "newer\n"


@pytest.mark.parametrize("effect_class", [EffectClass.PURE, EffectClass.KEYED])
def test_a_kill_changes_nothing_of_it(make_rig: MakeRig, effect_class: EffectClass) -> None:
    """The next owner makes the same call again, under the same key."""
    seen: list[Any] = []

    def act(params: Any, context: Any) -> ToolResult:
        seen.append(dict(params))
        if len(seen) == 1:
            raise Killed
        return ToolResult(text="done")

    tool = FakeTool(effect_class=effect_class, side_effecting=True, act=act)
    rig = make_rig(calls(("t1", "act", {"n": 1})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, 'edit: {"n": 2}')
    rig.dies()
    rig = rig.recover(task_id)
    rig.drain()
    assert seen == [{"n": 2}, {"n": 2}]
    assert len(set(tool.runs)) == 1
    assert "A person changed this call" in rig.results(task_id)["t1"]["content"]


def test_an_edit_with_a_secret_is_refused(make_rig: MakeRig) -> None:
    """What would be stored in its place is another call."""
    rig = make_rig(calls(RUN), says("Done."))
    task_id = rig.run(allow=())
    with pytest.raises(BadInput, match="holds a secret"):
        edited(rig, task_id, command="echo sk-ant-api03-" + "Ab1_" * 24)
    assert len(rig.get(task_id).prompts) == 1

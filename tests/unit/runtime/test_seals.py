"""A yes holds for what was shown: the call, its file, where that is, and the rules; whatever differs is asked anew."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from neuraphage.model.effect import EffectClass, ToolEffect, tool_effect
from neuraphage.model.task import Status
from neuraphage.settings import Settings
from neuraphage.store import queries
from neuraphage.tools import change_tool
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]
WRITE = ("w1", "write_file", {"path": "d/b.txt", "content": "ours\n"})


def under_rules(rig: Rig, *rules: str) -> Rig:
    """Another process over the same server, with other rules of its settings."""
    settings = Settings(**{**dict(rig.settings), "rules": rules})
    return dataclasses.replace(rig, settings=settings).reborn()


def answered(rig: Rig, task_id: str, word: str = "yes") -> None:
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, word)
    rig.drain()


def guarded_task(make_rig: MakeRig) -> tuple[Rig, FakeTool, str]:
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = make_rig(calls(("t1", "guarded", {"n": 1})), says("Done."), extra=[tool])
    return rig, tool, rig.run(allow=())


@pytest.mark.parametrize("rule", ["ask read_file: docs/**", "deny run_command: git push *"])
def test_other_rules_are_asked_under(make_rig: MakeRig, rule: str) -> None:
    """A yes of before holds for nothing under a policy that forbids or asks more; the next prompt says so."""
    rig, tool, task_id = guarded_task(make_rig)
    (first,) = rig.get(task_id).prompts
    rig = under_rules(rig, rule)
    answered(rig, task_id)
    (second,) = rig.get(task_id).prompts
    assert (tool.runs, second.prompt_id == first.prompt_id, second.digest == first.digest) == ([], False, False)
    assert "It was allowed before, but the rules or the tool have changed since." in second.text
    assert rig.kinds(task_id).count("PermissionVoided") == 1
    answered(rig, task_id)
    assert len(tool.runs) == 1
    assert rig.get(task_id).status is Status.COMPLETED


def test_rules_that_allow_more_take_nothing_from_an_answer(make_rig: MakeRig) -> None:
    """No rule had allowed the call, so neither a new one nor one that is gone is another picture."""
    rig, tool, task_id = guarded_task(make_rig)
    rig = under_rules(rig, "allow read_file: docs/**")
    answered(rig, task_id)
    assert len(tool.runs) == 1


def test_a_no_stays_a_no_whatever_has_changed(make_rig: MakeRig) -> None:
    """Nobody is asked again about what they refused."""
    rig, tool, task_id = guarded_task(make_rig)
    rig = under_rules(rig, "ask guarded")
    answered(rig, task_id, "no")
    assert (tool.runs, rig.get(task_id).status) == ([], Status.COMPLETED)


def test_the_tool_means_something_else_now(make_rig: MakeRig) -> None:
    """An upgrade of the tool between prompt and answer: what was approved is not what would run."""
    rig, tool, task_id = guarded_task(make_rig)
    newer = dataclasses.replace(tool, version="2", runs=[])
    rig = rig.reborn(extra=[newer])
    answered(rig, task_id)
    assert (tool.runs, newer.runs, len(rig.get(task_id).prompts)) == ([], [], 1)


def test_a_link_that_was_turned_is_another_place(make_rig: MakeRig) -> None:
    """Both places are empty, so the hashes alone would tell nothing."""
    rig = make_rig(calls(WRITE), says("Done."))
    for name in ("x", "y"):
        (rig.folder / name).mkdir()
    link = rig.folder / "d"
    link.symlink_to("x")
    task_id = rig.run(allow=())
    link.unlink()
    link.symlink_to("y")
    answered(rig, task_id)
    assert not (rig.folder / "y" / "b.txt").exists()
    assert len(rig.get(task_id).prompts) == 1
    answered(rig, task_id)
    assert (rig.folder / "y" / "b.txt").read_text(encoding="utf-8") == "ours\n"
    assert not (rig.folder / "x" / "b.txt").exists()


def test_a_file_that_changes_at_the_very_last_moment_is_kept(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind the look at the seal the tool looks once more, with the approved content in its hands."""
    rig = make_rig(calls(WRITE), says("Done."))
    path = rig.folder / "d" / "b.txt"
    task_id = rig.run(allow=())
    real = change_tool.ChangeTool.carry_out

    def late(tool: Any, params: Any, context: Any) -> Any:
        path.parent.mkdir()
        path.write_text("theirs", encoding="utf-8")
        return real(tool, params, context)

    monkeypatch.setattr(change_tool.ChangeTool, "carry_out", late)
    answered(rig, task_id)
    assert "did not exist when the user was asked about this call" in rig.results(task_id)["w1"]["content"]
    assert path.read_text(encoding="utf-8") == "theirs"


def test_a_yes_to_a_prompt_of_a_release_without_digests_holds(make_rig: MakeRig) -> None:
    """It was bound to tool and parameters, which are the same."""
    rig, tool, task_id = guarded_task(make_rig)
    (prompt,) = rig.get(task_id).prompts
    field = f"p:{prompt.prompt_id}"
    stored = orjson.loads(rig.client.hget(rig.kit.keys.task(task_id), field))
    del stored["digest"]
    rig.client.hset(rig.kit.keys.task(task_id), field, orjson.dumps(stored))
    answered(under_rules(rig, "ask guarded"), task_id)
    assert len(tool.runs) == 1


def test_the_event_names_the_digest_of_the_prompt(make_rig: MakeRig) -> None:
    """Who looks back can tell what a yes was given for; while the call waits to run the journal holds it, too."""
    second = ("t2", "guarded", {"n": 2})
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = make_rig(calls(second, ("t1", "guarded", {"n": 1})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    prompt = next(one for one in rig.get(task_id).prompts if one.tool_use_id == "t1")
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    entry = tool_effect(rig.journal(task_id), "t1")
    assert isinstance(entry, ToolEffect)
    assert entry.digest == prompt.digest
    events = [event for event in queries.events(rig.store.context, task_id) if event.kind == "PermissionGranted"]
    assert [event.data["digest"] for event in events] == [prompt.digest]

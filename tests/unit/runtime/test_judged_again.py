"""A call that was begun and did not run is judged anew: rules, files and a person's yes are held against it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool import ProbeVerdict, ToolResult
from neuraphage.settings import Settings
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
COMMAND = ("t1", "run_command", {"command": "echo once >> ran"})
CLASSES = [EffectClass.PURE, EffectClass.KEYED, EffectClass.CHECKABLE]


def killed(*args: Any, **kwargs: Any) -> Any:
    raise Killed


def dies_once() -> Callable[..., ToolResult]:
    """A tool's work whose first process is killed before it did anything."""
    lives: list[int] = []

    def act(params: Any, context: Any) -> ToolResult:
        lives.append(1)
        if len(lives) == 1:
            raise Killed
        return ToolResult(text="acted")

    return act


def recovered(rig: Rig, task_id: str, *rules: str) -> Rig:
    """The next process, whose settings have these rules, goes on until nothing is left to do."""
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    settings = Settings(**{**dict(rig.settings), "rules": rules})
    rig = dataclasses.replace(rig, settings=settings).reborn()
    rig.drain()
    return rig


def died_before_start(make_rig: MakeRig, **fields: Any) -> tuple[Rig, str]:
    """A command that was announced, whose process was killed before it began."""
    rig = make_rig(calls(COMMAND), says("Done."))
    start, rig.services.spool.start = rig.services.spool.start, killed
    task_id = rig.submit(**fields)
    if not fields.get("allow", ("*",)):
        rig.drain()
        rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.dies()
    rig.services.spool.start = start
    return rig, task_id


def ran(rig: Rig) -> bool:
    return (rig.folder / "ran").exists()


def told(rig: Rig, task_id: str) -> str:
    text: str = rig.results(task_id)["t1"]["content"]
    return text


# --- commands that were announced and never began ---


def test_a_sealed_command_that_a_rule_forbids_since_does_not_run(make_rig: MakeRig) -> None:
    """Deny beats allow, also for what was allowed and announced before the rule was there."""
    rig, task_id = died_before_start(make_rig)
    rig = recovered(rig, task_id, "deny run_command: echo *")
    assert not ran(rig)
    assert "deny run_command: echo *" in told(rig, task_id)
    assert rig.kinds(task_id).count("PermissionDenied") == 1


def test_a_sealed_command_that_a_rule_asks_about_since_is_asked_about(make_rig: MakeRig) -> None:
    """It waits for a person, then runs once, under the id of its second start."""
    rig, task_id = died_before_start(make_rig)
    rig = recovered(rig, task_id, "ask run_command")
    (prompt,) = rig.get(task_id).prompts
    assert (ran(rig), rig.get(task_id).status) == (False, Status.WAITING_FOR_USER)
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert (rig.folder / "ran").read_text(encoding="utf-8") == "once\n"
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_yes_is_held_against_what_a_sealed_command_would_run_under_now(make_rig: MakeRig) -> None:
    """It was given under other rules; those of today are another picture, and the prompt says so."""
    rig, task_id = died_before_start(make_rig, allow=())
    rig = recovered(rig, task_id, "ask read_file: docs/**")
    (prompt,) = rig.get(task_id).prompts
    assert "It was allowed before, but the rules or the tool have changed since." in prompt.text
    assert (ran(rig), rig.kinds(task_id).count("PermissionVoided")) == (False, 1)


def test_a_yes_holds_for_a_sealed_command_where_nothing_has_changed(make_rig: MakeRig) -> None:
    """A death between announcement and start asks nobody anew."""
    rig, task_id = died_before_start(make_rig, allow=())
    rig = recovered(rig, task_id)
    assert (rig.folder / "ran").read_text(encoding="utf-8") == "once\n"
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_process_that_dies_before_the_second_start_leaves_a_third(make_rig: MakeRig) -> None:
    """Each start has an id of its own, also where the two are lives apart."""
    rig, task_id = died_before_start(make_rig)
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    rig = rig.reborn()
    rig.services.spool.start = killed
    rig.dies()
    rig = recovered(rig, task_id)
    assert (rig.folder / "ran").read_text(encoding="utf-8") == "once\n"


def test_a_wait_for_the_former_owner_is_not_begun_anew(make_rig: MakeRig) -> None:
    """What was sealed never starts; so nothing of its owner is waited for, although it was only seen absent."""
    rig, task_id = died_before_start(make_rig)
    rig.sweep.recover(rig.kit.held(task_id), "absent")
    rig = rig.reborn()
    rig.drain()
    assert (ran(rig), rig.get(task_id).status) == (True, Status.COMPLETED)


# --- calls of tools that do their work themselves ---


@pytest.mark.parametrize("effect_class", CLASSES)
def test_an_interrupted_call_that_a_rule_forbids_since_is_not_made_again(
    make_rig: MakeRig, effect_class: EffectClass
) -> None:
    """What changes something leaves open whether it was done, and says so; what is known not to have run is denied."""
    tool = FakeTool(effect_class=effect_class, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.submit()
    rig.dies()
    rig = recovered(rig, task_id, "deny act")
    assert len(tool.runs) == 1
    unknown = effect_class is EffectClass.KEYED
    assert ("outcome is unknown" in told(rig, task_id)) is unknown
    assert ("deny act" in told(rig, task_id)) is not unknown
    assert rig.get(task_id).status is Status.COMPLETED


def allowed_and_killed(make_rig: MakeRig) -> tuple[Rig, str, FakeTool]:
    """A task whose person has allowed a call, and whose process was killed in it before it had any effect."""
    tool = FakeTool(
        effect_class=EffectClass.CHECKABLE, side_effecting=True, act=dies_once(), happened=ProbeVerdict.NOT_HAPPENED
    )
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run(allow=())
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.dies()
    return rig, task_id, tool


def test_a_call_that_had_no_effect_keeps_its_evidence_and_its_yes(make_rig: MakeRig) -> None:
    """Evidence taken anew could show what a late former owner has done, as if it had been there before."""
    rig, task_id, tool = allowed_and_killed(make_rig)
    prepared: list[int] = []
    tool.prepare = lambda *_: prepared.append(1) or {"before": 2}  # type: ignore[method-assign,func-returns-value]
    rig = recovered(rig, task_id)
    assert (len(tool.runs), prepared) == (2, [])
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_yes_to_a_call_that_had_no_effect_is_held_against_the_rules(make_rig: MakeRig) -> None:
    """As for a command: other rules, another picture."""
    rig, task_id, tool = allowed_and_killed(make_rig)
    rig = recovered(rig, task_id, "ask read_file: docs/**")
    assert (len(tool.runs), rig.get(task_id).status) == (1, Status.WAITING_FOR_USER)
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert (len(tool.runs), rig.get(task_id).status) == (2, Status.COMPLETED)

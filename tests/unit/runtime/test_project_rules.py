"""Rules of a trusted project, as turns meet them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.store import queries
from neuraphage.trusted_projects import TrustedRules, distrust, trust
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def trusting(rig: Rig, path: Path, *rules: str) -> None:
    """The task's directory brings these rules, and the person trusts them."""
    (rig.folder / "neuraphage.toml").write_text(f"rules = {list(rules)!r}\n", encoding="utf-8")
    trust(path, str(rig.folder.resolve()))


@pytest.fixture
def trust_path(tmp_path: Path) -> Path:
    return tmp_path / "own" / "trust.toml"


def with_projects(rig: Rig, path: Path) -> Rig:
    object.__setattr__(rig.services, "project_rules", TrustedRules(path))
    return rig


def run(key: str, command: str) -> tuple[str, str, dict[str, str]]:
    return key, "run_command", {"command": command}


def test_the_model_is_told_whose_rule_forbids_a_call(make_rig: MakeRig, trust_path: Path) -> None:
    """Whatever the settings, the person and the task allow; the history has its source."""
    rig = with_projects(make_rig(calls(run("t1", "git push")), says("Done."), rules=("allow run_command",)), trust_path)
    trusting(rig, trust_path, "deny run_command: git push")
    task_id = rig.run(allow=("*",))
    told = rig.results(task_id)["t1"]
    assert told["is_error"]
    assert "The rule `deny run_command: git push` of the project's file forbids" in told["content"]
    (event,) = [one.data for one in queries.events(rig.store.context, task_id) if one.kind == "PermissionDenied"]
    assert (event["by"], event["source"]) == ("rule", "project")


def test_a_command_that_names_a_blocked_host_is_denied(make_rig: MakeRig) -> None:
    """The model is told which host, and by which setting; nobody is asked, and the history has it."""
    rig = make_rig(calls(run("t1", "curl https://evil.org/x")), says("Done."), blocked_hosts=("evil.org",))
    task_id = rig.run(allow=("*",))
    told = rig.results(task_id)["t1"]
    assert told["is_error"]
    said = "names a host of `evil.org`, which no command may reach: the rule `deny host: evil.org` of the settings"
    assert said in told["content"]
    (event,) = [one.data for one in queries.events(rig.store.context, task_id) if one.kind == "PermissionDenied"]
    assert (event["by"], event["rule"], event["source"]) == ("rule", "deny host: evil.org", "settings")


def test_they_hold_from_the_next_turn_on(make_rig: MakeRig, trust_path: Path) -> None:
    """The same process, without a restart; until then what nobody trusts is not used."""
    path = trust_path
    rig = with_projects(make_rig(calls(run("t1", "echo a")), calls(run("t2", "echo a")), says("Done.")), path)
    (rig.folder / "neuraphage.toml").write_text('rules = ["ask run_command"]\n', encoding="utf-8")
    real, turns = rig.services.project_rules.of, []

    def of(working_dir: str | None) -> object:
        turns.append(working_dir)
        if len(turns) == 2:
            trust(path, str(rig.folder.resolve()))
        return real(working_dir)

    object.__setattr__(rig.services.project_rules, "of", of)
    task_id = rig.run(allow=("*",))
    assert [prompt.tool_use_id for prompt in rig.get(task_id).prompts] == ["t2"]


@pytest.mark.parametrize("change", ["trusted", "trusted no longer"])
def test_an_approval_is_bound_to_them(make_rig: MakeRig, trust_path: Path, change: str) -> None:
    """A yes under other rules of the project is asked for anew."""
    tool = FakeTool(name="guarded", effect_class=EffectClass.OPAQUE, side_effecting=True)
    rig = with_projects(make_rig(calls(("t1", "guarded", {"n": 1})), says("Done."), extra=[tool]), trust_path)
    if change != "trusted":
        trusting(rig, trust_path, "ask read_file")
    task_id = rig.run(allow=())
    if change == "trusted":
        trusting(rig, trust_path, "ask read_file")
    else:
        distrust(trust_path, str(rig.folder.resolve()))
    for runs in (0, 1):
        rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
        rig.drain()
        assert len(tool.runs) == runs
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_task_takes_no_rule_away_by_writing_the_file(make_rig: MakeRig, trust_path: Path) -> None:
    """The write is asked about, as every change of this file; if a person allows it, what they trusted still holds."""
    write = ("w1", "write_file", {"path": "neuraphage.toml", "content": "rules = []\n"})
    look = ("r1", "read_file", {"path": "neuraphage.toml"})
    rig = make_rig(calls(look), calls(write), calls(run("t1", "git push")), says("Done."))
    rig = with_projects(rig, trust_path)
    trusting(rig, trust_path, "deny run_command: git push")
    task_id = rig.run(allow=("*",))
    (prompt,) = rig.get(task_id).prompts
    assert prompt.tool_use_id == "w1"
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert (rig.folder / "neuraphage.toml").read_text(encoding="utf-8") == "rules = []\n"
    assert "of the project's file forbids" in rig.results(task_id)["t1"]["content"]

"""Command lines that a rule lets out of the sandbox: asked about, told as such, and really run outside."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.model.task import Status
from neuraphage.tools.command_tool import RunCommand
from sandboxkit import SandboxedHost
from turnkit import Rig, calls, says

MakeRig = Callable[..., Rig]


@pytest.fixture
def rig(make_rig: MakeRig, host: SandboxedHost) -> Rig:
    """A worker whose commands are confined, and a rule about one of them."""
    model = [calls(("t1", "run_command", {"command": f"touch {host.folder}/made"})), says("Done.")]
    made = make_rig(*model, rules=("outside run_command: touch *",))
    tool = RunCommand(sandbox=host.sandbox)
    made.services.tools._tools["run_command"] = tool
    made.services.declarations["run_command"] = tool.declaration
    return made


def test_it_is_asked_about_and_runs_outside(rig: Rig, host: SandboxedHost) -> None:
    """Though everything was allowed; the prompt says where it would run."""
    task_id = rig.run(allow=("*",), working_dir=str(host.work))
    (prompt,) = rig.get(task_id).prompts
    assert prompt.text == "May run_command run outside of the sandbox?"
    rig.people.answer(task_id, prompt.prompt_id, "yes")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert (host.folder / "made").exists()


def test_what_no_rule_lets_out_stays_inside(make_rig: MakeRig, host: SandboxedHost) -> None:
    """The control."""
    made = make_rig(calls(("t1", "run_command", {"command": f"touch {host.folder}/made"})), says("Done."))
    made.services.tools._tools["run_command"] = RunCommand(sandbox=host.sandbox)
    task_id = made.run(allow=("*",), working_dir=str(host.work))
    assert "Read-only file system" in made.results(task_id)["t1"]["content"]
    assert not (host.folder / "made").exists()


def test_an_approval_for_inside_does_not_hold_outside(rig: Rig, host: SandboxedHost, make_rig: MakeRig) -> None:
    """Nor the other way: another confinement is another call, which is asked about anew."""
    task_id = rig.run(working_dir=str(host.work))
    (before,) = rig.get(task_id).prompts
    plain = RunCommand()
    rig.services.tools._tools["run_command"] = plain
    rig.services.declarations["run_command"] = plain.declaration
    rig.people.answer(task_id, before.prompt_id, "yes")
    rig.drain()
    (now,) = rig.get(task_id).prompts
    assert now.prompt_id != before.prompt_id
    assert now.text.startswith("May run_command run? It was allowed before")
    assert not (host.folder / "made").exists()

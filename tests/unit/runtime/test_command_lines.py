"""Command lines in turns: what never runs, what is asked about although it was allowed, what only speaks of such forms.

The tool of these tests has a command line and runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from neuraphage.decide.next_call import DESTRUCTIVE
from neuraphage.decide.rules.reading import read_rule
from neuraphage.model.effect import EffectClass
from neuraphage.model.task import Status
from neuraphage.model.tool_traits import ToolTraits
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]
LINE = ToolTraits(command="line")
WIPE = " ".join(("rm", "-rf", '"/"'))
UNREADABLE = "echo )"


def asked_to_run(make_rig: MakeRig, command: str, **fields: object) -> tuple[Rig, FakeTool, str]:
    """A task whose model has called a command line."""
    shell = FakeTool(name="shell", effect_class=EffectClass.OPAQUE, side_effecting=True, traits=LINE)
    rig = make_rig(calls(("t1", "shell", {"line": command})), says("Done."), extra=[shell])
    return rig, shell, rig.run(**fields)


@pytest.mark.parametrize("command", [WIPE, f"bash -c '{WIPE}'", f"true && sudo {WIPE}", "echo x >|/dev/sda"])
def test_what_would_destroy_the_machine_never_runs(make_rig: MakeRig, command: str) -> None:
    """Whatever was allowed: nobody is asked, and the model is told."""
    rig, shell, task_id = asked_to_run(make_rig, command, allow=("*",))
    assert shell.runs == []
    assert rig.results(task_id)["t1"]["content"] == DESTRUCTIVE
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("command", [f"git commit -m '{WIPE}'", f"cat <<'X'\n{WIPE}\nX", "grep mkfs setup.sh"])
def test_what_only_speaks_of_it_runs(make_rig: MakeRig, command: str) -> None:
    """A message, a here-document and a search."""
    _, shell, _ = asked_to_run(make_rig, command, allow=("shell",))
    assert len(shell.runs) == 1


@pytest.mark.parametrize("allow", [("*",), ("shell",), ()])
def test_a_line_that_cannot_be_read_is_asked_about(make_rig: MakeRig, allow: tuple[str, ...]) -> None:
    """What it runs is not known, so nothing but a person's word about this very line lets it run."""
    rig, shell, task_id = asked_to_run(make_rig, UNREADABLE, allow=allow)
    assert (rig.get(task_id).status, shell.runs) == (Status.WAITING_FOR_USER, [])
    rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, "yes")
    rig.drain()
    assert (rig.get(task_id).status, len(shell.runs)) == (Status.COMPLETED, 1)


def test_without_a_parser_a_line_is_asked_about(make_rig: MakeRig) -> None:
    """Also a harmless one that was allowed; a form that never runs is known by its text."""

    class Missing:
        def read(self, command: str) -> None:
            return None

    for command, status in (("ls", Status.WAITING_FOR_USER), ("rm -rf build", Status.WAITING_FOR_USER)):
        shell = FakeTool(name="shell", side_effecting=True, traits=LINE)
        rig = make_rig(calls(("t1", "shell", {"line": command})), says("Done."), extra=[shell])
        rig.runner._services = replace(rig.services, shell=Missing())
        assert rig.get(rig.run(allow=("*",))).status is status
        assert shell.runs == []


def test_a_remembered_yes_is_not_for_a_line_that_cannot_be_read(make_rig: MakeRig) -> None:
    """The person has not seen this one; a remembered no holds for it as well."""
    for remembered, status in (("always", Status.WAITING_FOR_USER), ("never", Status.COMPLETED)):
        shell = FakeTool(name="shell", side_effecting=True, traits=LINE)
        steps = [calls((f"t{n}", "shell", {"line": line})) for n, line in enumerate(("ls", UNREADABLE))]
        rig = make_rig(*steps, says("Done."), extra=[shell])
        task_id = rig.run(allow=())
        rig.people.answer(task_id, rig.get(task_id).prompts[0].prompt_id, remembered)
        rig.drain()
        assert rig.get(task_id).status is status
        assert len(shell.runs) == (remembered == "always")


def test_rules_of_the_settings_hold_in_turns(make_rig: MakeRig) -> None:
    """A denied command is told with its rule, an allowed one runs unasked, another one is asked about."""
    rules = ("deny shell: git push *", "allow shell: git *")
    for command, status, ran in (
        ("git log", Status.COMPLETED, 1),
        ("git log; git push", Status.COMPLETED, 0),
        ("ls", Status.WAITING_FOR_USER, 0),
    ):
        shell = FakeTool(name="shell", side_effecting=True, traits=LINE)
        rig = make_rig(calls(("t1", "shell", {"line": command})), says("Done."), extra=[shell])
        object.__setattr__(rig.services, "rules", tuple(map(read_rule, rules)))
        task_id = rig.run(allow=())
        assert (rig.get(task_id).status, len(shell.runs)) == (status, ran)
        if "push" in command:
            result = rig.results(task_id)["t1"]
            assert result["is_error"] is True
            assert "`deny shell: git push *` of the settings forbids this shell call" in result["content"]

"""Programs as hooks. The failures of others' hooks: whatever a guard's program does but a verdict has blocked."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.shell_hooks import read_shell_hook
from neuraphage.errors import BadInput, SpoolError
from neuraphage.hook_wiring import all_hooks
from neuraphage.hooks.declaring import Hook
from neuraphage.hooks.observers import LoadedObservers
from neuraphage.hooks.shell_hook import numbered
from neuraphage.model.hook_payload import Observed
from neuraphage.ports import SpoolCommand
from neuraphage.settings import Settings
from neuraphage.wiring import build_sandbox
from turnkit import FakeTool, Rig, calls, says, until

MakeRig = Callable[..., Rig]
CALL = ("t1", "act", {"n": 1})
ALLOW = 'print(\'{"verdict": "allow"}\')'


def program(folder: Path, source: str, name: str = "check") -> Path:
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport json, os, subprocess, sys, time\n{source}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def hooks(*lines: str, confine: Callable[[SpoolCommand], SpoolCommand] = lambda command: command) -> list[Hook]:
    return numbered({line: read_shell_hook(line) for line in lines}, confine, frozenset())


def result(make_rig: MakeRig, line: str, **options: Any) -> str:
    """What the model is told of a call that the program judges."""
    rig = make_rig(calls(CALL), says("Done."), extra=[FakeTool()], hooks=hooks(line, **options))
    return str(rig.results(rig.run())["t1"]["content"])


def test_a_program_is_given_the_payload_and_says_its_verdict(make_rig: MakeRig, tmp_path: Path) -> None:
    """As JSON both; its arguments are its own, and no shell reads them. Of the environment it gets no key."""
    source = """
given = json.load(sys.stdin)
assert sys.argv[1:] == ["a b", "$HOME"], sys.argv
assert not [name for name in os.environ if "KEY" in name], os.environ
assert os.environ["NEURAPHAGE_TASK"] == given["task_id"]
assert given["point"] == "PreToolUse" and given["tool"] == "act", given
print(json.dumps({"verdict": "change", "params": {"n": given["params"]["n"] + 1}}))
"""
    os.environ["SOME_API_KEY"] = "x"
    try:
        text = result(make_rig, f"guard PreToolUse: {program(tmp_path, source)} 'a b' $HOME")
    finally:
        del os.environ["SOME_API_KEY"]
    assert text == 'The guard check changed this call, to {"n":2}. What follows is about that call.\nacted'


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("", 'it said nothing; write {"verdict": "allow"} to allow'),
        ("sys.exit(2)", "it ended with status 2"),
        ("print('no', file=sys.stderr); sys.exit(1)", "it ended with status 1: no"),
        (f"{ALLOW}; sys.exit(1)", "it ended with status 1"),
        ("os.kill(os.getpid(), 9)", "it ended with status -9"),
        ("print('not json')", "it wrote no verdict to standard output"),
        ('print(\'{"verdict": "allow"\')', "it wrote no verdict to standard output"),
        (f"print('debug'); {ALLOW}", "it wrote no verdict to standard output"),
        ('print(\'{"verdict": "maybe"}\')', "it wrote no verdict to standard output"),
        ('print(\'{"decision": "approve"}\')', "it wrote no verdict to standard output"),
        ('print(\'{"verdict": "allow", "params": {}}\')', "allow changes nothing, and has params"),
        ("sys.stdout.write('x' * 3_000_000)", "it wrote more than 1000000 bytes"),
        ("sys.stderr.write('x' * 3_000_000)", "it wrote more than 1000000 bytes"),
        ("time.sleep(600)", "it did not end within 0.5 s"),
        ("os.close(1); os.close(2); time.sleep(600)", "it did not end within 0.5 s"),
    ],
)
def test_whatever_is_no_verdict_has_blocked(make_rig: MakeRig, tmp_path: Path, source: str, why: str) -> None:
    """Silence, other exit statuses, broken or foreign JSON, floods, and programs that hang."""
    time = "0.5s" if "0.5 s" in why else "60s"
    text = result(make_rig, f"guard PreToolUse {time}: {program(tmp_path, source)}")
    assert "The guard check blocked this act call" in text
    assert why in text


def test_a_program_that_is_not_there_or_cannot_be_run_has_blocked(make_rig: MakeRig, tmp_path: Path) -> None:
    """A mistyped path is the likeliest fault of all."""
    assert "it could not be started" in result(make_rig, f"guard PreToolUse: {tmp_path}/nowhere")
    plain = tmp_path / "plain"
    plain.write_text(ALLOW, encoding="utf-8")
    assert "it could not be started" in result(make_rig, f"guard PreToolUse: {plain}")


def test_a_program_that_cannot_be_confined_is_not_run(make_rig: MakeRig, tmp_path: Path) -> None:
    """It has blocked."""

    def refuse(command: SpoolCommand) -> SpoolCommand:
        raise SpoolError("no sandbox")

    text = result(make_rig, f"guard PreToolUse: {program(tmp_path, ALLOW)}", confine=refuse)
    assert "it could not be started: no sandbox" in text


def test_a_program_need_not_read_what_it_is_given(make_rig: MakeRig, tmp_path: Path) -> None:
    """However long that is: no pipe breaks."""
    line = f"guard PreToolUse: {program(tmp_path, ALLOW)}"
    call = ("t1", "act", {"text": "x" * 500_000})
    rig = make_rig(calls(call), says("Done."), extra=[FakeTool()], hooks=hooks(line))
    assert rig.results(rig.run())["t1"]["content"] == "acted"


def test_what_a_program_leaves_behind_is_ended_and_holds_nothing_up(make_rig: MakeRig, tmp_path: Path) -> None:
    """A child in the background has its output open."""
    pid = tmp_path / "pid"
    begins = f"subprocess.Popen(['/bin/sleep', '600']); open({str(pid)!r}, 'w').write(str(os.getpgid(0)))"
    assert result(make_rig, f"guard PreToolUse 60s: {program(tmp_path, f'{begins}; {ALLOW}')}") == "acted"
    group = int(pid.read_text())
    assert until(lambda: not is_there(group))


def is_there(group: int) -> bool:
    """Whether a process of the group lives, or waits to be reaped by the machine's first process."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    living = subprocess.run(["/bin/ps", "-o", "stat=", "-g", str(group)], capture_output=True, text=True, check=False)
    return any(not state.startswith("Z") for state in living.stdout.split())


def test_a_program_observes(tmp_path: Path) -> None:
    """Its output is not looked at, its status is; it is told which event it is given, and whether again."""
    kept = tmp_path / "kept"
    source = f"open({str(kept)!r}, 'a').write(sys.stdin.read() + '\\n'); print('whatever')"
    (hook,) = hooks(f"observer TaskCompleted,TaskFailed 30s: {program(tmp_path, source)}")
    told = Observed(task_id="t", event="TaskFailed", event_id="5-0", data={"error": "x"}, recovered=True)
    assert LoadedObservers([hook]).tell("check", told) == ""
    given = json.loads(kept.read_text())
    assert (given["event"], given["event_id"], given["recovered"]) == ("TaskFailed", "5-0", True)
    (hook,) = hooks(f"observer TaskFailed: {program(tmp_path, 'sys.exit(3)', 'other')}")
    assert LoadedObservers([hook]).tell("other", told) == "it ended with status 3"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("PreToolUse: /bin/true", "write KIND POINT"),
        ("guard PreToolUse", "write KIND POINT"),
        ("guard PreToolUse:", "write KIND POINT"),
        ("guard PreToolUse: check.py", "by its whole path"),
        ("guard PreToolUse: /bin/sh 'x", "No closing quotation"),
        ("guard TaskCompleted: /bin/true", "TaskCompleted is no point of guards"),
        ("observer PreToolUse: /bin/true", "PreToolUse is no point of observers"),
        ("guard PreToolUse 0s: /bin/true", "more than 0 s"),
        ("guard PreToolUse 301s: /bin/true", "300 s at most"),
    ],
)
def test_a_line_that_is_no_hook_is_refused_with_its_form(line: str, why: str) -> None:
    """By the settings, so that no worker starts with half of them."""
    with pytest.raises(BadInput, match=why.replace("(", r"\(")):
        read_shell_hook(line)
    with pytest.raises(Exception, match="shell_hooks"):
        Settings(namespace="n", shell_hooks=(line,))


def test_two_lines_with_one_program_have_names_of_their_own() -> None:
    """A number tells them apart."""
    found = hooks("guard PreToolUse: /bin/true", "guard PostToolUse 5s: /bin/true")
    assert [hook.name for hook in found] == ["true", "true-2"]


def test_programs_run_in_the_sandbox_of_commands(host: object, make_rig: MakeRig, tmp_path: Path) -> None:
    """They see no secret of the person, and change nothing but the working directory."""
    work = tmp_path / "work"
    work.mkdir()
    outside = tmp_path / "outside"
    source = f"""
try:
    open({str(outside)!r}, "w").write("x")
except OSError:
    pass
print(json.dumps({{"verdict": "block", "reason": "it has tried"}}))
"""
    settings = Settings(
        namespace="n",
        data_dir=tmp_path / "data",
        sandbox="require",
        shell_hooks=(f"guard PreToolUse: {program(work, source)}",),
    )
    loaded = all_hooks(settings, str, lambda: build_sandbox(settings))
    rig = make_rig(calls(CALL), says("Done."), extra=[FakeTool()], hooks=loaded.hooks)
    text = rig.results(rig.run(working_dir=str(work)))["t1"]["content"]
    assert "Its reason: it has tried" in text
    assert not outside.exists()

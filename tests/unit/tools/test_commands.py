"""run_command and UnspooledCommands: results, environment, and that no process is ever left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from tools_fakes import FakeInterrupt, until

from neuraphage.errors import CancelRequested, LeaseLost, SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.model.tool import ToolResult
from neuraphage.ports import SpoolCommand, SpoolStatus, ToolContext
from neuraphage.testing.unspooled_commands import UnspooledCommands
from neuraphage.tools.command_result import interrupted_result, result_of_status
from neuraphage.tools.command_tool import RunCommand
from neuraphage.tools.environment import clean_environment
from patience import PATIENCE_S


@pytest.fixture
def mark() -> Iterator[str]:
    """A name that the test's processes carry in their environment; what is left of them is killed."""
    name = f"np-test-{uuid.uuid4().hex}"
    yield name
    for one in alive(name):
        one.kill()


def alive(mark: str) -> list[psutil.Process]:
    """Living processes whose environment holds the mark, the test's own children that only watch left out."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get("MARK") == mark:
                found.append(process)
        except psutil.Error:
            continue
    return found


def run(context: ToolContext, command: str, **more: Any) -> ToolResult:
    return RunCommand(environ=dict(os.environ)).run({"command": command, **more}, context)


def command(line: str, effect_id: str = "e1", mark: str = "", timeout_s: float = 60, cwd: str = "/") -> SpoolCommand:
    env = {"PATH": os.environ["PATH"], "MARK": mark}
    return SpoolCommand(effect_id, ("/bin/sh", "-c", line), cwd, timeout_s, env)


# A family that is hard to end: one in another session, one that ignores SIGTERM, one stopped, one orphan.
FAMILY = """
setsid sleep 300 &
(trap '' TERM; while :; do sleep 300; done) &
sleep 300 & kill -STOP $!
(sleep 300 &)
echo ready; wait
"""


def output_has(spool: UnspooledCommands, effect_id: str, text: str) -> bool:
    """Whether a running command has written this (seen in the room's own buffer: look tells only of ended ones)."""
    return text in spool._commands[effect_id]._output.text(10_000)


# --- results ---------------------------------------------------------------------------------------


def test_output_and_exit_code_show(root: Path, context: ToolContext) -> None:
    """Both streams as they came, in the working directory, the exit code last."""
    result = run(context, "pwd; echo out; echo err >&2; exit 3")
    assert result == ToolResult(text=f"{root}\nout\nerr\n[exit code 3]", is_error=True)


def test_success_without_output(context: ToolContext) -> None:
    """Exit code 0 is no error, and silence is said."""
    assert run(context, "true") == ToolResult(text="[no output]\n[exit code 0]")


def test_a_command_has_no_input(context: ToolContext) -> None:
    """A command that reads its stdin sees the end at once instead of hanging."""
    assert run(context, "cat; echo done").text == "done\n[exit code 0]"


def test_a_signal_is_named(context: ToolContext) -> None:
    """An end by signal is told by the signal's name."""
    assert run(context, "kill -SEGV $$").text.endswith("[killed by signal SIGSEGV]")


def test_a_timeout_is_told_with_what_was_written(context: ToolContext) -> None:
    """The output so far is kept; the limit that held is named."""
    result = run(context, "echo begun; sleep 300", timeout_ms=2_000)
    assert result == ToolResult(text="begun\n[timed out after 2 s; the command was ended]", is_error=True)


def test_a_timeout_over_the_cap_is_lowered(context: ToolContext) -> None:
    """No call can ask for more than the tool allows."""
    tool = RunCommand(max_timeout_s=0.3, environ=dict(os.environ))
    assert "timed out after 0.3 s" in tool.run({"command": "sleep 300", "timeout_ms": 10**9}, context).text
    assert tool.timeout_s({"command": "x"}) == 0.3


def test_long_output_keeps_head_and_tail_and_no_torn_character(context: ToolContext) -> None:
    """Multi-byte output over the limit is cut between characters, and the ending still fits."""
    result = run(context, "echo BEGIN; head -c 400000 /dev/zero | sed 's/\\x00/é€😀/g'; echo; echo END")
    assert len(result.text) <= context.output_limit_chars
    assert result.text.startswith("BEGIN")
    assert result.text.endswith("END\n[exit code 0]")
    assert "characters left out" in result.text
    assert "\ufffd" not in result.text


def test_a_background_process_is_ended_and_told(context: ToolContext) -> None:
    """What a command leaves running ends with it, and the model is told."""
    assert run(context, "sleep 300 & echo up").text == (
        "up\n[processes left in the background, ended now: 1]\n[exit code 0]"
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [("a\0b", "NUL"), ("", "at least 1 char"), ("\udc80", "surrogate"), ("x" * 200_000, "write it to a script")],
)
def test_commands_that_cannot_be_given_to_a_shell(context: ToolContext, bad: str, words: str) -> None:
    """They are refused before anything is started."""
    result = run(context, bad)
    assert result.is_error
    assert words in result.text


def test_no_working_directory_is_an_answer(root: Path, context: ToolContext) -> None:
    """A directory that is gone starts nothing and leaves the outcome certain."""
    root.rmdir()
    result = run(context, "true")
    assert (result.is_error, result.unknown_outcome) == (True, False)


class BrokenSpool(UnspooledCommands):
    """Fails or answers as a test says."""

    def __init__(self, start: Exception | None = None, answer: SpoolStatus | Exception | None = None) -> None:
        super().__init__()
        self._start, self._answer = start, answer

    def start(self, command: SpoolCommand) -> DetachedState:
        if self._start:
            raise self._start
        return DetachedState.SEALED

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Any) -> SpoolStatus:
        if isinstance(self._answer, Exception):
            raise self._answer
        assert self._answer is not None
        return self._answer


def test_a_command_that_could_not_be_started_has_a_certain_outcome(context: ToolContext) -> None:
    """The spool refused: it did not run."""
    result = run(replace(context, spool=BrokenSpool(start=SpoolError("disk full"))), "rm x")
    assert (result.is_error, result.unknown_outcome) == (True, False)
    assert "did not run" in result.text


@pytest.mark.parametrize(
    "answer",
    [
        *(SpoolStatus(state) for state in (DetachedState.ABSENT, DetachedState.SEALED, DetachedState.LOST)),
        SpoolError("torn"),
    ],
)
def test_a_lost_outcome_is_unknown_and_asks_to_look(context: ToolContext, answer: SpoolStatus | Exception) -> None:
    """Nothing is claimed; the command is repeated so that the model knows what to look for."""
    result = run(replace(context, spool=BrokenSpool(answer=answer)), "rm precious")
    assert result.unknown_outcome
    assert result.is_error
    assert "rm precious" in result.text
    assert "before you decide whether to run it again" in result.text


@pytest.mark.parametrize(
    ("reason", "words"), [("cancelled", "cancelled"), ("output_limit", "output limit"), ("lease_moved", "moved")]
)
def test_other_endings_are_errors(reason: str, words: str) -> None:
    """Whoever ended the command, it is said, even when it managed to exit with 0."""
    result = result_of_status(SpoolStatus(DetachedState.DONE, 0, reason), command="x", timeout_s=1)
    assert result.is_error
    assert words in result.text


def test_an_interrupted_result_shortens_a_long_command() -> None:
    """The text stays small whatever the command was, and can be stored."""
    text = interrupted_result("x" * 90_000 + "\ud800", "It had started").text
    assert len(text) < 2_000
    text.encode("utf-8")


# --- environment -----------------------------------------------------------------------------------


def test_commands_see_no_secret(context: ToolContext) -> None:
    """Keys of the worker do not reach a command, not even when named by mistake."""
    secrets = {
        "ANTHROPIC_API_KEY": "s3cret", "NEURAPHAGE_STATE_URL": "s3cret", "GITHUB_TOKEN": "s3cret",
        "db_password": "s3cret",
        "AWS_SECRET_ACCESS": "s3cret", "MY_CREDENTIALS": "s3cret", "OTHER": "s3cret",
    }  # fmt: skip
    names = [name for name in secrets if name != "OTHER"]
    tool = RunCommand(environ={**os.environ, **secrets, "WANTED": "yes"}, extra_names=[*names, "WANTED"])
    text = tool.run({"command": "env"}, context).text
    assert "s3cret" not in text
    assert "WANTED=yes" in text
    assert "TERM=dumb" in text


def test_a_command_is_told_its_task(context: ToolContext) -> None:
    """Whatever the worker's own environment says; what the command starts then gives no orders to tasks."""
    tool = RunCommand(environ={**os.environ, "NEURAPHAGE_TASK": "task-of-the-worker"}, extra_names=["NEURAPHAGE_TASK"])
    assert "NEURAPHAGE_TASK=task-1\n" in tool.run({"command": "env"}, context).text


def test_the_environment_has_what_commands_need() -> None:
    """PATH, HOME and LANG are there even when the worker has none."""
    assert {"PATH", "HOME", "LANG", "TERM"} <= clean_environment({}).keys()
    assert clean_environment({"PATH": "/my/bin"})["PATH"] == "/my/bin"


# --- no process is left behind -----------------------------------------------------------------------


def test_a_timeout_ends_the_whole_family(spool: UnspooledCommands, interrupt: FakeInterrupt, mark: str) -> None:
    """Other sessions, deaf, stopped and orphaned processes are gone when wait returns."""
    spool.start(command(FAMILY, mark=mark, timeout_s=1))
    status = spool.wait("e1", 1_000, interrupt)
    assert (status.state, status.reason) == (DetachedState.DONE, "timeout")
    assert status.output.startswith("ready\n")  # a shell may still say that its child was killed
    assert alive(mark) == []


def test_an_ordinary_end_leaves_nothing(spool: UnspooledCommands, interrupt: FakeInterrupt, mark: str) -> None:
    """A command that exits by itself takes its background processes along, and keeps its own exit code."""
    spool.start(command(FAMILY.replace("wait", "exit 7"), mark=mark))
    status = spool.wait("e1", 1_000, interrupt)
    assert (status.reason, status.exit_code) == ("exited", 7)
    assert status.left_behind >= 4
    assert alive(mark) == []


@pytest.mark.parametrize("error", [CancelRequested, LeaseLost])
def test_an_interrupt_ends_the_whole_family(
    spool: UnspooledCommands, interrupt: FakeInterrupt, mark: str, error: type[BaseException]
) -> None:
    """Cancel returns when all are gone; a lost lease returns at once and they go all the same."""
    spool.start(command(FAMILY, mark=mark))
    until(lambda: output_has(spool, "e1", "ready"))
    threading.Thread(target=lambda: interrupt.subscribed.wait(PATIENCE_S) and interrupt.fire(error())).start()
    with pytest.raises(error):
        spool.wait("e1", 1_000, interrupt)
    if error is CancelRequested:
        assert alive(mark) == []
        assert spool.look("e1", 1_000).reason == "cancelled"
    until(lambda: not alive(mark))


def test_cancel_by_id_waits_until_all_are_gone(spool: UnspooledCommands, mark: str) -> None:
    """The answer comes after the end, and a second cancel is harmless."""
    spool.start(command(FAMILY, mark=mark))
    until(lambda: output_has(spool, "e1", "ready"))
    assert spool.cancel("e1") is DetachedState.DONE
    assert alive(mark) == []
    assert spool.cancel("e1") is DetachedState.DONE


def test_the_output_limit_ends_a_command(interrupt: FakeInterrupt, mark: str) -> None:
    """Endless output ends the command and keeps memory bounded."""
    spool = UnspooledCommands(max_output_bytes=200_000, grace_s=0.2)
    spool.start(command("yes", mark=mark))
    status = spool.wait("e1", 1_000, interrupt)
    assert status.reason == "output_limit"
    assert len(status.output) <= 1_000
    assert alive(mark) == []


def test_a_killed_worker_takes_its_command_along(mark: str) -> None:
    """kill -9 of the worker ends the command and its family, other sessions included."""
    code = f"""
        import os, threading
        from neuraphage.ports import SpoolCommand
        from neuraphage.testing.unspooled_commands import UnspooledCommands
        env = {{"PATH": os.environ["PATH"], "MARK": {mark!r}}}
        spool = UnspooledCommands(grace_s=0.2)
        spool.start(SpoolCommand("e1", ("/bin/sh", "-c", {FAMILY!r}), "/", 100, env))
        threading.Event().wait()
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)]) as worker:
        until(lambda: len(alive(mark)) >= 6)
        os.kill(worker.pid, signal.SIGKILL)
    until(lambda: not alive(mark))


def test_a_killed_guard_is_a_lost_command(spool: UnspooledCommands, interrupt: FakeInterrupt, mark: str) -> None:
    """Without the guard's word the outcome is unknown; the command dies with it."""
    spool.start(command("exec sleep 300", mark=mark))
    until(lambda: any("sleep" in one.cmdline() for one in alive(mark)))
    next(one for one in alive(mark) if "command_guard" in " ".join(one.cmdline())).kill()
    assert spool.wait("e1", 1_000, interrupt).state is DetachedState.LOST
    until(lambda: not alive(mark))


# --- the seam ----------------------------------------------------------------------------------------


def test_one_id_runs_once(spool: UnspooledCommands, interrupt: FakeInterrupt, tmp_path: Path) -> None:
    """A second start of the same id only tells the state of the first."""
    line = command("echo ran >> log", cwd=str(tmp_path))
    assert spool.start(line) is DetachedState.RUNNING
    spool.wait("e1", 100, interrupt)
    assert spool.start(line) is DetachedState.DONE
    assert (tmp_path / "log").read_text(encoding="utf-8") == "ran\n"


def test_another_process_commands_are_absent_and_never_sealed(interrupt: FakeInterrupt) -> None:
    """It cannot know whether they ran, so it must not promise that they did not."""
    spool = UnspooledCommands()
    assert spool.look("foreign", 100).state is DetachedState.ABSENT
    assert spool.seal("foreign") is DetachedState.ABSENT
    assert spool.cancel("foreign") is DetachedState.ABSENT
    assert spool.wait("foreign", 100, interrupt).state is DetachedState.ABSENT


def test_a_start_that_fails_leaves_no_entry(spool: UnspooledCommands, tmp_path: Path) -> None:
    """A missing directory is a SpoolError, and the id is free again."""
    with pytest.raises(SpoolError, match="nowhere"):
        spool.start(command("true", cwd=str(tmp_path / "nowhere")))
    assert spool.look("e1", 100).state is DetachedState.ABSENT


def test_a_program_that_is_missing_exits_with_127(spool: UnspooledCommands, interrupt: FakeInterrupt) -> None:
    """As a shell does it, with the reason in the output."""
    spool.start(SpoolCommand("e1", ("/no/such/program",), "/", 10, {}))
    status = spool.wait("e1", 1_000, interrupt)
    assert (status.exit_code, status.output) == (127, "/no/such/program: No such file or directory\n")


def test_old_commands_are_forgotten(
    spool: UnspooledCommands, interrupt: FakeInterrupt, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory is bounded: only the last few ended ones are remembered, running ones always."""
    monkeypatch.setattr("neuraphage.testing.unspooled_commands._MAX_ENDED", 2)
    spool.start(command("sleep 300", "running"))
    for number in range(4):
        spool.start(command("true", f"e{number}"))
        spool.wait(f"e{number}", 100, interrupt)
    spool.start(command("true", "last"))
    states = [spool.look(f"e{number}", 100).state for number in range(4)]
    assert states.count(DetachedState.ABSENT) == 3
    assert spool.look("running", 100).state is DetachedState.RUNNING
    spool.cancel("running")

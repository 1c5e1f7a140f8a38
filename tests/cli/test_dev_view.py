"""What `neuraphage dev` writes for each change of a process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from neuraphage.cli import console
from neuraphage.cli.stack_view import StackView, change_text
from neuraphage.dev.process_spec import ProcessChange, ProcessSpec, ProcessState
from neuraphage.dev.stop_request import StopRequest

LOG = Path("/d/logs/worker.log")
SPECS = [ProcessSpec(name, ("x",), {}, address=where) for name, where in (("worker", "8 at a time"), ("beat", ""))]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (ProcessChange("worker", ProcessState.READY, 7, log=LOG), "ready  pid 7  8 at a time"),
        (
            ProcessChange("worker", ProcessState.EXITED, None, "killed by SIGKILL; starts again in 0.2 s", LOG),
            "exited: killed by SIGKILL; starts again in 0.2 s; log /d/logs/worker.log",
        ),
        (
            ProcessChange("worker", ProcessState.EXITED, None, "ended; log /d/logs/worker.log ends:\nlast line", LOG),
            "exited: ended; log /d/logs/worker.log ends:\nlast line",
        ),
        (
            ProcessChange("worker", ProcessState.STOPPING, 7, log=LOG),
            "still stopping  pid 7: it ends its work in hand; Ctrl-C again ends it at once",
        ),
    ],
)
def test_each_change_in_words(change: ProcessChange, text: str) -> None:
    """State, process id and address; or why, what comes next, and where the log is."""
    assert change_text(change, "8 at a time") == text


def test_a_quiet_start_then_changes_with_their_time(capsys: pytest.CaptureFixture[str]) -> None:
    """One line a process while it starts; a failed start is left to the error that ends the command."""
    view = StackView(SPECS, StopRequest())
    view.change(ProcessChange("beat", ProcessState.STARTING, 6))
    view.change(ProcessChange("beat", ProcessState.READY, 6))
    view.change(ProcessChange("worker", ProcessState.FAILED, None, "ended with status 1"))
    view.up("ready")
    view.change(ProcessChange("worker", ProcessState.READY, 7))
    view.change(ProcessChange("worker", ProcessState.STOPPED))
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["  beat    ready  pid 6", "ready"]
    assert re.fullmatch(r"\d\d:\d\d:\d\d worker  ready  pid 7  8 at a time", lines[2])
    assert len(lines) == 3


def test_a_process_that_has_just_ended_is_not_told_as_still_stopping(capsys: pytest.CaptureFixture[str]) -> None:
    """Who has no process id any more does no work that anybody waits for."""
    view = StackView(SPECS, StopRequest())
    view.up("ready")
    view.change(ProcessChange("beat", ProcessState.STOPPING, None))
    view.change(ProcessChange("worker", ProcessState.STOPPING, 7))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "worker  still stopping  pid 7: " in lines[1]


@pytest.mark.parametrize("gone", [OSError(5, "closed terminal"), SystemExit(141)])
def test_output_that_is_gone_stops_the_stack_gently(gone: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a closed terminal nor a closed pipe ends the thread that keeps a process; the stack is asked to stop."""

    def refuse(*_: object) -> None:
        raise gone

    monkeypatch.setattr(console.out, "print", refuse)
    stop = StopRequest()
    view = StackView(SPECS, stop)
    view.change(ProcessChange("worker", ProcessState.READY, 7))
    view.change(ProcessChange("worker", ProcessState.READY, 7))
    assert (stop.asked, stop.at_once, view.exit_code) == (True, False, 141)

"""The stack that `run` starts: for as long as it is used, out of the terminal's reach, and ended cleanly."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from clikit import SCRIPT
from devstack import LIMIT_S, DevStack, wait_for
from neuraphage.dev.stack_use import is_taken
from runscript import LONG
from terminalkit import Terminal

pytestmark = [pytest.mark.real_redis, pytest.mark.real_workers]
PLAY = ("--script", "runscript:play")


@pytest.fixture
def place() -> Iterator[DevStack]:
    """A data folder, its environment and its clients; the stack is started by `run` alone."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        stack = DevStack(Path(folder), PLAY)
        stack.data_dir.mkdir(mode=0o700)
        yield stack
        wait_for(lambda: not is_taken(stack.data_dir), "the end of the stack")


def processes_of(folder: Path) -> list[psutil.Process]:
    """Processes that were started for this data folder."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get("NEURAPHAGE_DATA_DIR") == str(folder):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_from_the_first_run_to_the_last(place: DevStack, tmp_path: Path) -> None:
    """Ctrl-C twice in mid-reply: the step in hand ends well, the stack with it. Resumed, it is shared by another run,
    outlives the one that started it, and ends after the last; nothing is paid twice, nothing counts as a crash.
    """
    go = tmp_path / "go"
    seen = Terminal("run", f"held {go}", "--dir", str(tmp_path), *PLAY, env=place.env)
    seen.see("a local stack starts")
    seen.see("Every")
    task = seen.raw.split("task ")[1][:12]
    supervisor = next(one for one in processes_of(place.data_dir) if "--while-used" in one.cmdline())
    assert os.getsid(supervisor.pid) != os.getsid(seen.pid)
    seen.interrupt()
    seen.see("leaves at once")
    seen.interrupt()
    assert seen.ended() == 130
    go.touch()
    assert f"neuraphage run --resume {task} --script runscript:play" in seen.text
    wait_for(lambda: processes_of(place.data_dir) == [], "the end of all processes")

    again = Terminal("run", "--resume", task, *PLAY, env=place.env)
    again.see(r"answer \[no\]:")
    with place.client() as client:
        counters = client.get(task).counters
    assert (counters.model_calls, counters.model_resends, counters.recoveries_total) == (1, 0, 0)
    assert LONG.strip() in again.text  # the relay kept it: whoever comes later sees all of it
    argv = [SCRIPT, "run", "slow too", "--dir", str(tmp_path), "--allow", "*", *PLAY]
    other = subprocess.Popen(argv, env=place.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert other.stdout is not None
    assert other.stdout.readline().startswith("task ")  # it uses the stack now
    again.type("y")
    again.see("the stack ends")  # which it does not: another one uses it
    again.interrupt()
    assert again.ended() == 0
    shown, complaints = other.communicate(timeout=LIMIT_S)
    assert (other.returncode, complaints) == (0, ""), shown
    wait_for(lambda: processes_of(place.data_dir) == [], "the end of all processes")


def test_a_stack_that_cannot_start(place: DevStack, tmp_path: Path) -> None:
    """One line with the reason, exit 1, and no task."""
    (place.data_dir / "server").write_text("in the way", encoding="utf-8")
    ran = place.cli("run", "ask me", "--dir", str(tmp_path), *PLAY)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.count("\n") == 1
    assert "server" in ran.err
    (place.data_dir / "server").unlink()

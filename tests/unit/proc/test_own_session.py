"""A Ctrl-C that comes while a child is on its way into a session of its own does not reach it; later ones do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from neuraphage.dev import process
from neuraphage.dev.process import by_tether, end, spawn
from neuraphage.ports import SpoolCommand
from neuraphage.proc.own_session import TERMINAL_SIGNALS, terminal_signals_held
from neuraphage.spool import CommandSpool
from neuraphage.testing.unspooled_commands import UnspooledCommands
from patience import PATIENCE_S

STATUS = ("/bin/sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status")
needs_proc = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.01)


class Calm:
    """An interrupt that never asks to stop."""

    def check(self) -> None:
        """Go on."""

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Never wake."""
        return lambda: None


def by_spawn(tmp_path: Path) -> str:
    """As the processes of a stack."""
    log = tmp_path / "log"
    assert spawn(STATUS, os.environ, log).wait(PATIENCE_S) == 0
    return log.read_text(encoding="utf-8")


def by_spawn_with_a_parent(tmp_path: Path) -> str:
    """As those that die with it."""
    log = tmp_path / "log"
    assert spawn(STATUS, os.environ, log, tethered=True).wait(PATIENCE_S) == 0
    return log.read_text(encoding="utf-8")


def order(tmp_path: Path) -> SpoolCommand:
    return SpoolCommand(uuid.uuid4().hex, STATUS, str(tmp_path), 20.0, {"PATH": os.environ["PATH"]}, "task")


def by_the_spool(tmp_path: Path) -> str:
    """As a command of a task."""
    spool, command = CommandSpool(tmp_path / "spool", 10_000), order(tmp_path)
    spool.start(command)
    return spool.wait(command.effect_id, 10_000, Calm()).output


def without_the_spool(tmp_path: Path) -> str:
    """As a command of the negative control."""
    commands, command = UnspooledCommands(10_000), order(tmp_path)
    commands.start(command)
    return commands.wait(command.effect_id, 10_000, Calm()).output


@needs_proc
@pytest.mark.parametrize("way", [by_spawn, by_spawn_with_a_parent, by_the_spool, without_the_spool])
def test_what_is_started_hears_what_its_starter_hears(way: Callable[[Path], str], tmp_path: Path) -> None:
    """No signal stays held or ignored in a command because it was held on the way there."""
    said = dict(re.findall(r"^(Sig\w+):\s*(\w+)$", way(tmp_path), re.MULTILINE))
    terminal = sum(1 << (number - 1) for number in TERMINAL_SIGNALS)
    assert int(said["SigBlk"], 16) == 0
    ours = re.findall(r"^SigIgn:\s*(\w+)$", Path("/proc/self/status").read_text(encoding="utf-8"), re.MULTILINE)
    assert int(said["SigIgn"], 16) & terminal & ~int(ours[0], 16) == 0  # nohup ignores one of them on purpose


def test_what_came_on_the_way_is_forgotten(tmp_path: Path) -> None:
    """Every signal of a terminal, sent before the child's program has begun; afterwards Ctrl-C ends it as ever."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    late = f"import os, runpy, sys, time; open({str(begun)!r}, 'w').close()\n"
    late += f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    late += f"sys.argv[0] = {str(process._TETHER)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    with terminal_signals_held():
        child = subprocess.Popen(
            [sys.executable, "-c", late, str(os.getpid()), "free", "/bin/sleep", "60"], start_new_session=True
        )
    try:
        until(begun.exists)
        for number in TERMINAL_SIGNALS:
            child.send_signal(number)
        go.touch()
        until(lambda: psutil.Process(child.pid).cmdline() == ["/bin/sleep", "60"])
        child.send_signal(signal.SIGINT)
        assert child.wait(PATIENCE_S) == -signal.SIGINT
    finally:
        child.kill()
        child.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a process to its parent")
@pytest.mark.parametrize(("begins_first", "lives"), [(True, True), (False, False)])
def test_a_program_that_outlives_its_starter_does_not_begin_after_its_end(
    begins_first: bool, lives: bool, tmp_path: Path
) -> None:
    """kill -9 of who starts a server: before it is one, nobody could find it, and the next start would make another."""
    pid_file, go = tmp_path / "pid", tmp_path / "go"
    child = f"import os, runpy, sys, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.01)\n"
    child += f"sys.argv[0] = {str(process._TETHER)!r}; runpy.run_path(sys.argv[0], run_name='__main__')"
    starter = "import os, subprocess, sys, time\n"
    starter += (
        f"p = subprocess.Popen([sys.executable, '-c', {child!r}, str(os.getpid()), 'free', '/bin/sleep', '60'])\n"
    )
    starter += f"open({str(pid_file)!r}, 'w').write(str(p.pid)); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", starter]) as parent:
        until(lambda: pid_file.exists() and pid_file.read_text(encoding="utf-8") != "")
        started = psutil.Process(int(pid_file.read_text(encoding="utf-8")))
        if begins_first:
            go.touch()
            until(lambda: started.cmdline() == ["/bin/sleep", "60"])
        parent.kill()
    go.touch()
    try:
        until(lambda: lives or not started.is_running())
        assert started.is_running() is lives
    finally:
        if started.is_running():
            started.kill()


def test_an_ignored_signal_stays_ignored(tmp_path: Path) -> None:
    """What was started by nohup stays deaf for the end of its terminal."""
    words = by_tether(("/bin/sleep", "60"))
    deaf = f"import os, signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); os.execv({words[0]!r}, {words!r})"
    child = psutil.Popen([sys.executable, "-c", deaf], start_new_session=True)
    until(lambda: child.cmdline() == ["/bin/sleep", "60"])
    child.send_signal(signal.SIGHUP)
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S) == -signal.SIGTERM, "SIGHUP came first"
    end(child, 1.0)


def test_the_caller_hears_of_it_afterwards() -> None:
    """Nothing that a person types is lost: it is held for the one thread, and for so long only."""
    heard: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        with terminal_signals_held():
            signal.raise_signal(signal.SIGINT)
            assert heard == []
        assert heard == [signal.SIGINT]
        assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
    finally:
        signal.signal(signal.SIGINT, before)

"""What the spool refuses, what it keeps private, and what it cleans up after itself."""

from __future__ import annotations

import os
import stat
import threading

import psutil
import pytest

from neuraphage.errors import BadInput, SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool

RUNNING, ABSENT = DetachedState.RUNNING, DetachedState.ABSENT


def run(spool, command, calm):
    """Start a command and wait for its end."""
    assert spool.start(command) is RUNNING
    return spool.wait(command.effect_id, 1_000, calm)


@pytest.mark.parametrize("effect_id", ["", "../../etc", "a" * 15, "a" * 65, "A" * 32, "a" * 31 + "\n", "a" * 31 + "/"])
def test_ids_that_are_no_ids(spool, effect_id):
    """No id can name a path outside the spool."""
    for method in (spool.seal, spool.cancel, spool.revoke, lambda one: spool.look(one, 10)):
        with pytest.raises(BadInput, match="hexadecimal"):
            method(effect_id)


@pytest.mark.parametrize(
    "changes",
    [
        {"argv": ()},
        {"argv": ("",)},
        {"argv": ("a\0b",)},
        {"argv": ("\ud800",)},
        {"env": {"A=B": "x"}},
        {"env": {"A": "x\0"}},
        {"env": {"": "x"}},
        {"timeout_s": 0.0},
        {"timeout_s": float("nan")},
        {"timeout_s": float("inf")},
        {"argv": ("x" * 5_000_000,)},
    ],
)
def test_commands_that_are_no_commands(spool, order, changes):
    """What cannot be run is refused before anything is written."""
    with pytest.raises(BadInput):
        spool.start(order("", **changes))
    assert spool.total_bytes() == 0


def test_folder_is_private_and_holds_no_environment(spool, order, calm):
    """Only the user reads the spool, and variables of the command, which may be secret, are not stored."""
    command = order("true", env={"API_KEY": "sk-very-secret"})
    run(spool, command, calm)
    assert stat.S_IMODE(spool._root.stat().st_mode) == 0o700
    files = [path for path in spool._root.rglob("*") if path.is_file()]
    assert {path.name for path in files} == {"alive", "command.json", "decision", "exit.json", "output"}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert b"sk-very-secret" not in path.read_bytes()


def test_the_runner_does_not_inherit_the_worker_environment(spool, order, guardians, monkeypatch):
    """Secrets of the worker are in no process that outlives it."""
    monkeypatch.setenv("WORKER_SECRET", "hunter2")
    command = order("sleep 60")
    spool.start(command)
    for pid in guardians(command.effect_id):
        assert "WORKER_SECRET" not in psutil.Process(pid).environ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_folder_without_permission(tmp_path, order):
    """A folder that refuses entries is told in words."""
    spool = CommandSpool(tmp_path / "spool", 1000)
    (tmp_path / "spool").chmod(0o500)
    with pytest.raises(SpoolError, match="Permission denied"):
        spool.start(order("true"))


def test_no_process_can_be_started(spool, order, monkeypatch):
    """When the system refuses a process, the error says so and the entry stays undecided."""

    def refuse(*args, **kwargs):
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("subprocess.Popen", refuse)
    command = order("true")
    with pytest.raises(SpoolError, match="Resource temporarily unavailable"):
        spool.start(command)
    assert spool.look(command.effect_id, 10).state is ABSENT


def test_ended_runners_leave_no_zombie(spool, order, calm, eventually, guardians):
    """The starter collects its runner when that ends."""
    command = order("true")
    run(spool, command, calm)
    _, keeper = guardians(command.effect_id)
    eventually(lambda: not psutil.pid_exists(keeper))
    eventually(lambda: all(thread.name != "spool-reaper" for thread in threading.enumerate()))

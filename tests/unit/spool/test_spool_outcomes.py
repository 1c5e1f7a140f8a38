"""How commands end, and what is told of it."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from neuraphage.errors import BadInput, CancelRequested, LeaseLost, SpoolError
from neuraphage.ports import SpoolState
from neuraphage.spool import CommandSpool

DONE, RUNNING, SEALED, ABSENT = SpoolState.DONE, SpoolState.RUNNING, SpoolState.SEALED, SpoolState.ABSENT


def run(spool, command, calm, limit_chars=10_000):
    """Start a command and wait for its end."""
    assert spool.start(command) is RUNNING
    return spool.wait(command.effect_id, limit_chars, calm)


def test_output_of_both_streams_and_exit_code(spool, order, calm):
    """The exit status and everything written come back, in the order written."""
    status = run(spool, order("echo one; echo two >&2; echo three; exit 7"), calm)
    assert (status.state, status.exit_code, status.reason) == (DONE, 7, "exited")
    assert status.output == "one\ntwo\nthree\n"
    assert status.left_behind == 0


def test_exactly_the_given_environment_and_directory(spool, order, calm, tmp_path, monkeypatch):
    """The command sees the given variables only, the given directory, and an empty standard input."""
    monkeypatch.setenv("WORKER_SECRET", "hunter2")
    command = order("", argv=("/usr/bin/env",), env={"ONLY": "this=one"})
    assert run(spool, command, calm).output == "ONLY=this=one\n"
    line = "pwd; readlink /proc/self/fd/0" if Path("/proc/self").exists() else "pwd; echo /dev/null"
    assert run(spool, order(line), calm).output == f"{tmp_path}\n/dev/null\n"


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc")
def test_no_open_file_of_the_worker_reaches_the_command(spool, order, calm):
    """A socket or pipe of the worker is open neither in the command nor in its runner."""
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    try:
        pipe = str(Path(f"/proc/self/fd/{writing}").readlink())
        line = "readlink /proc/self/fd/* /proc/$PPID/fd/*; grep -c . /proc/$PPID/status"
        output = run(spool, order(line), calm).output
    finally:
        os.close(reading)
        os.close(writing)
    assert "/output" in output
    assert pipe not in output


def test_signals_are_as_a_shell_expects(spool, order, calm):
    """Python's ignored signals are not handed down: a closed pipe ends its writer."""
    status = run(spool, order("yes | head -n 1; echo ${PIPESTATUS[0]}; trap -p"), calm)
    assert status.output == "y\n141\n"


def test_death_by_signal_is_a_negative_code(spool, order, calm):
    """A command killed by a signal is told by minus the signal's number."""
    assert run(spool, order("kill -SEGV $$"), calm).exit_code == -11


def test_missing_program(spool, order, calm):
    """A program that does not exist ends with 127 and says its name."""
    status = run(spool, order("", argv=("no-such-program-here", "x")), calm)
    assert (status.state, status.exit_code) == (DONE, 127)
    assert "cannot run 'no-such-program-here': No such file" in status.output


def test_program_that_may_not_run(spool, order, calm, tmp_path):
    """A file without execute permission ends with 126."""
    (tmp_path / "plain").write_text("text")
    status = run(spool, order("", argv=(str(tmp_path / "plain"),)), calm)
    assert (status.exit_code, "Permission denied" in status.output) == (126, True)


def test_vanished_directory(spool, order, calm, tmp_path):
    """A working directory that is gone ends with 127 and says so; nothing ran."""
    status = run(spool, order("touch ran", cwd=str(tmp_path / "gone")), calm)
    assert (status.state, status.exit_code, status.reason) == (DONE, 127, "exited")
    assert f"cannot enter the working directory '{tmp_path / 'gone'}'" in status.output


def test_output_that_is_no_text(spool, order, calm):
    """Bytes that are no UTF-8 are replaced, and arguments that are no UTF-8 arrive unchanged."""
    assert run(spool, order(r"printf 'a\xffb'"), calm).output == "a\ufffdb"
    raw = order("", argv=("/usr/bin/printf", "%s", os.fsdecode(b"\xfe")))
    run(spool, raw, calm)
    assert (spool._root / raw.effect_id / "output").read_bytes() == b"\xfe"


def test_timeout_ends_everything_below(spool, order, calm, token, living):
    """Past its time the command, its children, its stubborn and its escaped descendants are all gone."""
    line = f"(trap '' TERM; sleep {token}) & setsid bash -c 'setsid sleep {token} & sleep {token}' & sleep {token}"
    status = run(spool, order(line, timeout_s=0.3), calm)
    assert (status.state, status.reason, status.exit_code) == (DONE, "timeout", -15)
    assert status.left_behind >= 2
    assert living() == []


def test_background_processes_end_with_the_command(spool, order, calm, token, living):
    """What a command leaves in the background is ended and counted, also when it made its own session."""
    status = run(spool, order(f"sleep {token} & setsid sleep {token} & echo done"), calm)
    assert (status.exit_code, status.reason, status.output) == (0, "exited", "done\n")
    assert status.left_behind == 2
    assert living() == []


def test_output_limit(tmp_path, order, calm):
    """A command that writes too much is ended, and its file is cut to the limit."""
    spool = CommandSpool(tmp_path / "small", 5_000)
    command = order("trap '' TERM; while :; do echo 0123456789; done")
    status = run(spool, command, calm)
    assert (status.state, status.reason) == (DONE, "output_limit")
    assert (tmp_path / "small" / command.effect_id / "output").stat().st_size == 5_000


def test_long_output_is_shortened(spool, order, calm):
    """The text shown keeps head and tail inside the limit; the file keeps everything."""
    status = run(spool, order("echo first; seq 20000; echo last"), calm, limit_chars=500)
    assert len(status.output) <= 500
    assert status.output.startswith("first\n1\n")
    assert status.output.endswith("20000\nlast\n")
    assert "left out" in status.output


@pytest.fixture
def tiny_disk(tmp_path):
    """A folder on a disk of 3 MiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "none", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("may not mount a small disk here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_full_disk(tiny_disk, order, calm):
    """A command that fills the disk is ended with its outcome recorded; the next start is refused in words."""
    spool = CommandSpool(tiny_disk / "spool", 100_000_000)
    status = run(spool, order("yes; sleep 30"), calm)
    assert (status.state, status.reason) == (DONE, "output_limit")
    assert "the disk of the spool is full" in status.output
    second = order("true")
    with pytest.raises(SpoolError, match="No space left on device"):
        spool.start(second)
    assert spool.look(second.effect_id, 10).state is ABSENT


def test_cancel_waits_until_all_are_gone(spool, order, token, living, eventually):
    """Cancel ends the command with everything below it and returns only then."""
    command = order(f"setsid sleep {token} & sleep {token}")
    spool.start(command)
    eventually(lambda: len(living()) == 2)
    assert spool.cancel(command.effect_id) is DONE
    assert living() == []
    assert spool.look(command.effect_id, 100).reason == "cancelled"
    assert spool.cancel(command.effect_id) is DONE


def test_cancel_before_the_start_forbids_it(spool, order, tmp_path):
    """A cancelled command that had not started never does."""
    command = order("touch ran")
    assert spool.cancel(command.effect_id) is SEALED
    assert spool.start(command) is SEALED
    assert not (tmp_path / "ran").exists()


def test_revoke_names_its_reason(spool, order, calm, token, living):
    """A command whose lease has moved is ended by its own process, and says why."""
    command = order(f"sleep {token}")
    spool.start(command)
    assert spool.running() == [(command.effect_id, "task-of-test")]
    assert spool.revoke(command.effect_id) is RUNNING
    assert spool.wait(command.effect_id, 100, calm).reason == "lease_moved"
    assert living() == []
    assert spool.running() == []


class Stopping:
    """An interrupt that asks to stop from its third check on."""

    def __init__(self, signal):
        self.signal, self.checks = signal, 0

    def check(self):
        """Go on twice, then stop."""
        self.checks += 1
        if self.checks > 2:
            raise self.signal

    def subscribe(self, wake):
        """Never wake."""
        return lambda: None


def test_wait_cancels_on_request(spool, order, token, living):
    """A person's cancel ends the command before wait gives control back."""
    command = order(f"sleep {token}")
    spool.start(command)
    with pytest.raises(CancelRequested):
        spool.wait(command.effect_id, 100, Stopping(CancelRequested()))
    assert living() == []
    assert spool.look(command.effect_id, 100).reason == "cancelled"


def test_wait_leaves_the_command_when_the_lease_is_lost(spool, order, calm, tmp_path):
    """A worker that lost its lease detaches; the command goes on and its outcome can be read."""
    command = order("until [ -e go ]; do sleep 0.01; done; echo finished")
    spool.start(command)
    with pytest.raises(LeaseLost):
        spool.wait(command.effect_id, 100, Stopping(LeaseLost()))
    assert spool.look(command.effect_id, 100).state is RUNNING
    (tmp_path / "go").touch()
    assert spool.wait(command.effect_id, 100, calm).output == "finished\n"


def test_wait_tells_at_once_of_what_does_not_run(spool, calm):
    """There is nothing to wait for in an entry that is absent or sealed."""
    assert spool.wait("a" * 32, 100, calm).state is ABSENT
    spool.seal("a" * 32)
    assert spool.wait("a" * 32, 100, calm).state is SEALED


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
        {"timeout_s": 0.0},
        {"timeout_s": float("nan")},
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

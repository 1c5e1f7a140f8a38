"""How commands end, and what is told of it."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from interruptkit import RESERVED_SIGNALS
from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import CommandSpool

DONE, RUNNING, SEALED, ABSENT = DetachedState.DONE, DetachedState.RUNNING, DetachedState.SEALED, DetachedState.ABSENT


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


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_blocked_signals_of_the_worker_are_not_handed_down(spool, order, calm):
    """A thread of the worker that blocks signals does not make the command deaf to them."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})
    try:
        status = run(spool, order("", argv=("/bin/grep", "-h", "Sig[BI]", "/proc/self/status")), calm)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    found = [int(line.split()[1], 16) for line in status.output.splitlines()]
    assert [mask & ~RESERVED_SIGNALS for mask in found] == [0, 0]


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
    (tmp_path / "plain").write_text("text", encoding="utf-8")
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
    status = run(spool, order(line, timeout_s=2.0), calm)
    assert (status.state, status.reason, status.exit_code) == (DONE, "timeout", -15)
    assert status.left_behind >= 2
    assert living() == []


def test_background_processes_end_with_the_command(spool, order, calm, token, living):
    """What a command leaves in the background is ended and counted, also when it made its own session."""
    status = run(spool, order(f"sleep {token} & setsid sleep {token} & echo done"), calm)
    assert (status.exit_code, status.reason, status.output) == (0, "exited", "done\n")
    assert status.left_behind == 2
    assert living() == []


def test_background_processes_may_clean_up(spool, order, calm, tmp_path):
    """What runs in the background is asked to end before it is killed."""
    line = "setsid bash -c 'trap \"touch cleaned; exit\" TERM; touch ready; while :; do sleep 0.01; done' &"
    run(spool, order(f"{line} until [ -e ready ]; do sleep 0.01; done"), calm)
    assert (tmp_path / "cleaned").exists()


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
    first = next((tiny_disk / "spool").iterdir()) / "output"
    with (tiny_disk / "rest").open("wb", buffering=0) as rest, suppress(OSError):  # whatever was left
        while rest.write(bytes(4096)):
            pass
    for free_bytes in (0, 200_000):  # nothing left, and too little to run with
        os.truncate(first, first.stat().st_size - free_bytes)
        second = order("true")
        with pytest.raises(SpoolError, match="No space left on device"):
            spool.start(second)
        assert spool.look(second.effect_id, 10).state is ABSENT

"""The program beside a worker, by itself: how it is told what to do, and what ends it."""

from __future__ import annotations

import marshal
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from neuraphage.standby.shared_leases import SharedLeases
from patience import PATIENCE_S
from source_tree import ROOT
from stuckkit import threads_of
from turnkit import until


@pytest.fixture
def alone() -> Iterator[Callable[[int], subprocess.Popen[bytes]]]:
    """Starts the program for a worker of this number, with shared memory that holds nothing."""
    shared = SharedLeases()
    started: list[subprocess.Popen[bytes]] = []

    def start(worker: int) -> subprocess.Popen[bytes]:
        program = ROOT / "neuraphage" / "standby" / "program.py"
        argv = [sys.executable, "-I", "-S", str(program), str(shared.descriptor), str(worker)]
        started.append(subprocess.Popen(argv, stdin=subprocess.PIPE, pass_fds=(shared.descriptor,)))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
    shared.close()


ORDER = marshal.dumps({"heartbeat_s": 0.2, "effect_max_s": 600.0})
PACKED = len(ORDER).to_bytes(4, "little") + ORDER


@pytest.mark.parametrize("told", [b"", PACKED[:2], PACKED[:-1], PACKED])
def test_it_ends_when_its_pipe_does(alone: Callable[[int], subprocess.Popen[bytes]], told: bytes) -> None:
    """The worker died while it told it what to do, or lets it go; it says nothing of that."""
    process = alone(os.getpid())
    assert process.stdin is not None
    process.stdin.write(told)
    process.stdin.close()
    assert process.wait(PATIENCE_S) == 0


def test_it_ends_when_its_worker_was_gone_before_it_could_look(
    alone: Callable[[int], subprocess.Popen[bytes]],
) -> None:
    """Although somebody has inherited the other end of its pipe."""
    with subprocess.Popen(["true"]) as gone:
        pass
    process = alone(gone.pid)
    assert process.stdin is not None
    process.stdin.write(PACKED)
    process.stdin.flush()
    assert process.wait(PATIENCE_S) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="a system that cannot tell of an end is asked every 50 ms")
def test_nothing_wakes_who_waits_for_the_end(alone: Callable[[int], subprocess.Popen[bytes]]) -> None:
    """The kernel tells of the end at once, so no time passes that a load could stretch: while the other thread has
    looked forty times, every 50 ms, this one has waited all along."""
    process = alone(os.getpid())
    assert process.stdin is not None
    process.stdin.write(PACKED)
    process.stdin.flush()
    until(lambda: psutil.Process(process.pid).num_threads() == 2)

    def has_waited_all_along() -> bool:
        (_, looked), (_, waited) = threads_of(process.pid)
        until(lambda: threads_of(process.pid)[0][1] >= looked + 40)
        return threads_of(process.pid)[1] == ("S", waited)

    assert any(has_waited_all_along() for _ in range(3)), "it wakes up by itself"  # it may have just begun at first
    opened = [str(entry.readlink()) for entry in Path(f"/proc/{process.pid}/fd").iterdir()]
    assert "anon_inode:[pidfd]" in opened


@pytest.mark.parametrize("error", [OSError, AttributeError], ids=["an old kernel", "not Linux"])
def test_where_the_kernel_does_not_tell_it_looks(monkeypatch: pytest.MonkeyPatch, error: type[Exception]) -> None:
    """Again and again whether its worker is still there, since another one may hold the pipe open."""
    paths = list(sys.path)
    from neuraphage.standby import program

    sys.path[:] = paths  # a program looks beside itself
    parents = [7, 7, 7, 1]
    waited: list[int | None] = []

    class Ended(Exception):
        pass

    def refuses(_: int) -> int:
        raise error

    def ends(code: int) -> None:
        raise Ended(code)

    poll = SimpleNamespace(register=lambda *_: None, poll=waited.append)
    system = SimpleNamespace(pidfd_open=refuses, getppid=lambda: parents.pop(0), _exit=ends)
    monkeypatch.setattr(program, "select", SimpleNamespace(poll=lambda: poll, POLLIN=select.POLLIN))
    monkeypatch.setattr(program, "os", system)
    with pytest.raises(Ended, match="0"):
        program.end_with(7)
    assert (waited, parents) == ([50, 50, 50], [])


def test_an_order_that_comes_in_pieces_is_one_order(alone: Callable[[int], subprocess.Popen[bytes]]) -> None:
    """A pipe may hand it over bit by bit; it then outlives every signal that a service manager sends to all."""
    process = alone(os.getpid())
    assert process.stdin is not None
    for at in range(len(PACKED)):
        process.stdin.write(PACKED[at : at + 1])
        process.stdin.flush()
    looks = psutil.Process(process.pid)
    until(lambda: looks.num_threads() == 2)  # it waits for the end of its worker
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        process.send_signal(number)
    before = looks.num_ctx_switches().voluntary
    until(lambda: looks.num_ctx_switches().voluntary > before + 10)
    assert process.poll() is None

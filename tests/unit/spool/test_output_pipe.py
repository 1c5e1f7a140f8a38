"""The pipe of a command's output, by itself: what ends a wait, what is kept, and that nothing turns in circles."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from neuraphage.spool import output_pipe
from neuraphage.spool.output_pipe import OutputPipe
from patience import PATIENCE_S

LIMIT_BYTES = 100
LONG_S = PATIENCE_S
"""Nothing waits for so long unless a wait that should end does not."""


class Bench:
    """A pipe to a file, and the pipe that tells of a child's end.

    Args:
        path: the file.
        flags: how it is open.
    """

    def __init__(self, path: Path, flags: int = os.O_WRONLY) -> None:
        self.path = path
        path.touch()
        self.file = os.open(path, flags)
        self.pipe = OutputPipe(self.file, LIMIT_BYTES)
        self.wake, self.waker = os.pipe()
        self.command = os.dup(self.pipe.writing)
        self.pipe.let_go()

    def says(self, text: bytes) -> None:
        os.write(self.command, text)

    def child_ends(self) -> None:
        os.write(self.waker, b"xx")

    def command_ends(self) -> None:
        os.close(self.command)

    def kept(self) -> bytes:
        return self.path.read_bytes()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path / "output")
    yield made
    for file in (made.file, made.wake, made.waker):
        os.close(file)


@pytest.fixture
def at_polls(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """What happens before each further look at the pipes; one more look than planned is a failure."""
    acts: list[Callable[[], None]] = []
    make = select.poll

    class Poll:
        def __init__(self) -> None:
            self._real = make()
            self.register, self.unregister = self._real.register, self._real.unregister

        def poll(self, timeout_ms: float) -> list[tuple[int, int]]:
            acts.pop(0)()
            return self._real.poll(timeout_ms)

    monkeypatch.setattr(output_pipe.select, "poll", Poll)
    return acts


def nothing() -> None:
    pass


def test_a_wait_takes_what_comes_and_ends_with_a_child(bench: Bench, at_polls: list[Callable[[], None]]) -> None:
    """All of it, piece by piece; the news of the child is taken too, so that the next wait is one."""
    at_polls += [lambda: bench.says(b"one "), lambda: bench.says(b"two "), bench.child_ends]
    bench.pipe.wait(bench.wake, LONG_S)
    assert bench.kept() == b"one two "
    at_polls += [nothing, nothing]
    began_s = time.monotonic()
    bench.pipe.wait(bench.wake, 0.02)
    assert time.monotonic() - began_s >= 0.02


def test_a_wait_without_time_takes_what_is_there(bench: Bench, at_polls: list[Callable[[], None]]) -> None:
    """And does not stay for more."""
    bench.says(b"words")
    at_polls += [nothing]
    bench.pipe.wait(bench.wake, 0)
    assert bench.kept() == b"words"


def test_a_command_that_has_closed_its_output_is_waited_for_in_peace(
    bench: Bench, at_polls: list[Callable[[], None]]
) -> None:
    """A pipe without writers is always ready: it is looked at no more, in this wait and in later ones."""
    bench.says(b"words")
    bench.command_ends()
    for _ in range(2):
        at_polls[:] = [nothing] * 4  # to the end of the output, to the end of the time, and what rounding adds
        bench.pipe.wait(bench.wake, 0.02)
    at_polls[:] = [bench.child_ends]
    bench.pipe.wait(bench.wake, LONG_S)
    bench.pipe.take_rest()
    assert bench.kept() == b"words"


def test_what_is_too_much_ends_the_wait_and_is_thrown_away(bench: Bench) -> None:
    """The command is ended for it at once; what it writes until then holds it up no more."""
    bench.says(b"x" * LIMIT_BYTES)
    bench.pipe.wait(bench.wake, 0)
    assert not bench.pipe.is_full
    bench.says(b"y")
    bench.pipe.wait(bench.wake, LONG_S)
    assert (bench.pipe.is_over, bench.pipe.is_refused, bench.pipe.is_full) == (True, False, True)
    bench.says(b"z" * 10_000)
    bench.pipe.wait(bench.wake, 0)
    assert bench.kept() == b"x" * LIMIT_BYTES


def test_a_file_that_takes_no_more_ends_the_wait(tmp_path: Path) -> None:
    """A full or broken disk: that is told apart from too much output."""
    bench = Bench(tmp_path / "output", os.O_RDONLY)
    bench.says(b"words")
    bench.pipe.wait(bench.wake, LONG_S)
    assert (bench.pipe.is_over, bench.pipe.is_refused, bench.pipe.is_full) == (False, True, True)


def test_the_rest_is_taken_without_waiting(bench: Bench) -> None:
    """Something that was left behind may hold the pipe open."""
    bench.says(b"words")
    bench.pipe.take_rest()
    bench.pipe.take_rest()
    assert bench.kept() == b"words"

"""Shared parts: a tool context over a fresh directory, and an interrupt that a test can fire."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.errors import CancelRequested
from neuraphage.ports import ToolContext
from neuraphage.tools.local_command import UnspooledCommands


class FakeInterrupt:
    """Raises what it was given from `fire` on; wakes its subscribers once."""

    def __init__(self) -> None:
        self._raised: BaseException | None = None
        self._wakes: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self.subscribed = threading.Event()

    def fire(self, error: BaseException | None = None) -> None:
        with self._lock:
            self._raised = error or CancelRequested()
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    def check(self) -> None:
        if self._raised is not None:
            raise self._raised

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        with self._lock:
            self._wakes.append(wake)
        self.subscribed.set()
        return lambda: self._wakes.remove(wake)


@pytest.fixture
def interrupt() -> FakeInterrupt:
    return FakeInterrupt()


@pytest.fixture
def spool() -> UnspooledCommands:
    return UnspooledCommands(grace_s=0.2)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The working directory, beside which tests can put what lies outside."""
    directory = tmp_path / "work"
    directory.mkdir()
    return directory.resolve()


@pytest.fixture
def context(root: Path, interrupt: FakeInterrupt, spool: UnspooledCommands) -> ToolContext:
    return ToolContext("task-1", "effect-1", str(root), spool, interrupt)


@pytest.fixture
def having_read(context: ToolContext) -> Iterator[Callable[[Path], ToolContext]]:
    """The context of a conversation that has read a file."""
    yield lambda path: replace(context, files_read=frozenset({str(path.resolve())}))

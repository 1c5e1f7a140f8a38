"""What the tests of this room share: an interrupt that a test can fire, and waiting for a condition."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from neuraphage.errors import CancelRequested

T = TypeVar("T")


def place_of(root: Path) -> dict[str, object]:
    """What a search is told of where to search."""
    info = root.stat()
    return {"root": str(root), "base": str(root), "root_id": [info.st_dev, info.st_ino]}


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


def until(condition: Callable[[], T], timeout_s: float = 60.0) -> T:
    """Wait for a condition; the time limit only keeps a broken test from hanging."""
    deadline = time.monotonic() + timeout_s
    while True:
        if found := condition():
            return found
        if time.monotonic() > deadline:
            raise AssertionError("the condition did not come true")
        time.sleep(0.01)

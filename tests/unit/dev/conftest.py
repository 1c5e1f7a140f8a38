"""Waiting for conditions, and servers that a failed test cannot leave behind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from neuraphage.dev.server import EmbeddedServer
from patience import PATIENCE_S

LIMIT_S = PATIENCE_S
LEFT_OVER_PATIENCE_S = 0.1


class HastyServer(EmbeddedServer):
    """Waits only a moment for a server that was left over, and as long as always for its own."""

    def adopt(self) -> int | None:
        """See EmbeddedServer.adopt."""
        patience_s, self.answer_timeout_s = self.answer_timeout_s, LEFT_OVER_PATIENCE_S
        try:
            return super().adopt()
        finally:
            self.answer_timeout_s = patience_s


@pytest.fixture
def hasty_server() -> type[EmbeddedServer]:
    """A server class for tests in which the one left over never answers."""
    return HastyServer


@pytest.fixture(scope="session")
def until() -> Callable[..., None]:
    """Wait until a condition holds; fail with its name when it does not come true."""

    def wait_until(condition: Callable[[], object], what: str = "the condition") -> None:
        deadline_s = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > deadline_s:
                pytest.fail(f"waited {LIMIT_S:g} s for {what}")
            time.sleep(0.005)

    return wait_until


@pytest.fixture
def data_dir(tmp_path: Path) -> Iterator[Path]:
    """A data folder; a server that still runs in it at the end is killed."""
    folder = tmp_path / "data"
    yield folder
    for process in psutil.process_iter(["cmdline"]):
        if any(str(tmp_path) in word for word in process.info["cmdline"] or []):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()

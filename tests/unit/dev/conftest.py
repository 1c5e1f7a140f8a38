"""Waiting for conditions, and servers that a failed test cannot leave behind."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

LIMIT_S = 30.0


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

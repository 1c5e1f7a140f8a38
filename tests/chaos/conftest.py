"""A stack of its own for chaos: short times, and no limit of recoveries."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackkit import Stack

TIMES = {
    "heartbeat_s": 0.5,
    "lease_s": 3.0,
    "sweep_s": 0.5,
    "first_republish_s": 2.0,
    "max_republish_s": 4.0,
    "max_recoveries": 1_000_000,
}


@pytest.fixture
def stack() -> Iterator[Stack]:
    """A stack that may be wrecked."""
    with (
        tempfile.TemporaryDirectory(prefix="np-chaos-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder), **TIMES) as stack,
    ):
        yield stack


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The run's seed."""
    given: int | None = request.config.getoption("--chaos-seed")
    return secrets.randbelow(1_000_000) if given is None else given


@pytest.fixture
def chaos_s(request: pytest.FixtureRequest) -> float:
    """How long to kill, seconds; 0 for the short run."""
    minutes: float = request.config.getoption("--chaos-minutes")
    return minutes * 60


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Show the end of every process's log with a failure."""
    outcome: Any = yield
    report = outcome.get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections += [(f"log of {name}", text) for name, text in stack.logs()]

"""One server, scripted model, control worker and beat for all tests here; each test starts its own workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackkit import Stack
from stackkit.process import StackProcess


@pytest.fixture(scope="session")
def running_stack() -> Iterator[Stack]:
    """The shared processes of this session."""
    with (
        tempfile.TemporaryDirectory(prefix="np-stack-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder)) as stack,
    ):
        yield stack


@pytest.fixture(scope="session")
def shared(running_stack: Stack) -> tuple[StackProcess, ...]:
    """Control worker and beat, which no test harms."""
    return (running_stack.start_control(), running_stack.start_beat())


@pytest.fixture
def stack(running_stack: Stack, shared: tuple[StackProcess, ...]) -> Iterator[Stack]:
    """An empty stack with control worker and beat; at the end the invariant is checked, and the workers are ended."""
    running_stack.clear()
    yield running_stack
    try:
        running_stack.check()
    finally:
        running_stack.end_workers(*shared)
        running_stack.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Show the end of every process's log with a failure."""
    outcome: Any = yield
    report = outcome.get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections += [(f"log of {name}", text) for name, text in stack.logs()]

"""One server, scripted model, control worker and beat for all tests here; each test starts its own workers."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stackkit import Stack


@pytest.fixture(scope="session")
def running_stack() -> Iterator[Stack]:
    """The shared processes of this session."""
    with (
        tempfile.TemporaryDirectory(prefix="np-stack-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder)) as stack,
    ):
        yield stack


@pytest.fixture
def stack(running_stack: Stack) -> Iterator[Stack]:
    """An empty stack with control worker and beat; at the end the invariant is checked, and the workers are ended."""
    running_stack.clear()
    running_stack.ensure_shared()
    yield running_stack
    try:
        running_stack.check()
    finally:
        running_stack.end_workers("control", "beat")
        running_stack.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Show what is stored of every task and the end of every process's log with a failure."""
    outcome: Any = yield
    report = outcome.get_result()
    stack = getattr(item, "funcargs", {}).get("stack")
    if report.failed and isinstance(stack, Stack):
        report.sections += [*stack.stories(), *((f"log of {name}", text) for name, text in stack.logs())]

"""A worker that is asked to leave: the step in hand is finished, the lease given back, nothing counted as a crash."""

from __future__ import annotations

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackkit import HELD, Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers

POOLS = ["threads", "prefork"]


@pytest.fixture(scope="module")
def running_stack() -> Iterator[Stack]:
    """A stack whose sweep sends nothing again within a test, however slow: what goes on does so by its own message."""
    with (
        tempfile.TemporaryDirectory(prefix="np-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder), first_republish_s=3_600.0, max_republish_s=3_600.0) as stack,
    ):
        yield stack


@pytest.mark.parametrize("pool", POOLS)
def test_the_reply_in_hand_is_committed_and_the_next_worker_goes_on_at_once(stack: Stack, pool: str) -> None:
    """SIGTERM in mid-stream: one request a turn, exit 0, no recovery, the next turn's message is claimed as sent."""
    leaving = stack.start_worker(pool=pool, concurrency=2)
    go = stack.gate(f"{pool}-goes-on")
    task = stack.submit(task_prompt(turn("a held reply", command("echo 1 >> log.txt"), until=go), turn("done")))
    stack.wait_marker(task, "request_sent")
    first = stack.record(task).owner
    stack.start_worker(concurrency=2)
    leaving.signal(signal.SIGTERM)
    wait_for(lambda: "Warm shutdown" in leaving.output(), "the worker to take the signal in")
    go.touch()
    (record,) = stack.finished(task)
    assert leaving.wait_exit() == 0
    assert record.owner != first
    assert record.counters.recoveries_total == 0
    assert [r["outcome"] for r in stack.model_requests(task)] == ["completed", "completed"]
    assert stack.lines(task) == ["1"]
    assert _published_by_sweep(stack, task) is None


@pytest.mark.parametrize("pool", POOLS)
def test_a_running_command_is_left_running_and_found_by_the_next_worker_at_once(stack: Stack, pool: str) -> None:
    """SIGTERM while a command runs: the worker leaves at once; the other one claims by its message."""
    leaving = stack.start_worker(pool=pool, concurrency=2)
    task = stack.submit(task_prompt(turn("run", HELD), turn("done")))
    stack.held(task)
    stack.start_worker(concurrency=2)
    leaving.signal(signal.SIGTERM)
    wait_for(lambda: stack.events(task, "ToolAttached"), "the other worker to attach")
    assert _published_by_sweep(stack, task) is None
    assert leaving.wait_exit() == 0
    assert stack.lines(task) == ["start"], "the worker must not wait for a command that goes on without it"
    (record,) = stack.let_go(task)
    assert record.counters.recoveries_total == 0


def _published_by_sweep(stack: Stack, task: str) -> bytes | None:
    """How often the sweep had to publish for the task; None for never: every message was claimed as it was sent."""
    found: bytes | None = stack.admin.hget(stack.store.context.keys.task(task), "published")
    return found

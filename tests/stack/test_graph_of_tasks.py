"""Tasks that wait for tasks, on real workers: who is released begins at once, and a killed worker loses nothing."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.model.dependency import Dependency, OnFailure
from neuraphage.model.task import Status
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


@pytest.fixture(scope="module")
def quiet() -> Iterator[Stack]:
    """A stack in which no sweep sends a message again: what is not told at once is never told."""
    with (
        tempfile.TemporaryDirectory(prefix="np-") as folder,
        Stack(Path(folder), first_republish_s=3_600.0, max_republish_s=3_600.0) as stack,
    ):
        yield stack


def test_who_is_released_is_sent_at_once(quiet: Stack) -> None:
    """By the worker whose write ended the awaited task, and by the client that cancelled it."""
    quiet.start_worker(concurrency=2)
    first = quiet.submit(task_prompt(turn("", HELD), turn("done")))
    second = quiet.submit(task_prompt(turn("", command("echo second")), turn("done")), blocked_by=[first])
    third = quiet.submit(task_prompt(turn("done")), blocked_by=[second])
    cancelled = quiet.submit(task_prompt(turn("", HELD), turn("done")), blocked_by=[third])
    fourth = quiet.submit(
        task_prompt(turn("done")), blocked_by=[Dependency(task_id=cancelled, on_failure=OnFailure.GO_ON)]
    )
    quiet.held(first)
    assert quiet.record(second).status is Status.BLOCKED
    quiet.let_go(first)
    quiet.finished(second, third)
    quiet.held(cancelled)
    quiet.client.cancel(cancelled)
    records = quiet.finished(fourth)
    assert [record.status for record in records] == [Status.COMPLETED]
    assert len(quiet.events(second, "TaskStarted")) == 1


def test_a_killed_worker_forgets_nobody(stack: Stack) -> None:
    """It dies while it has the awaited task; the next one ends it, and the one that waited begins once."""
    worker = stack.start_worker(concurrency=2)
    first = stack.submit(task_prompt(turn("", HELD), turn("done")))
    second = stack.submit(task_prompt(turn("", command("echo second >> log.txt")), turn("done")), blocked_by=[first])
    stack.held(first)
    worker.kill()
    stack.start_worker(concurrency=2)
    wait_for(lambda: stack.events(first, "ToolAttached"), "the next worker to attach")
    assert stack.record(second).status is Status.BLOCKED
    stack.let_go(first)
    stack.finished(second)
    assert stack.lines(second) == ["second"]

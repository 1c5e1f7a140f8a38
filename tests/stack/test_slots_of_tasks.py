"""Slots on real workers: one task at work at a time, whatever is killed, and the next one begins at once."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from neuraphage.model.place import Place
from neuraphage.model.task import Status
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


@pytest.fixture
def narrow() -> Iterator[Stack]:
    """A stack with one slot."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder, Stack(Path(folder), max_running=1) as stack:
        yield stack


def at_work(stack: Stack, task_id: str) -> tuple[int, int]:
    """From when until when it was at work with its slot, by its history."""
    return stack.events(task_id, "TaskStarted")[-1].at_ms, stack.events(task_id, "TaskCompleted")[-1].at_ms


def test_one_at_a_time_through_the_death_of_the_holder(narrow: Stack) -> None:
    """The holder's worker is killed: whoever recovers the task goes on with its slot, and nobody begins meanwhile."""
    worker = narrow.start_worker(concurrency=3)
    first = narrow.submit(task_prompt(turn("", HELD), turn("done")))
    narrow.held(first)
    others = [narrow.submit(task_prompt(turn("", command("echo once >> log.txt")), turn("done"))) for _ in range(3)]
    worker.kill()
    narrow.start_worker(concurrency=3)
    wait_for(lambda: narrow.events(first, "ToolAttached"), "the next worker to attach")
    assert {(narrow.record(one).status, narrow.record(one).place) for one in others} == {(Status.QUEUED, Place.WAITS)}
    narrow.let_go(first)
    narrow.finished(first, *others)
    assert [narrow.lines(one) for one in others] == [["once"]] * 3
    spans = sorted(at_work(narrow, one) for one in (first, *others))
    assert all(before[1] <= after[0] for before, after in pairwise(spans))

"""Subtasks on real workers: a parent holds none while it waits, and kills neither make nor lose a subtask."""

from __future__ import annotations

import pytest

from neuraphage.decide.children import child_id
from neuraphage.model.task import Status
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


def test_a_tree_outlives_its_workers(stack: Stack) -> None:
    """One worker dies while a subtask's command runs, the next one ends it, and the parent gets both results, once."""
    worker = stack.start_worker(concurrency=1)
    held = task_prompt(turn("", HELD), turn("The long part is done."))
    short = task_prompt(turn("", command("echo short >> short.txt")), turn("The short part is done."))
    spawns = (("spawn_task", {"prompt": held, "name": "long"}), ("spawn_task", {"prompt": short, "name": "short"}))
    parent = stack.submit(task_prompt(turn("", *spawns), turn("done")))
    wait_for(lambda: stack.record(parent).status is Status.BLOCKED, "the parent to wait for its subtasks")
    assert stack.record(parent).lease_until_ms is None
    children = [child.task_id for child in stack.record(parent).children]
    assert len(children) == 2
    stack.held(children[0])
    worker.kill()
    stack.start_worker(concurrency=2)
    wait_for(lambda: stack.events(children[0], "ToolAttached"), "the next worker to attach")
    stack.let_go(children[0])
    stack.finished(parent, *children)
    assert len(stack.events(parent, "SubtaskSpawned")) == 2
    assert [len(stack.events(child, "TaskStarted")) for child in children] == [1, 1]
    told = str(stack.client.conversation(parent))
    assert told.count("completed after 2 turns, cost $") == 2
    assert children[0] == child_id(parent, stack.events(parent, "ToolStarted")[0].data["id"])

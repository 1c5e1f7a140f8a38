"""Prefork: a child that is killed, what its parent does about it, and what children inherit."""

from __future__ import annotations

import os
import signal

import pytest

from stackkit import HELD, Stack, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


def test_the_parent_recovers_what_a_killed_child_held(stack: Stack) -> None:
    """kill -9 of a child: the parent gives its task away, although it is not the host's watcher and no sweep is due."""
    parent = stack.start_worker(pool="prefork", concurrency=2)
    task = stack.submit(task_prompt(turn("run", HELD), turn("done")))
    stack.held(task)
    child = stack.pid_of_owner(task)
    assert child in parent.children()
    with stack.frozen_watchers():
        killed_at_ms = stack.store.now_ms()
        os.kill(child, signal.SIGKILL)
        (recovered,) = wait_for(lambda: stack.events(task, "TaskRecovered"), "the recovery")
    print(f"recovered {(recovered.at_ms or 0) - killed_at_ms} ms after the kill")
    assert recovered.data["evidence"] == "gone"
    stack.let_go(task)
    wait_for(lambda: child not in {row.pid for row in stack.store.registered()}, "the child to be struck off")


def test_presence_ends_with_each_child_and_all_children_with_their_parent(stack: Stack) -> None:
    """No child keeps another's presence alive; a watching parent that is killed takes its children along; the next
    worker of the host watches, and recovers both tasks."""
    stack.end_workers()
    parent = stack.start_worker(pool="prefork", concurrency=2)
    wait_for(stack.watch_is_held, "the parent to be the host's watcher")
    tasks = [stack.submit(task_prompt(turn("run", HELD), turn("done"))) for _ in range(2)]
    stack.held(*tasks)
    first = stack.record(tasks[0]).owner
    os.kill(stack.pid_of_owner(tasks[0]), signal.SIGKILL)  # its successor is forked by a parent that watches
    wait_for(lambda: first not in stack.store.connected(), "the killed child's presence to end")
    wait_for(lambda: stack.events(tasks[0], "ToolAttached"), "the new child to attach")
    owners = {stack.record(task).owner for task in tasks}
    assert owners <= stack.store.connected()
    parent.kill()
    wait_for(lambda: not owners & stack.store.connected(), "the children's presence to end")
    wait_for(lambda: not stack.watch_is_held(), "the watch to end")
    stack.start_worker(concurrency=2)
    records = stack.let_go(*tasks)
    assert [record.counters.recoveries_total for record in records] == [2, 1]

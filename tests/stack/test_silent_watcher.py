"""The host's watcher is frozen, and keeps its lock: the other processes of the host look in its place."""

from __future__ import annotations

import os
import signal

import pytest

from stackkit import HELD, Stack, task_prompt, turn, wait_for

pytestmark = pytest.mark.real_workers


def test_a_death_is_seen_while_the_watcher_is_frozen(stack: Stack) -> None:
    """No beat, and the control worker, which is the watcher, stands still: a killed worker's task goes on at once."""
    stack.end_workers()
    control = stack.start_control()
    wait_for(stack.watch_is_held, "the control worker to be the host's watcher")
    workers = [stack.start_worker(lease_s=600, heartbeat_s=100) for _ in range(2)]
    task = stack.submit(task_prompt(turn("run", HELD), turn("done")))
    stack.held(task)
    owner = stack.pid_of_owner(task)
    assert owner in [worker.pid for worker in workers]
    control.freeze()
    killed_at_ms = stack.store.now_ms()
    os.kill(owner, signal.SIGKILL)
    (recovered,) = wait_for(lambda: stack.events(task, "TaskRecovered"), "the recovery")
    print(f"recovered {(recovered.at_ms or 0) - killed_at_ms} ms after the kill")
    assert recovered.data["evidence"] == "gone"
    stack.let_go(task)
    control.thaw()


def test_the_frozen_watcher_loses_its_own_tasks(stack: Stack) -> None:
    """No beat and no control worker: what the frozen watcher holds goes on with the other worker after its lease."""
    stack.end_workers()
    short = {"lease_s": 1.2, "heartbeat_s": 0.3}
    watcher = stack.start_worker(**short)
    wait_for(stack.watch_is_held, "the worker to be the host's watcher")
    task = stack.submit(task_prompt(turn("run", HELD), turn("done")))
    stack.held(task)
    stack.start_worker(**short)
    watcher.freeze()
    (recovered,) = wait_for(lambda: stack.events(task, "TaskRecovered"), "the recovery")
    assert recovered.data["evidence"] == "stalled", "it lives, and is stopped"
    stack.let_go(task)

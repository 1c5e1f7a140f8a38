"""A reply outlives its worker: killed, asked to leave or replaced, the next worker reads the same reply."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from neuraphage.ports import Delta
from neuraphage.relay_wiring import relays
from neuraphage.store import live
from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers
TEXT = "A long reply, which is held in its midst until a file is there. It has some words before that, and after it."


def held_reply(stack: Stack, name: str, pool: str) -> tuple[StackProcess, str, Path]:
    """A worker of this pool with a task whose reply streams, and the file at which the reply goes on to its end."""
    worker = stack.start_worker(pool=pool, concurrency=2)
    go = stack.gate(f"{name}-{pool}-goes-on")
    task = stack.submit(task_prompt(turn(TEXT, until=go, between_events_s=0.1)), followed=True)
    wait_for(lambda: shown(stack, task), "the reply to begin")
    return worker, task, go


def shown(stack: Stack, task: str) -> str:
    """What viewers have been shown of replies."""
    found = live.snapshot(stack.store.context, task, "$", "0")
    return "".join(one.text for _, one in found if isinstance(one, Delta))


def relay_pid(stack: Stack) -> int:
    """Process id of the relay that takes calls."""
    (state,) = relays(stack.settings)
    return int(state["pid"])


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_killed_worker_costs_no_reply(stack: Stack, pool: str) -> None:
    """kill -9 in mid-stream: one request, no character lost or shown twice, nothing counted as sent again."""
    _, task, go = held_reply(stack, "killed", pool)
    stack.start_worker(concurrency=2)
    os.kill(stack.pid_of_owner(task), signal.SIGKILL)
    wait_for(lambda: stack.events(task, "RequestAttached"), "the next worker to attach")
    go.touch()
    (record,) = stack.finished(task)
    assert [request["outcome"] for request in stack.model_requests(task)] == ["completed"]
    assert (record.counters.model_calls, record.counters.model_resends) == (1, 0)
    assert record.counters.recoveries_total == 1
    assert shown(stack, task) == TEXT


def test_who_comes_late_sees_all_of_a_reply(stack: Stack) -> None:
    """The part from before they came, too."""
    stack.start_worker(concurrency=2)
    go = stack.gate("late-goes-on")
    task = stack.submit(task_prompt(turn(TEXT, until=go)))
    wait_for(lambda: stack.model_requests(task), "the reply to begin")
    live.watch(stack.store.context, task)
    go.touch()
    stack.finished(task)
    assert shown(stack, task) == TEXT


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_a_worker_leaves_without_waiting_for_its_reply(stack: Stack, pool: str) -> None:
    """SIGTERM: it ends while the reply streams, and counts as no crash; the next one reads on."""
    leaving, task, go = held_reply(stack, "leaves", pool)
    leaving.signal(signal.SIGTERM)
    assert leaving.wait_exit() == 0
    assert not go.exists()
    stack.start_worker(concurrency=2)
    wait_for(lambda: stack.events(task, "RequestAttached"), "the next worker to attach")
    go.touch()
    (record,) = stack.finished(task)
    assert [request["outcome"] for request in stack.model_requests(task)] == ["completed"]
    assert (record.counters.model_resends, record.counters.recoveries_total) == (0, 0)
    assert shown(stack, task) == TEXT


def test_a_killed_relay_costs_what_a_lost_call_costs(stack: Stack) -> None:
    """The same worker asks again, by another relay; the lost reply is counted."""
    _, task, go = held_reply(stack, "relay", "threads")
    os.kill(relay_pid(stack), signal.SIGKILL)
    wait_for(lambda: stack.events(task, "RequestFailed"), "the call to fail")
    go.touch()
    (record,) = stack.finished(task)
    assert len(stack.model_requests(task)) == 2
    assert (record.counters.model_calls, record.counters.model_resends) == (1, 1)
    assert relay_pid(stack)

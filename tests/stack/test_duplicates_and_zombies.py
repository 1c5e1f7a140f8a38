"""Messages that come twice or late, workers that come back from the dead, and many recoverers at once."""

from __future__ import annotations

import threading

import pytest

from neuraphage.client_wiring import new_task_id
from neuraphage.model.task import TaskSpec
from neuraphage.ports import ClaimVerdict, RecoverVerdict
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.outcome import REFUSALS, Outcome
from neuraphage.runtime.sweep import Sweep
from neuraphage.store.tasks import RedisStore
from stackkit import HELD, Stack, command, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers
SHORT = {"lease_s": 1.2, "heartbeat_s": 0.3}


def test_a_message_that_comes_twice_and_late_grants_one_claim(stack: Stack) -> None:
    """Every message of the task is sent nine times, early, twice and long after: one claim and one request a turn."""
    task = stack.submit(task_prompt(turn("go", HELD), turn("done")))
    for _ in range(4):
        stack.dispatcher.publish_turn(task, 0, 1)
    first = stack.start_worker(concurrency=4)
    second = stack.start_worker(concurrency=4)
    stack.held(task)
    for _ in range(4):
        stack.dispatcher.publish_turn(task, 0, 1)
    (record,) = stack.let_go(task)
    for iteration, seq in ((0, 1), (1, 2), (record.counters.iteration, record.seq)):
        stack.dispatcher.publish_turn(task, iteration, seq)
    wait_for(lambda: _refusals(first, second) >= 9 + 2, "every repeated message to be refused")
    assert stack.record(task) == record
    assert record.fence == 2, "one claim a turn"
    assert [r["turn"] for r in stack.model_requests(task)] == [0, 1]


def _refusals(*workers: StackProcess) -> int:
    """How many messages came to nothing."""
    text = "".join(worker.output() for worker in workers)
    return sum(text.count(f": '{refusal.value}'") for refusal in REFUSALS)


def test_a_worker_frozen_past_its_lease_stops_and_harms_nothing(stack: Stack) -> None:
    """SIGSTOP past the lease, SIGCONT: renew answers STALE, its open stream closes, the successor's command goes on.

    Without a relay, which would go on waiting for the silent reply on behalf of both.
    """
    zombie = stack.start_worker(concurrency=4, relay="off", **SHORT)
    streaming = stack.submit(task_prompt(turn("", command("true")), turn("done"), note="stream"))
    running = stack.submit(task_prompt(turn("", HELD), turn("done"), note="command"))
    # the first answer to the second turn of `streaming` never comes; the answer to a repeated request does
    stack.control_model("faults", {"kind": "slow", "turn": 1, "times": 1, "delay_s": 600})
    stack.held(running)
    wait_for(lambda: _outcomes(stack, streaming) == ["completed", "open"], "the silent request to arrive")
    zombie.freeze()
    successor = stack.start_worker(concurrency=4, relay="off", **SHORT)
    stack.finished(streaming)
    wait_for(lambda: stack.events(running, "ToolAttached"), "the successor to attach")
    zombie.thaw()
    wait_for(lambda: zombie.output().count("renew answered STALE") >= 2, "both renewals to be refused")
    wait_for(lambda: _outcomes(stack, streaming)[1] == "closed_by_client", "the zombie's stream to be closed")
    wait_for(lambda: zombie.output().count(f"'{Outcome.LOST.value}'") >= 2, "both of the zombie's turns to end")
    records = stack.finished(streaming) + stack.let_go(running)  # the zombie has left the successor's command alone
    assert [record.counters.model_calls for record in records] == [2, 2], "every committed reply is paid once"
    assert "answered STALE" not in successor.output()


def test_a_late_commit_and_a_late_finish_are_refused(stack: Stack) -> None:
    """A worker that comes back with replies in hand: commit and finish answer STALE, then a nudged renew does too."""
    # It renews so rarely that its turns speak first when it is back; the test makes its leases run out instead.
    zombie = stack.start_worker(concurrency=4, lease_s=600, heartbeat_s=100)
    go = stack.gate("late-replies-go-on")
    calling = turn("some words before a command", command("echo ran >> log.txt"), until=go)
    committing = stack.submit(task_prompt(calling, turn("done"), note="commit"))
    finishing = stack.submit(task_prompt(turn("the last words of a task", until=go), note="finish"))
    running = stack.submit(task_prompt(turn("", HELD), turn("done"), note="command"))
    tasks = [committing, finishing, running]
    stack.held(running)
    wait_for(lambda: [_outcomes(stack, t) for t in tasks[:2]] == [["open"], ["open"]], "both replies to stream")
    zombie.freeze()
    views = {task: stack.record(task) for task in tasks}
    assert {view.marker.name for view in (views[committing], views[finishing])} == {"request_sent"}
    stack.admin.zadd(stack.store.context.keys.leases, dict.fromkeys(tasks, 1))
    go.touch()
    stack.start_worker(concurrency=4)
    records = stack.finished(committing, finishing)
    wait_for(lambda: stack.events(running, "ToolAttached"), "the successor to attach")
    events = {task: len(stack.events(task)) for task in (committing, finishing)}
    zombie.thaw()
    for refused in ("commit answered STALE", "finish answered STALE"):
        wait_for(lambda text=refused: text in zombie.output(), f"{refused!r} in the zombie's log")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
    stack.admin.publish(stack.store.context.keys.nudge, "any")
    wait_for(lambda: "renew answered STALE" in zombie.output(), "the refused renewal in the zombie's log")
    assert [stack.record(task) for task in (committing, finishing)] == records, "nothing it wrote may be there"
    assert {task: len(stack.events(task)) for task in events} == events
    records += stack.let_go(running)
    assert stack.lines(committing) == ["ran"]
    assert [record.counters.model_calls for record in records] == [2, 1, 2], "every committed reply is paid once"
    assert all(record.fence >= views[record.task_id].fence + 2 for record in records)


def _outcomes(stack: Stack, task: str) -> list[str]:
    return [str(request["outcome"]) for request in stack.model_requests(task)]


def test_twenty_sweeps_with_frozen_views_take_each_task_once(stack: Stack) -> None:
    """Twenty sweeps recover the same stale list at the same moment: one takeover a task, the fence rises by one."""
    store, sweep = stack.store, Sweep(stack.store, stack.dispatcher, SystemClock(), stack.settings)
    tasks = [_held_by_nobody(store) for _ in range(10)]
    view = [held for held in store.held_tasks(until_ms=None, limit=100) if held.task_id in tasks]
    together = threading.Barrier(20)
    verdicts: list[RecoverVerdict] = []

    def sweep_frozen_view() -> None:
        together.wait()
        verdicts.extend(sweep.recover(held, "gone").verdict for held in view)

    threads = [threading.Thread(target=sweep_frozen_view) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(set(verdicts)) == [RecoverVerdict.RECOVERED, RecoverVerdict.STALE]
    assert verdicts.count(RecoverVerdict.RECOVERED) == len(tasks)
    for held in view:
        record = store.get(held.task_id)
        assert (record.fence, record.counters.recoveries_total) == (int(held.fence) + 1, 1)
    stack.start_worker(concurrency=8)
    stack.finished(*tasks)


def _held_by_nobody(store: RedisStore) -> str:
    """A task whose lease is held by a process that does not exist."""
    task_id = new_task_id()
    store.create(TaskSpec(task_id=task_id, name="n", prompt=task_prompt(turn("done")), model="scripted-1"), task_id)
    assert store.claim(task_id, 1, "nobody", "claim").verdict is ClaimVerdict.GRANTED
    return task_id

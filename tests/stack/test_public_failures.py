"""Failures that other systems showed in public, with their issues; each test shows the right behaviour here.

Many recoverers and frozen workers are in test_duplicates_and_zombies.py, a crash after each marker in
test_death_at_each_marker.py.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import psutil
import pytest

from neuraphage.client_wiring import new_task_id
from neuraphage.errors import IllegalMove, StoreError
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import ClaimVerdict
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.sweep import Sweep
from neuraphage.store import invariant, live
from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.process import send
from stackkit.scripts import SLOW, waiting

pytestmark = pytest.mark.real_workers
SHORT = {"lease_s": 1.0, "heartbeat_s": 0.3}


def go(stack: Stack, task: str, name: str = "") -> None:
    """Let such a command end."""
    (stack.work_dir(task) / f"go{name}").touch()


def kill_owner(stack: Stack, task: str) -> None:
    """kill -9 of the process that holds the task, and wait for the recovery."""
    before = stack.record(task).fence
    os.kill(stack.pid_of_owner(task), signal.SIGKILL)
    wait_for(lambda: stack.record(task).fence > before, f"the recovery of {task}")


def test_a_redelivered_message_finds_a_live_owner_and_changes_nothing(stack: Stack) -> None:
    """kombu#337: nothing is held unacknowledged, and a message that does come again, again and again while a
    tool runs, is refused: one model call a turn, one tool call, one end."""
    stack.start_worker()
    stack.start_worker()
    task = stack.submit(task_prompt(turn("", waiting()), turn("done")))
    wait_for(lambda: stack.lines(task) == ["start"], "the tool to run")
    assert stack.turns_held_unacknowledged() == [], "a message that is held unacknowledged can come again"
    for _ in range(5):
        stack.dispatcher.publish_turn(task, 0, 1)
    wait_for(lambda: stack.dispatcher.queue_length() == 0, "the messages to be taken")
    go(stack, task)
    (record,) = stack.finished(task)
    assert stack.lines(task) == ["start", "end"]
    assert [r["attempt"] for r in stack.model_requests(task)] == [1, 1]
    assert (record.fence, len(stack.events(task, "TaskCompleted"))) == (2, 1)


def test_workers_come_back_from_dropped_connections_and_say_so_meanwhile(stack: Stack) -> None:
    """celery#8030: connections drop five times and more in a row; queued tasks go on, readiness turns red."""
    stack.start_worker(concurrency=4)
    wait_for(lambda: stack.health() == (True, True), "the worker to be ready")
    tasks = [
        stack.submit(task_prompt(turn("some words", command("echo 1 >> log.txt"), **SLOW), turn("done")))
        for _ in range(8)
    ]
    drops = 0

    def drop_and_look() -> bool:
        nonlocal drops
        drops += 1
        stack.drop_connections()
        return stack.health() == (True, False) and drops >= 5

    wait_for(drop_and_look, "readiness to turn red, with all processes live", every_s=0.2)
    stack.finished(*tasks)
    wait_for(lambda: stack.health() == (True, True), "readiness to turn green")
    assert [stack.lines(task) for task in tasks] == [["1"]] * 8


def test_a_long_silent_effect_is_never_started_again_while_its_worker_lives(stack: Stack) -> None:
    """langgraph#7417: a tool and a model call three times as long as the orphan age: one start each."""
    stack.start_worker(**SHORT)
    stack.start_worker(pool="prefork", concurrency=2, **SHORT)
    stack.control_model("faults", {"kind": "slow", "turn": 1, "times": 1, "delay_s": 5})
    silent = stack.submit(task_prompt(turn("", command("true")), turn("after a silence")))
    wait_for(lambda: len(stack.model_requests(silent)) == 2, "the silent call")
    tool = [stack.submit(task_prompt(turn("", waiting()), turn("done"))) for _ in range(2)]
    wait_for(lambda: all(stack.lines(task) == ["start"] for task in tool), "both tools to run")
    begun_ms = stack.store.now_ms()
    orphan_age_ms = (SHORT["lease_s"] + 2 * SHORT["heartbeat_s"]) * 1000
    wait_for(lambda: stack.store.now_ms() - begun_ms > 3 * orphan_age_ms, "three times the orphan age to pass")
    for task in tool:
        go(stack, task)
    records = stack.finished(*tool, silent)
    assert [stack.lines(task) for task in tool] == [["start", "end"]] * 2
    assert [len(stack.events(task, "ToolStarted")) for task in tool] == [1, 1]
    assert len(stack.model_requests(silent)) == 2
    assert [record.counters.recoveries_total for record in records] == [0] * 3


def test_a_server_that_dies_in_the_middle_of_a_sweep_strands_nobody(stack: Stack) -> None:
    """dbos#716: kill -9 of the server while 250 orphans are being recovered: after its start all 250 finish."""
    stack.end_workers()
    orphans = [orphan(stack) for _ in range(250)]
    stack.admin.zadd(stack.store.context.keys.leases, dict.fromkeys(orphans, 1))
    sweep = Sweep(stack.store, stack.dispatcher, SystemClock(), stack.settings)
    sweep.expired(stack.store.now_ms())  # the first of the two visits
    first_visit_ms = stack.store.now_ms()
    second_ms = 2 * stack.settings.heartbeat_s * 1000
    wait_for(lambda: stack.store.now_ms() - first_visit_ms > second_ms, "the second visit to be due")

    def sweep_again_and_again() -> None:
        while True:
            sweep.expired(stack.store.now_ms())

    def sweep_until_it_breaks() -> None:
        with pytest.raises(StoreError):
            sweep_again_and_again()

    sweeping = threading.Thread(target=sweep_until_it_breaks)
    sweeping.start()
    wait_for(lambda: stack.admin.zcard(stack.store.context.keys.outbox) > 20, "the sweep to be at work", every_s=0)
    os.kill(stack.server.pid or 0, signal.SIGKILL)
    sweeping.join()
    stack.server.start()
    left = stack.admin.zcard(stack.store.context.keys.leases)
    assert 0 < left < 250, "the server must die in the middle"
    stack.ensure_shared()
    stack.start_worker(concurrency=8)
    records = stack.finished(*orphans)
    assert {record.counters.recoveries_total for record in records} == {1}


def orphan(stack: Stack) -> str:
    """A task that a process which does not exist has claimed."""
    task = new_task_id()
    stack.store.create(TaskSpec(task_id=task, name="n", prompt=task_prompt(turn("done")), model="scripted-1"), task)
    assert stack.store.claim(task, 1, "nobody", "claim").verdict is ClaimVerdict.GRANTED
    return task


def test_a_worker_that_leaves_takes_nothing_back_from_its_successor_of_the_same_name(stack: Stack) -> None:
    """dbos#804: B starts under A's name, A is asked to leave in mid-tool: the task goes on with B and ends."""
    old = stack.start_worker(name="same")
    task = stack.submit(task_prompt(turn("", waiting()), turn("done")))
    wait_for(lambda: stack.lines(task) == ["start"], "the tool to run")
    first = stack.record(task).owner
    new = stack.worker(name="same")
    new.log = new.log.with_name("same-new.log")
    new.start()
    old.signal(signal.SIGTERM)
    wait_for(lambda: stack.events(task, "ToolAttached"), "the successor to attach")
    assert old.wait_exit() == 0
    assert stack.record(task).owner not in (None, first)
    go(stack, task)
    (record,) = stack.finished(task)
    assert (stack.lines(task), record.counters.recoveries_total) == (["start", "end"], 0)


def test_a_task_that_kills_its_worker_at_the_first_chunk_is_given_up_with_its_reason(stack: Stack) -> None:
    """cloudflare/agents#1825: streamed chunks are no progress: after K crashes the task fails, at K calls. With a
    relay they would be crashes in one call, which ends; so there is none here."""
    stack.start_worker(pool="prefork", concurrency=1, relay="off")
    task = stack.submit(task_prompt(turn("a long reply " * 50, **SLOW)))
    live.watch(stack.store.context, task)
    limit = stack.settings.max_recoveries
    for crash in range(1, limit + 1):
        wait_for(lambda n=crash: len(stack.events(task, "RequestSent")) == n, f"call {crash}")  # type: ignore[misc]  # mypy cannot infer a lambda with a default
        sent = stack.events(task, "RequestSent")[-1].event_id or ""
        wait_for(lambda since=sent: has_delta(stack, task, since), "a streamed chunk of this call")  # type: ignore[misc]  # as above
        kill_owner(stack, task)
    record = wait_for(lambda: (r := stack.record(task)).status is Status.FAILED and r, "the task to be given up")
    assert f"recovered {limit} times" in record.detail.error
    assert "request_sent" in record.detail.error
    assert record.counters.model_calls == 0
    assert len(stack.model_requests(task)) == limit


def has_delta(stack: Stack, task: str, since: str) -> bool:
    """Whether a piece of a reply was streamed after a line of the history: one clock numbers both."""
    return bool(live.snapshot(stack.store.context, task, "9999999999999", since))


def test_a_crash_in_the_third_of_four_tools_puts_only_that_one_in_question(stack: Stack) -> None:
    """leviath#96: results are kept as they land: tools 1 and 2 are settled, 3 is found again, 4 is new."""
    stack.start_worker(pool="prefork", concurrency=1)
    quick = [command(f"echo quick{n} >> log.txt") for n in (1, 2, 4)]
    task = stack.submit(task_prompt(turn("", quick[0], quick[1], waiting("3"), quick[2]), turn("done")))
    wait_for(lambda: "start3" in stack.lines(task), "the third tool")
    assert sum(entry.state.value == "completed" for entry in stack.journal(task).values()) == 3, "reply, tools 1 and 2"
    kill_owner(stack, task)
    wait_for(lambda: stack.events(task, "ToolAttached"), "the third tool to be found again")
    go(stack, task, "3")
    stack.finished(task)
    assert stack.lines(task) == ["quick1", "quick2", "start3", "end3", "quick4"]
    assert [len(stack.events(task, kind)) for kind in ("ToolStarted", "ToolAttached", "ToolCompleted")] == [4, 1, 4]


def test_an_interrupted_tool_always_has_a_result_in_the_next_request(stack: Stack) -> None:
    """claude-code#473: worker and command die together, so nothing knows the outcome: the next request pairs
    the call with a result that says so, and the API accepts it."""
    stack.start_worker(pool="prefork", concurrency=1)
    task = stack.submit(task_prompt(turn("", waiting("1"), command("echo after >> log.txt")), turn("done")))
    wait_for(lambda: "start1" in stack.lines(task), "the tool")
    owner = stack.pid_of_owner(task)
    family = family_of_command(stack, task)
    assert len(family) >= 3, "the command, its runner and its keeper must be found"
    for pid in family:
        send(pid, signal.SIGSTOP)
    for pid in (*family, owner):
        send(pid, signal.SIGKILL)
    stack.finished(task)
    assert stack.lines(task) == ["start1", "after"], "a command of unknown outcome never runs again by itself"
    (unknown, known) = stack.events(task, "ToolCompleted")
    assert (unknown.data["unknown"], known.data["unknown"]) == (True, False)
    assert [r["outcome"] for r in stack.model_requests(task)] == ["completed", "completed"]


def family_of_command(stack: Stack, task: str) -> list[int]:
    """Process ids of a task's command, its runner and its keeper; of this stack alone, other stacks run beside it."""
    folder = str(stack.work_dir(task))
    commands = [process.pid for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == folder]
    newest = max(stack.folder.glob("spool/**/alive"), key=lambda path: path.stat().st_mtime)
    words = newest.read_text(encoding="utf-8").split()
    told = dict(zip(words[::2], words[1::2], strict=True))
    return [*commands, int(told["runner"]), int(told["keeper"])]


def test_every_state_has_an_owner_or_a_wake_up_and_takes_a_cancel(stack: Stack) -> None:
    """inngest#2531: after kills of workers and server no task is in limbo, and each can be cancelled."""
    stack.end_workers()
    worker = stack.start_worker(concurrency=8)
    asking = {"allow": ()}
    running = stack.submit(task_prompt(turn("", waiting()), turn("done")))
    waits = stack.submit(task_prompt(turn("", command("true")), turn("done")), **asking)
    pausing = stack.submit(task_prompt(turn("", command("true")), turn("done"), note="pause"), **asking)
    stack.control_model("faults", {"kind": "429", "turn": 1, "times": 1, "retry_after": "600", "attempts": []})
    timer = stack.submit(task_prompt(turn("", command("true")), turn("done"), note="timer"))
    wait_for(lambda: stack.record(timer).place == "timers", "a retry that waits")
    wait_for(lambda: stack.record(pausing).status is Status.WAITING_FOR_USER, "a question")
    wait_for(lambda: stack.record(waits).status is Status.WAITING_FOR_USER, "a question")
    stack.client.pause(pausing)
    wait_for(lambda: stack.lines(running) == ["start"], "a command")
    worker.kill()
    stack.kill_server()
    queued = stack.submit(task_prompt(turn("done")))
    tasks = [running, waits, pausing, timer, queued]
    assert invariant.violations(stack.store.context) == []
    states = {(stack.record(task).status.value, stack.record(task).place) for task in tasks}
    assert states == {
        ("Running", "leases"),
        ("WaitingForUser", "waits"),
        ("Paused", "waits"),
        ("Running", "timers"),
        ("Queued", "outbox"),
    }
    for task in tasks:
        stack.client.cancel(task)
    stack.ensure_shared()
    stack.start_worker()
    for task in tasks:
        wait_for(is_cancelled(stack, task), f"{task} to be cancelled")
        with pytest.raises(IllegalMove):
            stack.client.cancel(task)
    assert stack.lines(running) == ["start"], "the cancelled command must not go on"


def is_cancelled(stack: Stack, task: str) -> Callable[[], bool]:
    """Asks whether the task is cancelled."""
    return lambda: stack.record(task).status is Status.CANCELLED

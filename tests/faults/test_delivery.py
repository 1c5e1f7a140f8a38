"""The broker's faults with real Celery processes: messages lost, broker full or read-only or restarted.

One worker lives through all of them, and a task that is sent afterwards runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from stackkit import Stack, command, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Stack, StackProcess]]:
    """A stack with one worker, which must outlive every test here."""
    with (
        tempfile.TemporaryDirectory(prefix="np-", ignore_cleanup_errors=True) as folder,
        Stack(Path(folder), first_republish_s=1.0, max_republish_s=2.0) as stack,
    ):
        stack.start_control()
        stack.start_beat()
        yield stack, stack.start_worker(concurrency=4)


@pytest.fixture
def stack(running: tuple[Stack, StackProcess]) -> Iterator[Stack]:
    """The stack; afterwards no process has ended, and the invariant holds."""
    made, _ = running
    pids = [process.pid for process in made.processes]
    yield made
    assert [process.pid for process in made.processes if process.is_alive()] == pids
    made.check()


@pytest.fixture
def worker(running: tuple[Stack, StackProcess]) -> StackProcess:
    """The worker."""
    return running[1]


def submit(stack: Stack, count: int) -> list[str]:
    """Tasks of two turns with a command each, and a last one."""
    turns = [turn(f"turn {number}", command(f"echo {number} >> log.txt"), first_byte_delay_s=0.1) for number in (1, 2)]
    return [stack.submit(task_prompt(*turns, turn("done"))) for _ in range(count)]


def check(stack: Stack, tasks: list[str]) -> None:
    """Everything was done once, and nobody was taken for dead."""
    records = stack.finished(*tasks)
    assert [stack.lines(task) for task in tasks] == [["1", "2"]] * len(tasks)
    assert [len(stack.model_requests(task)) for task in tasks] == [3] * len(tasks)
    assert [record.counters.recoveries_total for record in records] == [0] * len(tasks)


def test_every_message_is_lost(stack: Stack, worker: StackProcess) -> None:
    """The broker's database is flushed with every message in it: the sweep sends them again, and goes on itself."""
    worker.freeze()
    try:
        tasks = submit(stack, 6)
        wait_for(lambda: (stack.dispatcher.queue_length() or 0) >= len(tasks), "the messages to be in the broker")
        with redis.Redis.from_url(stack.plan.address.broker_url) as broker:
            broker.flushdb()
    finally:
        worker.thaw()
    check(stack, tasks)
    keys = stack.store.context.keys
    assert None not in [stack.admin.hget(keys.task(task), "published") for task in tasks]
    swept_ms = stack.store.last_sweep_ms()
    wait_for(lambda: stack.store.last_sweep_ms() > swept_ms, "the next sweep")


@contextmanager
def full(stack: Stack) -> Iterator[None]:
    """Over the memory limit."""
    stack.admin.config_set("maxmemory", 1)
    try:
        yield
    finally:
        stack.admin.config_set("maxmemory", 0)


@contextmanager
def read_only(stack: Stack) -> Iterator[None]:
    """A replica of nobody."""
    stack.admin.replicaof("127.0.0.1", 1)
    try:
        yield
    finally:
        stack.admin.replicaof("NO", "ONE")


@pytest.mark.parametrize("refusal", [full, read_only], ids=lambda refusal: refusal.__name__)
def test_the_broker_refuses_for_a_while(stack: Stack, worker: StackProcess, refusal: object) -> None:
    """OOM and READONLY reach Celery while it works and while it is idle: it lives, and goes on when they end."""
    tasks = submit(stack, 4)
    wait_for(lambda: any(stack.lines(task) for task in tasks), "the work to begin")
    with refusal(stack):  # type: ignore[operator]  # a context manager
        started = worker.output()
        wait_for(lambda: "state server" in worker.output()[len(started) :], "the worker to meet the refusal")
    check(stack, tasks)
    check(stack, submit(stack, 1))


def test_the_server_restarts_busy_and_idle(stack: Stack) -> None:
    """kill -9 and start, twice under load and once without: the same processes go on."""
    tasks = submit(stack, 6)
    for wanted in (1, 4):
        wait_for(lambda: sum(len(stack.lines(task)) for task in tasks) >= wanted, "some work")  # noqa: B023 - called before the loop goes on
        stack.kill_server()
    check(stack, tasks)
    stack.kill_server()
    check(stack, submit(stack, 2))

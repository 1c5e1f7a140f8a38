"""Costs that must not grow: the sweep over many tasks, many leases at once, a waiting task, the heartbeat."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Changes, Lease, SuspendTo
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.sweep import Sweep
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from neuraphage.waking import build_dispatcher
from tests.benchmarks.servers import BenchServer

REPEATS = 15


def _parts(server: BenchServer, folder: Path, **times: Any) -> tuple[RedisStore, Sweep]:
    settings = Settings(state_url=server.state_url(), broker_url=server.broker_url(), data_dir=folder / "data", **times)
    store = RedisStore(settings, SystemClock())
    return store, Sweep(store, build_dispatcher(settings), store.clock, settings)


def _claimed(store: RedisStore, count: int) -> list[Lease]:
    """New tasks, each with a lease."""
    leases = []
    for _ in range(count):
        task_id = f"task-{uuid.uuid4()}"
        store.create(TaskSpec(task_id=task_id, name="A task", prompt="Do it.", model="m"), task_id)
        lease = store.claim(task_id, 1, "process", uuid.uuid4().hex[:16]).lease
        if lease is None:
            raise RuntimeError(f"{task_id} was not granted")
        leases.append(lease)
    return leases


def sweep_ms(folder: Path, tasks: int, repeats: int = REPEATS) -> float:
    """One sweep while so many tasks live, none of them due, a quarter in each of the four places.

    Raises:
        RuntimeError: a sweep looked at tasks that are not due, so something else would have been measured. Entries
            too far ahead are looked at, since they were made before the server's clock went back.
    """
    with BenchServer(folder / "w") as server:
        # entries without a record are enough here, but not for the audit, whose cost is that of its batch
        times_s = {"first_republish_s": 600, "max_republish_s": 600, "lease_s": 600, "heartbeat_s": 100}
        store, sweep = _parts(server, folder, audit_keys=0, **times_s)
        keys, client = store.context.keys, store.context.client
        sweep.run(guarded=False)
        before = _scripts_run(client)
        sweep.run(guarded=False)
        of_none = _scripts_run(client) - before
        ahead_ms = int(0.9 * store.context.lease_ms)  # more than the part by which an idle broker's entries come early
        for zset in (keys.outbox, keys.leases, keys.timers, keys.waits):
            _fill(client, zset, tasks // 4, store.now_ms() + ahead_ms)
        before = _scripts_run(client)
        took_ms = median(_timed_ms(lambda: sweep.run(guarded=False)) for _ in range(repeats))
        if (ran := _scripts_run(client) - before) != repeats * of_none:
            raise RuntimeError(f"{repeats} sweeps with nothing due ran {ran} scripts; without tasks one runs {of_none}")
        return took_ms


def _fill(client: Any, zset: str, count: int, score: int) -> None:
    while count > 0:
        client.zadd(zset, {f"task-{uuid.uuid4()}": score for _ in range(min(count, 5_000))})
        count -= 5_000


def _scripts_run(client: Any) -> int:
    return sum(row["calls"] for name, row in client.info("commandstats").items() if name.startswith("cmdstat_evalsha"))


def recovery_ms_a_task(folder: Path, tasks: int) -> float:
    """Time a task of the sweep that recovers so many leases that ran out together, publishing included."""
    with BenchServer(folder / f"e{tasks}") as server:
        store, sweep = _parts(server, folder, heartbeat_s=0.2, lease_s=1.0, first_republish_s=600, max_republish_s=600)
        leases = _claimed(store, tasks)
        keys, client = store.context.keys, store.context.client
        client.zadd(keys.leases, {lease.task_id: store.now_ms() - 10 for lease in leases})
        sweep.run(guarded=False)  # the first visit marks them
        time.sleep(2.5 * 0.2)  # two heartbeats
        took_ms = _timed_ms(lambda: sweep.run(guarded=False))
        if client.zcard(keys.leases):
            raise RuntimeError(f"{client.zcard(keys.leases)} leases were not recovered")
        return took_ms / tasks


def waiting_bytes(folder: Path, tasks: int = 1_000) -> float:
    """Memory of the server for one task that waits for a person, without conversation and events."""
    with BenchServer(folder / "i") as server:
        store, _ = _parts(server, folder)
        keys, client = store.context.keys, store.context.client
        _wait(store, _claimed(store, 1))
        before = client.info("memory")["used_memory"]
        leases = _claimed(store, tasks)
        _wait(store, leases)
        grown = client.info("memory")["used_memory"] - before
        apart = sum(
            client.memory_usage(key) or 0
            for lease in leases
            for key in (keys.messages(lease.task_id), keys.events(lease.task_id))
        )
        return float(grown - apart) / tasks


def _wait(store: RedisStore, leases: list[Lease]) -> None:
    for lease in leases:
        prompt = Prompt(prompt_id=uuid.uuid4().hex[:16], kind=PromptKind.QUESTION, text="Which one?", opened_at_ms=1)
        store.suspend(lease, Changes(prompts_opened=(prompt,)), SuspendTo.WAIT)


def heartbeat_ms(folder: Path, leases: int = 100) -> float:
    """One renewal of so many leases."""
    with BenchServer(folder / "n") as server:
        store, _ = _parts(server, folder)
        held = _claimed(store, leases)
        return median(_timed_ms(lambda: store.renew(held)) for _ in range(REPEATS))


def _timed_ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000

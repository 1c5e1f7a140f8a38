"""A server that refuses writes refuses each script whole: nothing is half done (real server only)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, FinishTo, Lease, SignalKind, SuspendTo
from neuraphage.store import invariant, places, signals
from servers import ValkeyProcess
from storekit import ASK, TALK, StoreKit, question, text_entry

pytestmark = pytest.mark.real_redis
Write = Callable[[], Any]


@pytest.fixture(autouse=True)
def _no_look_at_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts must hold by themselves: a server may fill up after the look at its memory."""
    monkeypatch.setattr(signals, "refuse_when_full", lambda *_: None)


@contextmanager
def out_of_memory(client: Any, folder: Path) -> Iterator[None]:
    """The server is over its memory limit."""
    client.config_set("maxmemory", 1)
    try:
        yield
    finally:
        client.config_set("maxmemory", 0)


@contextmanager
def read_only(client: Any, folder: Path) -> Iterator[None]:
    """The server was made a replica (of nobody)."""
    client.replicaof("127.0.0.1", 1)
    try:
        yield
    finally:
        client.replicaof("NO", "ONE")


@contextmanager
def no_replicas(client: Any, folder: Path) -> Iterator[None]:
    """The server lacks the replicas it must have."""
    client.config_set("min-replicas-to-write", 1)
    try:
        yield
    finally:
        client.config_set("min-replicas-to-write", 0)


@contextmanager
def disk_failed(client: Any, folder: Path) -> Iterator[None]:
    """The server could not save (a folder stands where its dump should go), and so answers MISCONF."""
    (folder / "dump.rdb" / "inside").mkdir(parents=True, exist_ok=True)
    client.config_set("save", "3600 1000000")
    client.bgsave()
    for _ in range(100_000):
        state = client.info("persistence")
        if not state["rdb_bgsave_in_progress"] and state["rdb_last_bgsave_status"] == "err":
            break
    try:
        yield
    finally:
        client.config_set("save", "")


REFUSALS = {"maxmemory": out_of_memory, "read only": read_only, "NOREPLICAS": no_replicas, "MISCONF": disk_failed}
"""What the server's refusal says, and how to make it refuse."""
FULL = Changes(
    entries=(text_entry("one"),), prompts_opened=(question(TALK, deadline_ms=5),), add={"model_calls": 1}, outcome=True
)


def settling(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """commit, suspend and finish to each target, plain and with each flag."""

    def leases() -> Iterator[tuple[str, Lease]]:
        for flag in (None, SignalKind.PAUSE, SignalKind.CANCEL):
            task_id, lease = kit.running()
            if flag:
                kit.send(task_id, flag)
            yield str(flag), lease

    for name, lease in leases():
        yield f"commit {name}", partial(kit.store.commit, lease, FULL)
    for to in SuspendTo:
        for name, lease in leases():
            yield f"suspend {to} {name}", partial(kit.suspend, lease, to, FULL, due_ms=5)
    for end in FinishTo:
        for name, lease in leases():
            yield f"finish {end} {name}", partial(kit.store.finish, lease, FULL, end, 0, {})


def claiming(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """claim in its three outcomes that write, renew, and the moves of the sweep."""
    for flag in (None, "pause", "cancel"):
        task_id = kit.create()
        if flag:
            kit.client.hset(kit.keys.task(task_id), flag, 1)
        yield f"claim {flag}", partial(kit.try_claim, task_id)
    _, lease = kit.running()
    yield "renew", lambda: kit.store.renew([lease])
    waits, held = kit.running()
    kit.suspend(held, SuspendTo.TIMER, due_ms=1)
    yield "fire timers", lambda: places.fire(kit.store.context, waits, "timers")
    blocked = kit.put(Status.BLOCKED)
    yield "fire blocked", lambda: places.fire(kit.store.context, blocked, "blocked")
    queued = kit.create()
    yield "republish", lambda: places.republish(kit.store.context, queued, ahead_ms=10**8)
    ended = kit.put(Status.COMPLETED)
    yield "delete", lambda: places.delete(kit.store.context, ended, force=True)
    spec = TaskSpec(task_id="task-00000000-0000-0000-0000-00000000dead", name="n", prompt="p", model="m")
    yield "create", lambda: kit.store.create(spec, "a new key")


def recovering(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """recover in each of its outcomes."""
    for name in ("recovered", "pause", "cancel", "suspect", "poison"):
        task_id, _ = kit.running()
        if name in ("pause", "cancel"):
            kit.send(task_id, SignalKind(name))
        if name == "poison":
            kit.client.hset(kit.keys.task(task_id), "recoveries", 9)
        if name == "suspect":
            kit.expire_lease(task_id)
        held, evidence = kit.held(task_id), "expired" if name == "suspect" else "gone"
        yield f"recover {name}", partial(kit.store.recover, held, evidence)


def signalling(kit: StoreKit) -> Iterator[tuple[str, Write]]:
    """Each signal from each status that accepts it."""
    rows = [
        *((kind, status) for kind in (SignalKind.INPUT, SignalKind.CANCEL) for status in list(Status)[:5]),
        *((SignalKind.PAUSE, status) for status in list(Status)[:4]),
        (SignalKind.ANSWER, Status.WAITING_FOR_USER),
        (SignalKind.RESUME, Status.PAUSED),
        (SignalKind.RETRY, Status.FAILED),
        (SignalKind.RESET, Status.FAILED),
    ]
    for kind, status in rows:
        task_id = kit.put(status)
        yield f"{kind} {status}", partial(kit.send, task_id, kind, prompt_id=ASK)
    task_id, _ = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    yield "resume Running", lambda: kit.send(task_id, SignalKind.RESUME)


@pytest.mark.parametrize("writes", [settling, claiming, recovering, signalling], ids=lambda make: make.__name__)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_write_changes_nothing(
    real_kit: StoreKit,
    valkey: ValkeyProcess,
    refusal: str,
    writes: Callable[[StoreKit], Iterator[tuple[str, Write]]],
) -> None:
    """Every script's first write is one the server refuses, so that the whole script is refused; then it works."""
    calls = list(writes(real_kit))
    before = real_kit.state()
    with REFUSALS[refusal](real_kit.client, valkey.folder):
        for name, write in calls:
            with pytest.raises(StoreUnavailable, match=refusal):
                write()
            assert name
        after = real_kit.state()
    assert after == before
    for name, write in calls:
        unchanged = real_kit.state()
        write()
        assert real_kit.state() != unchanged or name == "renew", name
    assert invariant.violations(real_kit.store.context) == []

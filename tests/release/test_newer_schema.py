"""What a newer release wrote, an older process leaves alone: said clearly, nothing changed, nothing lost."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from neuraphage.errors import SchemaTooNew
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.task import Status
from neuraphage.runtime.outcome import Outcome
from neuraphage.store.scripts import source_of
from servers import ValkeyProcess
from statekit import SCENARIOS, FollowingModel, carry_on, settings_of
from storefixtures import valkey
from turnkit import Rig, new_rig

__all__ = ["valkey"]
pytestmark = pytest.mark.real_redis
NEWER = SCHEMA_VERSION + 1
CLAIM_FIELDS = {
    "fence",
    "claim",
    "token",
    "trail",
    "owner",
    "seq",
    "verdict",
    "status",
    "since",
    "started_at",
    "started",
    "reason",
    "saved_at",
    "lease_ms",
}
"""What a claim that is given back changes of a record."""


@pytest.fixture
def rig(valkey: ValkeyProcess, tmp_path: Path) -> Iterator[Rig]:
    """A worker with a task that has taken its first turn, and then its user's words, unread."""
    client = valkey.client()
    client.flushall()
    made = new_rig(tmp_path, FollowingModel(SCENARIOS["input"]), client=client, settings=settings_of(tmp_path))
    made.submit()
    made.step()
    yield made.reborn()
    client.close()


def task_of(rig: Rig) -> str:
    """The only task."""
    (task_id,) = (raw.decode() for raw in rig.client.zrange(rig.kit.keys.outbox, 0, -1))
    return str(task_id)


def newer_record(rig: Rig, task_id: str) -> None:
    rig.client.hset(rig.kit.keys.task(task_id), "schema", NEWER)


def newer_entry(rig: Rig, task_id: str) -> None:
    raw = orjson.loads(rig.client.lindex(rig.kit.keys.messages(task_id), 0))
    rig.client.lset(rig.kit.keys.messages(task_id), 0, orjson.dumps({**raw, "v": NEWER}))


def newer_journal(rig: Rig, task_id: str) -> None:
    newer_record(rig, task_id)
    rig.client.hset(rig.kit.keys.turn(task_id), "model", b'{"state":"thought about","mood":"good"}')


def newer_message(rig: Rig, task_id: str) -> None:
    newer_record(rig, task_id)
    rig.client.rpush(rig.kit.keys.inbox(task_id), b'i\n{"kind":"picture","pixels":9}')


def newer_prompt(rig: Rig, task_id: str) -> None:
    newer_record(rig, task_id)
    rig.client.hset(rig.kit.keys.task(task_id), "p:x", b'{"prompt_id":"x","kind":"slider"}')


def newer_spec(rig: Rig, task_id: str) -> None:
    newer_record(rig, task_id)
    rig.client.hset(rig.kit.keys.task(task_id), "spec", b'{"task_id":"x","colour":"red"}')


NEWER_SHAPES = [newer_record, newer_entry, newer_journal, newer_message, newer_prompt, newer_spec]


def stored(rig: Rig, task_id: str, changed: Collection[str] = CLAIM_FIELDS) -> dict[str, Any]:
    """Everything of the task but what a claim changes, and its place and history."""
    state = rig.kit.state()
    record, prefix = rig.kit.keys.task(task_id), rig.kit.keys.task(task_id)
    found = {name: content for name, content in state.items() if name.startswith(f"{prefix}:") and "events" not in name}
    fields = state[record][0]
    return found | {record: {name: raw for name, raw in fields.items() if name.decode() not in changed}}


@pytest.mark.parametrize("write", NEWER_SHAPES)
def test_an_older_worker_gives_it_back_whole(rig: Rig, write: Callable[[Rig, str], None]) -> None:
    """No byte of it changes, and it is in the outbox again, for the sweep to offer it to the next worker."""
    task_id = task_of(rig)
    write(rig, task_id)
    # a claim cannot see what stands in the conversation: it announces a call, which is taken back but for its name
    changed = {*CLAIM_FIELDS, "marker"} if write is newer_entry else CLAIM_FIELDS
    before = stored(rig, task_id, changed)
    assert rig.step() == Outcome.TOO_NEW.value
    assert stored(rig, task_id, changed) == before
    assert (rig.kit.status(task_id), rig.kit.place(task_id)) == (Status.RUNNING, "outbox")
    rig.kit.due("outbox", task_id)
    assert rig.sweep.outbox(rig.store.now_ms()) == 1
    assert rig.dispatcher.messages == [(task_id, rig.kit.number(task_id, "seq"))]


def test_an_older_worker_does_not_spin(rig: Rig) -> None:
    """Each time nobody can claim it, the sweep waits longer, up to the setting's limit."""
    task_id = task_of(rig)
    newer_record(rig, task_id)
    waits = []
    for _ in range(3):
        rig.step()
        rig.kit.due("outbox", task_id)
        rig.sweep.outbox(rig.store.now_ms())
        waits.append(rig.client.zscore(rig.kit.keys.outbox, task_id) - rig.store.now_ms())
    assert all(wait > 0 for wait in waits)
    assert rig.kit.number(task_id, "recoveries_total") == 0


def test_the_newer_worker_goes_on(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the upgrade: the same stored bytes, a process that reads them, and the task ends."""
    task_id = task_of(rig)
    newer_record(rig, task_id)
    assert rig.step() == Outcome.TOO_NEW.value
    monkeypatch.setattr("neuraphage.store.record.SCHEMA_VERSION", NEWER)
    carry_on(rig.reborn(), task_id, SCENARIOS["input"])
    monkeypatch.undo()
    assert rig.kit.status(task_id) is Status.COMPLETED


@pytest.mark.parametrize("write", NEWER_SHAPES[:1])
def test_looking_at_it_says_what_to_do(rig: Rig, write: Callable[[Rig, str], None]) -> None:
    """Both numbers, and that this process is the one to upgrade; nothing is changed by the look."""
    task_id = task_of(rig)
    write(rig, task_id)
    before = rig.kit.state()
    with pytest.raises(SchemaTooNew, match=rf"schema {NEWER}, this release reads up to {SCHEMA_VERSION}; upgrade"):
        rig.get(task_id)
    assert rig.kit.state() == before


def test_a_claim_raises_the_schema_of_the_task(rig: Rig) -> None:
    """So that what this release writes from now on is not read by an older worker as broken."""
    task_id = task_of(rig)
    rig.client.hset(rig.kit.keys.task(task_id), "schema", 0)
    rig.step()
    assert rig.kit.number(task_id, "schema") == SCHEMA_VERSION


def test_the_scripts_write_the_schema_of_this_release() -> None:
    """Its number is written into them from its one home."""
    assert f"local SCHEMA, TERMINAL = {SCHEMA_VERSION}," in source_of("claim")

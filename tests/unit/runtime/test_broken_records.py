"""Stored state that cannot be read: the task is failed and nothing else is changed; others go on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from neuraphage.errors import CorruptRecord
from neuraphage.model.task import Status
from turnkit import FakeModel, FakeTool, Killed, Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]
Break = Callable[[Rig, str], object]


def hash_field(name: str, value: Any) -> Break:
    return lambda rig, task_id: rig.client.hset(rig.kit.keys.task(task_id), name, value)


BREACHES: dict[str, Break] = {
    "spec": hash_field("spec", "{"),
    "spec without an id": hash_field("spec", "{}"),
    "counters": hash_field("input_tokens", -5),
    "turns without replies": hash_field("model_calls", 0),
    "counter that is no number": hash_field("cost_microusd", "many"),
    "prompt": hash_field("p:x", "{"),
    "marker of no known name": hash_field("marker", '{"name":"lunch"}'),
    "journal": lambda rig, task_id: rig.client.hset(rig.kit.keys.turn(task_id), "model", "{"),
    "journal of another shape": lambda rig, task_id: rig.client.hset(rig.kit.keys.turn(task_id), "x", '{"kind":1}'),
    "conversation": lambda rig, task_id: rig.client.lset(rig.kit.keys.messages(task_id), 0, "\x00"),
    "conversation that is gone": lambda rig, task_id: rig.client.delete(rig.kit.keys.messages(task_id)),
    "inbox": lambda rig, task_id: rig.client.rpush(rig.kit.keys.inbox(task_id), "i\n{"),
}


def after_one_turn(folder: Path) -> tuple[Rig, str]:
    """A task between its turns, and a process that has not worked on it: one that has knows what it read before."""
    rig = new_rig(folder, FakeModel(calls(("t1", "act", {})), says("Never.")), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    return rig.reborn(), task_id


def contents(rig: Rig, task_id: str) -> dict[str, Any]:
    """Everything of the task but its own hash and history."""
    state = rig.kit.state()
    return {name: state[name][0] for name in state if task_id in name and not name.endswith((task_id, ":events"))}


@pytest.mark.parametrize("breach", BREACHES)
def test_a_broken_record_fails_its_task_and_nothing_else_changes(tmp_path: Path, breach: str) -> None:
    """No call is made, what is stored stays for people to look at, and the reason is told."""
    rig, task_id = after_one_turn(tmp_path)
    other = rig.submit()
    BREACHES[breach](rig, task_id)
    before = contents(rig, task_id)
    rig.step()
    assert rig.kit.status(task_id) is Status.FAILED
    detail = orjson.loads(rig.kit.field(task_id, "detail") or "")
    assert "cannot be read" in detail["error"]
    assert detail["recoverable"] is False
    assert contents(rig, task_id) == before
    assert len(rig.model.requests) == 1
    assert rig.get(other).status is Status.QUEUED
    rig.check()


def test_reading_a_broken_record_changes_nothing(tmp_path: Path) -> None:
    """A look at a broken task says what is wrong, by name."""
    rig, task_id = after_one_turn(tmp_path)
    BREACHES["counters"](rig, task_id)
    before = rig.kit.state()
    with pytest.raises(CorruptRecord, match="input_tokens is negative"):
        rig.get(task_id)
    assert rig.kit.state() == before


def newer_task(rig: Rig, task_id: str) -> None:
    rig.client.hset(rig.kit.keys.task(task_id), "schema", 99)


def newer_entry(rig: Rig, task_id: str) -> None:
    raw = orjson.loads(rig.client.lindex(rig.kit.keys.messages(task_id), 0))
    rig.client.lset(rig.kit.keys.messages(task_id), 0, orjson.dumps({**raw, "v": 99}))


@pytest.mark.parametrize("write", [newer_task, newer_entry])
def test_a_task_of_a_newer_release_is_left_to_newer_workers(
    tmp_path: Path, write: Break, caplog: pytest.LogCaptureFixture
) -> None:
    """An old worker in the middle of an upgrade gives it back without failing it, and does not spin."""
    rig, task_id = after_one_turn(tmp_path)
    write(rig, task_id)
    before = contents(rig, task_id)
    with caplog.at_level(logging.WARNING):
        rig.step()
    assert (rig.kit.status(task_id), rig.kit.place(task_id)) == (Status.RUNNING, "outbox")
    assert contents(rig, task_id) == before
    assert rig.dispatcher.messages == []
    assert rig.kit.number(task_id, "recoveries_total") == 0
    assert "upgrade" in caplog.text


# --- recovery among broken records ---


def held_by_the_dead(rig: Rig) -> str:
    """A task whose process was killed in a tool."""
    task_id = rig.submit()
    rig.dies()
    return task_id


def dying_rig(folder: Path, count: int) -> Rig:
    def act(params: Any, context: Any) -> Any:
        raise Killed

    replies = [calls(("t1", "act", {}))] * count
    return new_rig(folder, FakeModel(*replies), extra=[FakeTool(act=act)])


@pytest.mark.parametrize("marker", ["{", "[]", '"x"', "{}", "null", ""])
def test_an_orphan_whose_marker_is_broken_is_failed(tmp_path: Path, marker: str) -> None:
    """Recovery decides about it instead of stumbling over it for ever."""
    rig = dying_rig(tmp_path, 1)
    task_id = held_by_the_dead(rig)
    rig.client.hset(rig.kit.keys.task(task_id), "marker", marker)
    rig.sweep.recover(rig.kit.held(task_id), "gone")
    assert rig.kit.status(task_id) is Status.FAILED
    assert "marker" in orjson.loads(rig.kit.field(task_id, "detail") or "")["error"]


@pytest.mark.parametrize("value", ["broken", None])
@pytest.mark.parametrize("field", ["seq", "fence", "recoveries", "saved_at", "iteration"])
def test_one_broken_orphan_holds_no_other_up(
    tmp_path: Path, field: str, value: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    """The sweep goes on to the next task; the broken one is failed, and record and log name what is broken."""
    rig = dying_rig(tmp_path, 2)
    first, second = held_by_the_dead(rig), held_by_the_dead(rig)
    for visit in range(2):
        for at, task_id in enumerate((first, second)):
            rig.client.zadd(rig.kit.keys.leases, {task_id: 1_000 + at})
        if visit:
            for task_id in (first, second):
                if rig.client.hexists(rig.kit.keys.suspects, task_id):
                    rig.kit.age_mark(task_id)
        else:
            name = rig.kit.keys.task(first)
            rig.client.hset(name, field, value) if value is not None else rig.client.hdel(name, field)
        rig.sweep.run(guarded=False)
    assert rig.kit.place(second) == "outbox"
    assert rig.kit.status(first) is Status.FAILED
    assert f"its {field} is broken" in orjson.loads(rig.kit.field(first, "detail") or "")["error"]
    assert f"its {field} is broken" in caplog.text


@pytest.mark.parametrize("place", ["outbox", "timers", "waits"])
def test_one_broken_task_in_a_place_holds_no_other_up(tmp_path: Path, place: str) -> None:
    """The same for republishing, timers and polls."""
    rig = new_rig(tmp_path, FakeModel())
    first, second = rig.submit(), rig.submit()
    rig.dispatcher.messages.clear()
    keys = rig.kit.keys
    for at, task_id in enumerate((first, second)):
        rig.client.zrem(keys.outbox, task_id)
        rig.client.zadd(getattr(keys, place), {task_id: 1 + at})
        if place == "waits":
            rig.client.hset(keys.task(task_id), "status", "Blocked")
            rig.client.zrem(keys.status(Status.QUEUED), task_id)
            rig.client.zadd(keys.status(Status.BLOCKED), {task_id: 1 + at})
    rig.client.hset(keys.task(first), "seq", "broken")
    rig.sweep.run(guarded=False)
    assert [task_id for task_id, _ in rig.dispatcher.messages if task_id != first] == [second]

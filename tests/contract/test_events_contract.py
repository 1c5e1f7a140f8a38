"""Events: in the stream of their task and in that of the namespace, once each, under one id, with what caused them."""

from __future__ import annotations

import pytest

from eventkit import all_index, index_faults
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.event import Cause, Event, EventKind
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo, SignalKind, SuspendTo
from neuraphage.store import event_stream, queries
from storekit import MODEL_CALL, StoreKit, question

NONE: frozenset[str] = frozenset()


def told(kit: StoreKit, task_id: str) -> list[Event]:
    return queries.events(kit.store.context, task_id)


def of_all(kit: StoreKit, after: str = "0", kinds: frozenset[str] = NONE, tasks: frozenset[str] = NONE) -> list[Event]:
    return list(event_stream.all_events(kit.store.context, after, kinds, tasks).events)


def test_each_event_is_in_both_streams_under_one_id(kit: StoreKit) -> None:
    """The namespace has those of all tasks in the order in which they came; their data are in their tasks' streams."""
    first, lease = kit.running()
    second = kit.create()
    kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    whole = [e for e in of_all(kit) if e.task_id in (first, second)]
    assert [(e.task_id, e.kind) for e in whole] == [
        (first, "TaskCreated"), (first, "TaskStarted"), (second, "TaskCreated"), (first, "TaskCompleted"),
    ]  # fmt: skip
    assert [e for e in whole if e.task_id == first] == told(kit, first)
    assert [e.event_id for e in whole] == sorted((e.event_id or "" for e in whole), key=event_number)


def event_number(event_id: str) -> tuple[int, ...]:
    return tuple(map(int, event_id.split("-")))


def test_what_is_asked_for_alone_is_read(kit: StoreKit) -> None:
    """By kind, by task, and behind an event."""
    first, second = kit.create(), kit.put(Status.COMPLETED)
    whole = of_all(kit)
    assert of_all(kit, kinds=frozenset({"TaskCompleted"})) == [whole[-1]]
    assert [e.task_id for e in of_all(kit, tasks=frozenset({first}))] == [first]
    assert of_all(kit, after=whole[1].event_id or "") == whole[2:]
    assert {e.task_id for e in whole} == {first, second}


def test_a_turn_tells_turn_and_fence_and_that_it_was_a_worker(kit: StoreKit) -> None:
    """Of the turn that was under way, and of the lease that was held."""
    task_id, lease = kit.running()
    gone_on = kit.go_on(lease, changes=Changes(add=MODEL_CALL, events=(Event(kind="Said"),)))
    assert gone_on.claimed is not None
    assert gone_on.claimed.lease is not None
    kit.store.commit(gone_on.claimed.lease, Changes(events=(Event(kind="Said"),)))
    assert [(e.kind, e.turn, e.fence, e.cause, e.schema_version) for e in told(kit, task_id)] == [
        ("TaskCreated", 0, None, Cause.PERSON, SCHEMA_VERSION),
        ("TaskStarted", 0, 1, Cause.WORKER, SCHEMA_VERSION),
        ("Said", 0, 1, Cause.WORKER, SCHEMA_VERSION),
        ("Said", 1, 2, Cause.WORKER, SCHEMA_VERSION),
    ]  # fmt: skip


def test_who_or_what_it_was(kit: StoreKit) -> None:
    """A person, a deadline, a sweep, a watcher; also where a worker carries out what a person has asked for."""
    asked = kit.waiting(question())
    kit.send(asked, SignalKind.ANSWER, text="no", prompt_id=question().prompt_id, by="timeout")
    assert told(kit, asked)[-1].cause == Cause.DEADLINE
    paused, lease = kit.running()
    kit.send(paused, SignalKind.PAUSE)
    kit.suspend(lease, SuspendTo.PAUSE)
    assert (told(kit, paused)[-1].kind, told(kit, paused)[-1].cause) == ("TaskPaused", Cause.PERSON)
    cancelled, lease = kit.running()
    kit.send(cancelled, SignalKind.CANCEL)
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert (told(kit, cancelled)[-1].kind, told(kit, cancelled)[-1].cause) == ("TaskCancelled", Cause.PERSON)
    seen, _ = kit.running()
    kit.recover(seen, "gone")
    assert (told(kit, seen)[-1].kind, told(kit, seen)[-1].cause) == ("TaskRecovered", Cause.WATCHER)
    late, _ = kit.running()
    kit.expire_lease(late)
    kit.recover(late, "expired")
    kit.age_mark(late)
    kit.recover(late, "expired")
    assert (told(kit, late)[-1].kind, told(kit, late)[-1].cause) == ("TaskRecovered", Cause.SWEEP)
    assert told(kit, late)[-1].fence is None


def test_a_clock_that_has_gone_back_costs_no_event(kit: StoreKit) -> None:
    """The task's stream is ahead of the namespace's: the event is in both all the same, once, under one id."""
    task_id, lease = kit.running()
    ahead = f"{kit.store.now_ms() + 10**7}-0"
    kit.client.xadd(kit.keys.events(task_id), {"k": "TaskUnpaused", "d": "{}", "s": "0  person 2"}, id=ahead)
    kit.client.xadd(kit.keys.all_events, {"TaskUnpaused": task_id}, id=f"{kit.store.now_ms()}-99")
    kit.client.xdel(kit.keys.all_events, all_index(kit.store.context)[-1][0])
    kit.store.commit(lease, Changes(events=(Event(kind="ToolStarted"), Event(kind="ToolCompleted"))))
    mine = told(kit, task_id)[-2:]
    assert [e.kind for e in mine] == ["ToolStarted", "ToolCompleted"]
    assert [(e.event_id, e.kind, task_id) for e in mine] == all_index(kit.store.context)[-2:]
    kit.client.xdel(kit.keys.events(task_id), ahead)


@pytest.mark.parametrize("writes", ["create", "claim", "send"])
def test_the_stream_of_the_namespace_is_bounded(kit: StoreKit, writes: str) -> None:
    """Each new task, claim and request shortens it to about its length; streams of tasks stay as they are."""
    short = kit.under(namespace_events_max=100)
    task_id = kit.create()
    with kit.client.pipeline(transaction=False) as pipe:
        for _ in range(450):
            pipe.xadd(kit.keys.all_events, {"Old": "task-of-old"})
        pipe.execute()
    if writes == "create":
        short.create()
    elif writes == "claim":
        short.claim(task_id)
    else:
        short.send(task_id, SignalKind.PAUSE)
    assert kit.client.xlen(kit.keys.all_events) <= 200
    assert kit.client.xlen(kit.keys.events(task_id)) >= 1


def test_what_is_deleted_is_known_by_kind_and_task_alone(kit: StoreKit) -> None:
    """The stream of the namespace holds no words of a task."""
    task_id = kit.put(Status.FAILED)
    kit.store.delete(task_id, force=True)
    left = [e for e in of_all(kit) if e.task_id == task_id]
    assert [e.kind for e in left] == ["TaskCreated", "TaskStarted", "TaskFailed"]
    assert all(e.data == {} and e.cause is None and e.at_ms for e in left)
    assert index_faults(kit.store.context) == []


def test_events_of_an_earlier_release_are_read(kit: StoreKit) -> None:
    """They have no turn, fence and cause; and a newer release may add to what stands behind the version."""
    task_id = kit.create()
    kit.client.xadd(kit.keys.events(task_id), {"k": "TaskResumed", "d": "{}"})
    kit.client.xadd(kit.keys.events(task_id), {"k": "OfTomorrow", "d": "{}", "s": "3 7 moon 99 more", "z": "1"})
    old, new = told(kit, task_id)[-2:]
    assert (old.kind, old.turn, old.fence, old.cause, old.schema_version) == ("TaskResumed", None, None, None, None)
    assert (new.kind, new.turn, new.fence, new.cause, new.schema_version) == ("OfTomorrow", 3, 7, "moon", 99)
    kit.broken_on_purpose = True


def test_every_kind_that_a_script_writes_has_its_name(kit: StoreKit) -> None:
    """The stream of the namespace has nothing but kinds and tasks."""
    for status in Status:
        kit.put(status)
    assert {kind for _, kind, _ in all_index(kit.store.context)} <= set(EventKind)

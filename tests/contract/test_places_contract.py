"""create, fire, republish, delete: the scripts around a task's life, and reads of due entries."""

from __future__ import annotations

import pytest

from neuraphage.errors import BadInput, TaskNotFound
from neuraphage.model.task import TERMINAL, Status, TaskSpec
from neuraphage.ports import Changes, ClaimVerdict, FinishTo, NextTurn, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import listing, places, queries
from storekit import CHANNELS, StoreKit, question

MISSING = "task-00000000-0000-0000-0000-00000000dead"


def test_create_puts_a_task_in_the_outbox(kit: StoreKit) -> None:
    """A new task is Queued, in the outbox, with its prompt as the first message."""
    task_id = kit.create(prompt="Paint it.")
    record = kit.store.get(task_id)
    assert (record.status, record.place, record.seq, record.fence) == (Status.QUEUED, "outbox", 1, 0)
    assert queries.conversation(kit.store.context, task_id)[0]["content"][0]["text"] == "Paint it."
    first = kit.client.zscore(kit.keys.outbox, task_id) - record.created_at_ms
    assert first == kit.store.context.settings.first_republish_s * 1000


def test_create_is_idempotent(kit: StoreKit) -> None:
    """The same key makes no second task, whatever id comes with it; the key expires."""
    one = kit.create(key="k")
    before = kit.state()
    other = TaskSpec(task_id=MISSING, name="Another", prompt="p", model="m")
    assert kit.store.create(other, "k")[:2] == (False, one)
    assert kit.state() == before
    assert kit.client.pttl(kit.keys.create("k")) > 0


def test_create_never_overwrites(kit: StoreKit) -> None:
    """An id that exists is not made again under another key."""
    one = kit.create(key="k")
    before = kit.state()
    again = TaskSpec(task_id=one, name="Another", prompt="p", model="m")
    assert kit.store.create(again, "other")[:2] == (False, one)
    assert kit.state() == before


def test_create_refuses_a_prompt_over_the_limit(kit: StoreKit) -> None:
    """The limit on one entry holds for the first one."""
    spec = TaskSpec(task_id=MISSING, name="Long", prompt="x" * 1_001, model="m")
    with pytest.raises(BadInput, match="max_entry_bytes"):
        kit.under(max_entry_bytes=1_000).store.create(spec, "k")
    assert kit.state() == {}


def test_a_due_timer_fires_once(kit: StoreKit) -> None:
    """A timer fires when it is due, not before, and moves the task to the outbox."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() + 60_000)
    before = kit.state()
    assert places.fire(kit.store.context, task_id, "timers") is None
    assert kit.state() == before
    kit.due("timers", task_id)
    assert places.due_timers(kit.store.context, kit.store.now_ms(), 10) == [task_id]
    assert places.fire(kit.store.context, task_id, "timers") == NextTurn(task_id, 3, 0)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.RUNNING, "outbox")
    assert places.fire(kit.store.context, task_id, "timers") is None
    assert kit.try_claim(task_id, seq=2).verdict is ClaimVerdict.STALE, "the message of before the wait"
    assert kit.try_claim(task_id, seq=3).verdict is ClaimVerdict.GRANTED


def test_a_blocked_task_is_polled(kit: StoreKit) -> None:
    """The fallback poll queues a blocked task; the next claim looks at the resource again."""
    task_id = kit.put(Status.BLOCKED)
    assert places.blocked_since(kit.store.context, kit.store.now_ms(), 10) == [task_id]
    assert places.fire(kit.store.context, task_id, "blocked") == NextTurn(task_id, 3, 0)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.QUEUED, "outbox")
    assert kit.try_claim(task_id, seq=2).verdict is ClaimVerdict.STALE, "the message of before the wait"
    assert kit.try_claim(task_id, seq=3).verdict is ClaimVerdict.GRANTED


@pytest.mark.parametrize("source", ["timers", "blocked"])
@pytest.mark.parametrize("status", [s for s in Status if s is not Status.BLOCKED])
def test_nothing_else_fires(kit: StoreKit, source: str, status: Status) -> None:
    """Firing a task that doesn't wait there changes nothing."""
    task_id = kit.put(status)
    before = kit.state()
    assert places.fire(kit.store.context, task_id, source) is None
    assert kit.state() == before


def test_republish_doubles_up_to_the_limit(kit: StoreKit) -> None:
    """Each publish of an unclaimed task moves the next one twice as far, up to max_republish_s."""
    task_id = kit.create()
    distances = []
    for _ in range(6):
        kit.due("outbox", task_id)
        assert places.republish(kit.store.context, task_id) == NextTurn(task_id, 1, 0)
        distances.append(round((kit.client.zscore(kit.keys.outbox, task_id) - kit.store.now_ms()) / 1000))
    assert distances == [10, 20, 40, 60, 60, 60]


def test_republish_starts_anew_with_each_step(kit: StoreKit) -> None:
    """The distance belongs to one seq; the next turn begins at the first distance."""
    task_id = kit.create()
    kit.due("outbox", task_id)
    places.republish(kit.store.context, task_id)
    kit.finish(kit.claim(task_id), FinishTo.NEXT)
    kit.due("outbox", task_id)
    assert places.republish(kit.store.context, task_id) == NextTurn(task_id, 2, 1)
    assert kit.field(task_id, "published") == "2:1"


def test_republish_waits_for_its_time(kit: StoreKit) -> None:
    """A task not yet due is published only when asked ahead (the broker's queue was found empty)."""
    task_id = kit.create()
    before = kit.state()
    assert places.republish(kit.store.context, task_id) is None
    assert kit.state() == before
    assert places.republish(kit.store.context, task_id, ahead_ms=60_000) is not None


@pytest.mark.parametrize("status", [s for s in Status if s is not Status.QUEUED])
def test_republish_only_from_the_outbox(kit: StoreKit, status: Status) -> None:
    """A task that was claimed, waits or is over is not published."""
    task_id = kit.put(status)
    before = kit.state()
    assert places.republish(kit.store.context, task_id, ahead_ms=10**9) is None
    assert kit.state() == before


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_delete_leaves_a_tombstone(kit: StoreKit, status: Status) -> None:
    """At its time, every key and index entry goes; the id can never be made again."""
    task_id = kit.put(status)
    before = kit.state()
    assert not places.delete(kit.store.context, task_id)
    assert kit.state() == before
    kit.due("retention", task_id)
    assert places.due_retention(kit.store.context, kit.store.now_ms(), 10) == [task_id]
    assert places.delete(kit.store.context, task_id)
    left = {key for key in kit.state() if ":create:" not in key}
    assert left <= {kit.keys.tombstones, kit.keys.ledger, kit.keys.all_events}  # what was spent, and kinds, stay known
    with pytest.raises(TaskNotFound):
        kit.store.get(task_id)
    again = TaskSpec(task_id=task_id, name="Again", prompt="p", model="m")
    assert kit.store.create(again, "new key")[:2] == (False, task_id)
    assert not kit.client.exists(kit.keys.task(task_id))
    assert kit.send(task_id, SignalKind.RETRY).verdict is SignalVerdict.NOT_FOUND
    assert not places.delete(kit.store.context, task_id)


def test_delete_by_force(kit: StoreKit) -> None:
    """A person may purge an ended task before its time, but never one that lives."""
    ended, alive = kit.put(Status.COMPLETED), kit.create()
    assert places.delete(kit.store.context, ended, force=True)
    assert not places.delete(kit.store.context, alive, force=True)
    assert kit.place(alive) == "outbox"


def test_delete_after_the_keys_expired(kit: StoreKit) -> None:
    """The index entries go also when the task's keys went before them."""
    task_id = kit.put(Status.COMPLETED)
    for channel in CHANNELS:
        kit.client.delete(getattr(kit.keys, channel)(task_id))
    kit.due("retention", task_id)
    assert places.delete(kit.store.context, task_id)
    assert listing.all_ids(kit.store.context) == []


def test_a_revived_task_is_not_deleted(kit: StoreKit) -> None:
    """Retry takes the task out of retention; an old retention entry deletes nothing."""
    task_id = kit.put(Status.FAILED)
    kit.send(task_id, SignalKind.RETRY)
    kit.due("retention", task_id)
    assert not places.delete(kit.store.context, task_id, force=True)
    kit.client.zrem(kit.keys.retention, task_id)
    assert kit.try_claim(task_id).verdict is ClaimVerdict.GRANTED


def test_tombstones_are_forgotten_in_the_end(kit: StoreKit) -> None:
    """The list of deleted ids is bounded by time."""
    task_id = kit.put(Status.COMPLETED)
    places.delete(kit.store.context, task_id, force=True)
    year_ms = 366 * places.DAY_MS
    assert places.expire_tombstones(kit.store.context, kit.store.now_ms()) == 0
    assert places.expire_tombstones(kit.store.context, kit.store.now_ms() + year_ms) == 1


def test_deadlines_are_read_in_order(kit: StoreKit) -> None:
    """The sweep sees which prompt of which task is due."""
    soon = kit.waiting(question("a", deadline_ms=5).model_copy(update={"default_answer": "no"}))
    kit.waiting(question("b", deadline_ms=kit.store.now_ms() + 60_000))
    due = places.due_deadlines(kit.store.context, kit.store.now_ms(), 10)
    assert due == [(soon, "a", "no")]


@pytest.mark.parametrize("status", [*sorted(TERMINAL), Status.QUEUED])
def test_missing_tasks_stay_missing(kit: StoreKit, status: Status) -> None:
    """No script brings a task back, or half of it, once its hash is gone."""
    task_id = kit.put(status)
    kit.broken_on_purpose = True
    edges = {kind: kit.edge(kind) for kind in SignalKind}
    kit.client.delete(kit.keys.task(task_id))
    before = kit.state()
    for source in ("timers", "blocked"):
        assert places.fire(kit.store.context, task_id, source) is None
    assert places.republish(kit.store.context, task_id, ahead_ms=10**9) is None
    for kind in SignalKind:
        assert kit.send(task_id, kind, **edges[kind]).verdict is SignalVerdict.NOT_FOUND
    assert kit.try_claim(task_id, seq=1).verdict is ClaimVerdict.STALE
    assert kit.state() == before


def test_a_viewers_stream_keeps_its_own_life(kit: StoreKit) -> None:
    """The end of a task does not lengthen the life of its stream of live text."""
    from neuraphage.ports import Delta
    from neuraphage.store import live

    task_id, lease = kit.running()
    kit.store.publish_live(task_id, [Delta("text", "nobody watches")])
    assert not kit.client.exists(kit.keys.live(task_id))
    live.watch(kit.store.context, task_id)
    kit.store.publish_live(task_id, [Delta("text", "now")])
    kit.finish(lease, FinishTo.COMPLETED, Changes(add={"model_calls": 1}))
    assert [d.text for _, d in live.snapshot(kit.store.context, task_id, "$", "0") if isinstance(d, Delta)] == ["now"]
    assert 0 < kit.client.pttl(kit.keys.live(task_id)) <= kit.store.context.settings.live_ttl_s * 1000

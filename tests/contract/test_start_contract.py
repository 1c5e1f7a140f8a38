"""Tasks that begin at a time: they exist at once, hold nothing, and go to work once when their time has come."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import pytest

from neuraphage.errors import BadInput
from neuraphage.model.dependency import Dependency
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import ClaimVerdict, NextTurn, SignalKind, SignalVerdict
from neuraphage.store import invariant
from neuraphage.store.repair import examine
from storekit import StoreKit

HOUR_MS = 3_600_000
TASK = "task-00000000-0000-0000-0000-0000000a7000"
BAD = "never"


def spec(at_ms: int, after: Iterable[str] = (), task_id: str = TASK) -> TaskSpec:
    awaited = tuple(Dependency(task_id=one) for one in after)
    return TaskSpec(task_id=task_id, name="n", prompt="p", model="m", starts_at_ms=at_ms, blocked_by=awaited)


def later(kit: StoreKit, after: Iterable[str] = ()) -> str:
    """A task that begins in an hour."""
    created = kit.store.create(spec(kit.store.now_ms() + HOUR_MS, after), TASK)
    assert created == (True, TASK, None)
    return TASK


def its_time_comes(kit: StoreKit, task_id: str) -> None:
    """As if the hour were over."""
    kit.client.hset(kit.keys.task(task_id), "starts_at", kit.store.now_ms() - 1)
    if kit.client.zscore(kit.keys.timers, task_id) is not None:
        kit.due("timers", task_id)


def test_it_is_there_at_once_and_not_to_be_claimed(kit: StoreKit) -> None:
    """Queued, in timers at its time; nothing is to be published, and no message claims it."""
    task_id = later(kit)
    record = kit.store.get(task_id)
    assert (kit.place(task_id), kit.status(task_id)) == ("timers", Status.QUEUED)
    assert record.starts_at_ms == record.spec.starts_at_ms == kit.client.zscore(kit.keys.timers, task_id)
    assert kit.try_claim(task_id).verdict is ClaimVerdict.NOT_RUNNABLE
    assert kit.store.fire(task_id, "timers") is None
    assert kit.store.due_timers(kit.store.now_ms(), 10) == []


def test_its_time_puts_it_to_work_once(kit: StoreKit) -> None:
    """By the sweep; a second sweep finds nothing, and its record has no time any more."""
    task_id = later(kit)
    its_time_comes(kit, task_id)
    assert kit.store.due_timers(kit.store.now_ms(), 10) == [task_id]
    assert kit.store.fire(task_id, "timers") == NextTurn(task_id, 2, 0)
    assert kit.store.fire(task_id, "timers") is None
    assert (kit.place(task_id), kit.store.get(task_id).starts_at_ms) == ("outbox", None)
    assert kit.try_claim(task_id).verdict is ClaimVerdict.GRANTED


def test_a_time_that_is_past_is_refused_and_nothing_is_stored(kit: StoreKit) -> None:
    """By the server's clock. A repeat of what was stored before its time is answered with it."""
    now_ms = kit.store.now_ms()
    with contextlib.suppress(BadInput):
        kit.store.create(spec(now_ms - 1), TASK)
    assert kit.client.exists(kit.keys.task(TASK)) == 0
    task_id = later(kit)
    assert kit.store.create(spec(now_ms - 1), TASK) == (False, task_id, None)


def test_a_repeat_names_the_message_of_a_task_that_has_begun_to_wait_for_a_worker(kit: StoreKit) -> None:
    """Its first answer may have been lost before the message was sent."""
    task_id = later(kit)
    its_time_comes(kit, task_id)
    kit.store.fire(task_id, "timers")
    assert kit.store.create(spec(kit.store.now_ms() + 1), TASK) == (False, task_id, NextTurn(task_id, 2, 0))
    assert kit.store.create(spec(1), "another key") == (False, task_id, NextTurn(task_id, 2, 0))
    kit.claim(task_id)
    assert kit.store.create(spec(1), TASK) == (False, task_id, None)


def test_nothing_is_published_for_who_only_joins_the_line(kit: StoreKit) -> None:
    """Who has a slot is published; the others are when a slot is theirs."""
    one = kit.under(max_running=1)
    one.store.adjust()
    first, second = (TaskSpec(task_id=TASK[:-1] + end, name="n", prompt="p", model="m") for end in "12")
    assert one.store.create(first, "1").turn == NextTurn(first.task_id, 1, 0)
    assert one.store.create(second, "2").turn is None


def test_before_its_time_it_has_no_slot_and_is_in_no_line(kit: StoreKit) -> None:
    """Those that come later go before it; at its time it stands in line as any other."""
    one = kit.under(max_running=1)
    one.store.adjust()
    task_id, other = later(one), one.create()
    assert (one.place(other), one.field(task_id, "admission")) == ("outbox", None)
    its_time_comes(one, task_id)
    assert one.store.fire(task_id, "timers") is None
    assert (one.place(task_id), str(one.field(task_id, "admission"))[0]) == ("waits", "w")
    assert one.end(other, Status.COMPLETED).woken == (NextTurn(task_id, 3, 0),)


def test_it_begins_when_both_its_time_has_come_and_others_are_over(kit: StoreKit) -> None:
    """First those that it waits for, then the time."""
    first = kit.create()
    task_id = later(kit, [first])
    assert (kit.place(task_id), kit.status(task_id)) == ("waits", Status.BLOCKED)
    assert kit.end(first, Status.COMPLETED).woken == ()
    assert (kit.place(task_id), kit.status(task_id)) == ("timers", Status.QUEUED)
    its_time_comes(kit, task_id)
    assert kit.store.fire(task_id, "timers") is not None


def test_a_time_that_has_come_meanwhile_holds_nobody_up(kit: StoreKit) -> None:
    """First the time, then those that it waits for."""
    first = kit.create()
    task_id = later(kit, [first])
    its_time_comes(kit, task_id)
    assert kit.end(first, Status.COMPLETED).woken == (NextTurn(task_id, 2, 0),)
    assert (kit.place(task_id), kit.store.get(task_id).starts_at_ms) == ("outbox", None)


def test_it_can_be_cancelled_before(kit: StoreKit) -> None:
    """It never begins."""
    task_id = later(kit)
    assert kit.send(task_id, SignalKind.CANCEL).verdict is SignalVerdict.ACCEPTED
    assert (kit.place(task_id), kit.field(task_id, "starts_at")) == ("", None)
    assert kit.store.fire(task_id, "timers") is None


def test_a_pause_keeps_its_time(kit: StoreKit) -> None:
    """Resumed before it, the task waits for it; resumed after it, it begins."""
    task_id = later(kit)
    for place, comes in (("timers", False), ("outbox", True)):
        kit.send(task_id, SignalKind.PAUSE)
        assert kit.place(task_id) == "waits"
        if comes:
            its_time_comes(kit, task_id)
        assert kit.send(task_id, SignalKind.RESUME).place == place


def test_a_dependency_added_later_holds_it_up_too(kit: StoreKit) -> None:
    """And lets it go back to its time."""
    task_id, other = later(kit), kit.create()
    kit.depend(task_id, other)
    assert kit.status(task_id) is Status.BLOCKED
    kit.undepend(task_id, other)
    assert (kit.place(task_id), kit.status(task_id)) == ("timers", Status.QUEUED)


@pytest.mark.parametrize("place", ["outbox", "waits", "none"])
def test_repair_puts_it_back_to_its_time(kit: StoreKit, place: str) -> None:
    """Its record says that it waits for its time, so nothing else does."""
    task_id = later(kit)
    kit.client.zrem(kit.keys.timers, task_id)
    if place != "none":
        kit.client.zadd(getattr(kit.keys, place), {task_id: 1})
    assert invariant.violations(kit.store.context) != []
    examine(kit.store.context, [task_id], RepairMode.REPAIR)
    assert kit.place(task_id) == "timers"
    assert kit.client.zscore(kit.keys.timers, task_id) == kit.store.get(task_id).starts_at_ms


def test_repair_puts_timers_right_by_the_record(kit: StoreKit) -> None:
    """Another time in timers than in the record; and a time that is no number, which holds nobody up."""
    task_id = later(kit)
    kit.client.zadd(kit.keys.timers, {task_id: 5})
    assert "another one in timers" in examine(kit.store.context, [task_id], RepairMode.REPAIR)[0].findings[0]
    assert kit.client.zscore(kit.keys.timers, task_id) == kit.store.get(task_id).starts_at_ms
    kit.client.hset(kit.keys.task(task_id), "starts_at", BAD)
    examine(kit.store.context, [task_id], RepairMode.REPAIR)
    assert kit.store.get(task_id).starts_at_ms is None
    kit.due("timers", task_id)
    assert kit.store.fire(task_id, "timers") is not None


def test_a_time_that_nothing_waits_for_is_a_breach(kit: StoreKit) -> None:
    """So a script that forgot it would be found."""
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), "starts_at", kit.store.now_ms() + HOUR_MS)
    assert any("time to begin" in text for text in invariant.violations(kit.store.context))
    kit.client.hdel(kit.keys.task(task_id), "starts_at")


def test_the_history_has_its_time(kit: StoreKit) -> None:
    """In TaskCreated; a task that begins at once has none there."""
    at_ms = kit.store.get(later(kit)).starts_at_ms
    created = kit.client.xrange(kit.keys.events(TASK))[0][1][b"d"].decode()
    assert f'"starts_at_ms":{at_ms}' in created
    assert b"starts" not in kit.client.xrange(kit.keys.events(kit.create()))[0][1][b"d"]

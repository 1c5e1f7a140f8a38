"""The read of tasks that ask: which statuses, how many, and what cannot be read."""

from __future__ import annotations

from neuraphage.model.task import Status
from neuraphage.ports import SignalKind
from neuraphage.store import listing
from storekit import StoreKit


def asking(kit: StoreKit, limit: int = 100) -> list[str]:
    return [record.task_id for record in listing.asking(kit.store.context, limit)]


def test_tasks_that_wait_and_paused_ones_with_prompts(kit: StoreKit) -> None:
    """Not those that ask nothing, of whatever status; an answered one is gone as soon as it goes on."""
    for status in Status:
        if status is not Status.WAITING_FOR_USER:
            kit.put(status)
    waits, paused = kit.waiting(), kit.waiting()
    kit.send(paused, SignalKind.PAUSE)
    assert asking(kit) == [waits, paused]
    kit.send(waits, SignalKind.CANCEL)
    assert asking(kit) == [paused]


def test_the_longest_waiting_come_first_and_no_more_than_asked_for(kit: StoreKit) -> None:
    """By the index of the status, whose score is since when it holds."""
    ids = [kit.waiting() for _ in range(4)]
    for number, task_id in enumerate(reversed(ids)):
        kit.client.zadd(kit.keys.status(Status.WAITING_FOR_USER), {task_id: 1_000 + number})
    assert asking(kit, 2) == [ids[3], ids[2]]


def test_a_record_that_cannot_be_read_hides_no_other(kit: StoreKit) -> None:
    """It is left out; `show` and `doctor` tell of it."""
    kit.broken_on_purpose = True
    broken, sound = kit.waiting(), kit.waiting()
    kit.client.hset(kit.keys.task(broken), "spec", b"no json")
    assert asking(kit) == [sound]
    kit.client.delete(kit.keys.task(broken))
    assert asking(kit) == [sound]

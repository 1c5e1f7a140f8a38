"""Entries that nothing can move stand first in every batch of the sweep; they keep no other task waiting."""

from __future__ import annotations

import pytest

from neuraphage.model.task import Status
from neuraphage.ports import SuspendTo
from neuraphage.runtime import sweep as module
from neuraphage.runtime.sweep import Sweep
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit, question
from turnkit import LocalDispatcher

BATCH = 5


class Place:
    """A sweep with small batches over a place that begins with a batch of entries of tasks that are gone."""

    def __init__(self) -> None:
        self.kit: StoreKit = new_kit()
        self.dispatcher = LocalDispatcher()
        self.dispatcher.messages.append(("another", 1))  # the queue is not empty
        self._sweep = Sweep(self.kit.store, self.dispatcher, ManualClock(), self.kit.store.context.settings)

    def fill(self, zset: str, member: str = "task-gone-{}") -> None:
        """Entries that come before any of a task that is there."""
        for number in range(BATCH):
            self.kit.client.zadd(zset, {member.format(number): -BATCH + number})

    def sweep(self) -> None:
        """Three sweeps: what the first ones meet, the last one reads past."""
        for _ in range(3):
            self._sweep.run(guarded=False)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(module, "BATCH", BATCH)
    return Place()


def test_outbox(place: Place) -> None:
    """A message is sent again behind a thousand entries without a task."""
    place.fill(place.kit.keys.outbox)
    task_id = place.kit.create()
    place.kit.due("outbox", task_id)
    place.sweep()
    assert (task_id, 1) in place.dispatcher.messages


def test_timers(place: Place) -> None:
    """A timer fires behind those of records that refuse it."""
    for number in range(BATCH + 1):
        task_id, lease = place.kit.running()
        place.kit.suspend(lease, SuspendTo.TIMER, due_ms=number + 1)
        if number < BATCH:
            place.kit.client.hset(place.kit.keys.task(task_id), "seq", "x")
    place.sweep()
    assert place.kit.place(task_id) == "outbox"


def test_leases(place: Place) -> None:
    """A hung holder is seen behind leases of nobody."""
    place.fill(place.kit.keys.leases)
    task_id, _ = place.kit.running()
    place.kit.expire_lease(task_id)
    place.sweep()
    place.kit.age_mark(task_id)
    place.sweep()
    assert place.kit.place(task_id) == "outbox"


def test_deadlines(place: Place) -> None:
    """A prompt times out behind those of tasks that are gone."""
    place.fill(place.kit.keys.deadlines, "task-gone-{}|prompt")
    task_id = place.kit.waiting(question(deadline_ms=1))
    place.sweep()
    assert place.kit.status(task_id) is Status.QUEUED


def test_retention(place: Place) -> None:
    """An ended task goes behind entries of tasks that live."""
    for number in range(BATCH):
        place.kit.client.zadd(place.kit.keys.retention, {place.kit.create(): number})
    task_id = place.kit.put(Status.COMPLETED)
    place.kit.due("retention", task_id)
    place.sweep()
    assert place.kit.client.exists(place.kit.keys.task(task_id)) == 0


def test_the_batch_is_small_again_when_they_are_gone(place: Place) -> None:
    """Only what the last sweep met is read past."""
    place.fill(place.kit.keys.outbox)
    place.sweep()
    place.kit.client.delete(place.kit.keys.outbox)
    for _ in range(2 * BATCH + 1):
        place.kit.due("outbox", place.kit.create())
    sent = len(place.dispatcher.messages)
    place._sweep.run(guarded=False)
    assert len(place.dispatcher.messages) == sent + 2 * BATCH
    for task_id, _ in place.dispatcher.messages[1:]:
        place.kit.due("outbox", task_id)
    place._sweep.run(guarded=False)
    assert len(place.dispatcher.messages) == sent + 3 * BATCH


def test_a_decision_that_cannot_be_read_stops_no_message(place: Place) -> None:
    """What is kept for people who ask why is no reason not to send."""
    task_id = place.kit.create()
    for _ in range(3):
        place.kit.due("outbox", task_id)
        place.kit.client.rpush(place.kit.keys.why(task_id), "{")
        place._sweep.run(guarded=False)
    assert place.dispatcher.messages.count((task_id, 1)) == 3

"""A server whose clock has gone back by an hour: what was written before is in its future, and still moves."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.model.task import Status
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.sweep import Sweep
from neuraphage.runtime.watcher import Watcher
from neuraphage.store.keys import Keys
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit
from turnkit import LocalDispatcher

HOUR_MS = 3_600_000


class Before:
    """A store whose entries of before the step are moved into the future, which is the same as seen from inside."""

    def __init__(self) -> None:
        self.kit: StoreKit = new_kit()
        self.settings = self.kit.store.context.settings
        self.dispatcher = LocalDispatcher()
        self.sweep = Sweep(self.kit.store, self.dispatcher, ManualClock(), self.settings)

    @property
    def keys(self) -> Keys:
        return self.kit.store.context.keys

    def ahead(self, zset: str, task_id: str) -> None:
        """The entry was made by the clock of before."""
        self.kit.client.zincrby(zset, HOUR_MS, task_id)


@pytest.fixture
def before() -> Before:
    return Before()


def test_the_guard_of_a_sweep_does_not_outlive_its_time(before: Before) -> None:
    """Its key would keep every sweep out for the hour: it says when it goes by the clock of before."""
    assert before.sweep.run() is not None
    assert before.sweep.run() is None
    before.kit.client.pexpire(before.keys.sweep_guard, HOUR_MS)
    assert before.sweep.run() is not None
    assert before.sweep.run() is None


def test_the_watcher_sweeps_although_the_last_one_ended_in_the_future(before: Before, tmp_path: Path) -> None:
    """A sweep that is yet to come is none that has run lately."""
    kit = before.kit
    kit.client.hset(before.keys.sweep, "at", kit.store.now_ms() + HOUR_MS)
    election = HostElection(tmp_path, "host")
    Watcher(kit.store, before.sweep, ManualClock(), before.settings, "host", election)._see_to_sweep()
    assert kit.store.last_sweep_ms() <= kit.store.now_ms()


def test_a_lost_message_is_sent_again(before: Before) -> None:
    """No entry of the outbox is further ahead than the longest distance of two publications; then it counts as due."""
    task_id = before.kit.create()
    before.dispatcher.messages.append(("another", 1))  # the queue is not empty
    assert before.sweep.outbox(before.kit.store.now_ms()) == 0
    before.ahead(before.keys.outbox, task_id)
    assert before.sweep.outbox(before.kit.store.now_ms()) == 1
    assert before.sweep.outbox(before.kit.store.now_ms()) == 0
    assert before.dispatcher.messages[-1] == (task_id, 1)


def test_a_hung_holder_is_replaced_after_two_visits(before: Before) -> None:
    """A lease that ends later than any lease could was not renewed since the step."""
    kit = before.kit
    task_id, _ = kit.running()
    assert before.sweep.expired(kit.store.now_ms()) == []
    before.ahead(before.keys.leases, task_id)
    before.sweep.expired(kit.store.now_ms())
    before.sweep.expired(kit.store.now_ms())
    assert kit.place(task_id) == "leases"
    kit.age_mark(task_id)
    before.sweep.expired(kit.store.now_ms())
    assert (kit.place(task_id), kit.status(task_id)) == ("outbox", Status.RUNNING)
    assert kit.number(task_id, "unsafe_until") <= kit.store.now_ms() + kit.store.context.lease_ms


def test_a_holder_that_renews_keeps_its_lease(before: Before) -> None:
    """The mark of the first visit was made for the lease of before."""
    kit = before.kit
    task_id, lease = kit.running()
    before.ahead(before.keys.leases, task_id)
    before.sweep.expired(kit.store.now_ms())
    kit.store.renew([lease])
    kit.age_mark(task_id)
    before.sweep.expired(kit.store.now_ms())
    assert kit.place(task_id) == "leases"
    assert kit.client.zscore(before.keys.leases, task_id) <= kit.store.now_ms() + kit.store.context.lease_ms


def test_a_mark_of_the_future_is_made_again(before: Before) -> None:
    """A first visit that is yet to come would put the second one off for the hour."""
    kit = before.kit
    task_id, _ = kit.running()
    kit.expire_lease(task_id)
    before.sweep.expired(kit.store.now_ms())
    kit.age_mark(task_id, by_ms=-HOUR_MS)
    before.sweep.expired(kit.store.now_ms())
    kit.age_mark(task_id)
    before.sweep.expired(kit.store.now_ms())
    assert kit.place(task_id) == "outbox"

"""renew: all leases of a process in one round trip."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.ports import FinishTo, Lease, Renewal, SignalKind
from storekit import StoreKit


def test_renews_and_tells_flags_in_order(kit: StoreKit) -> None:
    """Each lease gets its own answer: held, and what people asked for."""
    (one, first), (two, second), (three, third) = kit.running(), kit.running(), kit.running()
    kit.send(two, SignalKind.CANCEL)
    kit.send(three, SignalKind.PAUSE)
    for task_id in (one, two, three):
        kit.expire_lease(task_id)
    _, answers = kit.store.renew([first, second, third])
    assert answers == [Renewal(held=True), Renewal(held=True, cancel=True), Renewal(held=True, pause=True)]
    now = kit.store.now_ms()
    lease_ms = kit.store.context.lease_ms
    for task_id in (one, two, three):
        assert now < kit.client.zscore(kit.keys.leases, task_id) <= now + lease_ms


def test_the_send_time_is_taken_before_sending(kit: StoreKit) -> None:
    """The first value is the clock reading of this call, the start of the worker's own deadline."""
    _, lease = kit.running()
    earlier, _ = kit.store.renew([lease])
    later, _ = kit.store.renew([lease])
    assert later == earlier + 1


@pytest.mark.parametrize("change", [{"fence": 9}, {"claim_id": "other"}, {"task_id": "task-none"}])
def test_somebody_elses_lease_is_lost(kit: StoreKit, change: dict[str, object]) -> None:
    """Fence, claim and task must match; a lost lease is not renewed by asking."""
    task_id, lease = kit.running()
    kit.expire_lease(task_id)
    before = kit.state()
    _, answers = kit.store.renew([replace(lease, **change)])  # type: ignore[arg-type]  # one field, of its own type
    assert answers == [Renewal(held=False)]
    assert kit.state() == before


def test_a_dropped_lease_does_not_come_back(kit: StoreKit) -> None:
    """After finish the heartbeat may come once more; it must not make the task a lease again."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT)
    assert kit.store.renew([lease])[1] == [Renewal(held=False)]
    assert kit.place(task_id) == "outbox"


def test_a_recovered_lease_is_lost(kit: StoreKit) -> None:
    """Whoever was recovered learns it at the next heartbeat."""
    task_id, lease = kit.running()
    kit.recover(task_id)
    assert not kit.store.renew([lease])[1][0].held


def test_no_leases_is_no_question(kit: StoreKit) -> None:
    """A process without tasks may ask."""
    assert kit.store.renew([])[1] == []


def test_many_leases_in_one_round_trip(kit: StoreKit) -> None:
    """A hundred leases are one script."""
    held = [kit.running()[1] for _ in range(100)]
    gone = Lease("task-none", 1, "c")
    answers = kit.store.renew([*held, gone])[1]
    assert [a.held for a in answers] == [True] * 100 + [False]

"""A worker process in the registry, and what a renewal that finds no lease means."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.ports import Lease, ProcessRow
from neuraphage.runtime.process import WorkerProcess
from turnkit import Rig, SilentPresence, until

MakeRig = Callable[..., Rig]
ROW = ProcessRow("process", "here", 1, 1.0, 0)


def process_of(rig: Rig) -> WorkerProcess:
    """A process that has met its first message."""
    made = WorkerProcess(rig.services, rig.store, SilentPresence(), rig.services.clock, rig.settings, ROW)
    made.run_turn("task-none", 1)
    return made


def test_it_is_entered_before_its_first_claim_and_no_earlier(make_rig: MakeRig) -> None:
    """Who has claimed nothing need not be looked after; who has is there to be found dead."""
    rig = make_rig()
    seen: list[list[ProcessRow]] = []
    claim = rig.store.claim
    rig.store.claim = lambda *args: (seen.append(rig.store.registered()), claim(*args))[1]  # type: ignore[method-assign]  # looks first
    assert rig.store.registered() == []
    process_of(rig)
    assert seen == [[ROW]]


def test_a_process_that_was_taken_for_dead_enters_again(make_rig: MakeRig) -> None:
    """With its next heartbeat: else nobody would see it die later. One that leaves stays out."""
    rig = make_rig()
    process = process_of(rig)
    rig.store.unregister(["process"])
    process._beat()
    assert rig.store.registered() == [ROW]
    process.drain()
    process.leave()
    process._beat()
    assert rig.store.registered() == []


def test_a_process_that_cannot_enter_claims_nothing(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its message is left to the sweep; it tries again with the next one."""
    rig = make_rig()
    task_id = rig.submit()

    def away(row: ProcessRow) -> None:
        raise StoreUnavailable("away")

    monkeypatch.setattr(rig.store, "register", away)
    process = WorkerProcess(rig.services, rig.store, SilentPresence(), rig.services.clock, rig.settings, ROW)
    process.run_turn(task_id, 1)
    assert (rig.get(task_id).place, rig.get(task_id).fence) == ("outbox", 0)


@pytest.mark.parametrize("settling", [True, False])
def test_a_renewal_that_finds_no_lease(make_rig: MakeRig, settling: bool, caplog: pytest.LogCaptureFixture) -> None:
    """While suspend or finish is on its way it means nothing; at any other time the lease is lost."""
    rig = make_rig()
    task_id, lease = rig.kit.running()
    with rig.keeper.hold(lease, rig.services.clock.boottime_s()) as held, caplog.at_level(logging.WARNING):
        held.settling = settling
        rig.client.zrem(rig.kit.keys.leases, task_id)
        rig.keeper.renew_now()
        assert held.lost is not settling
        assert ("lease lost" in caplog.text) is not settling
    rig.client.zadd(rig.kit.keys.leases, {task_id: 1})


def test_a_heartbeat_that_fails_is_told_and_the_next_one_renews(
    make_rig: MakeRig, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that is away, or a bug, costs one beat: the thread goes on, and the turn is not stopped for it."""
    rig = make_rig(heartbeat_s=0.05, lease_s=20.0)
    task_id, lease = rig.kit.running()
    failures: list[Exception] = [RuntimeError("a bug"), StoreUnavailable("away")]
    renew = rig.store.renew

    def failing(leases: Sequence[Lease]) -> Any:
        if failures:
            raise failures.pop()
        return renew(leases)

    rig.store.renew = failing  # type: ignore[method-assign]  # fails twice
    rig.client.zadd(rig.kit.keys.leases, {task_id: 1})
    with rig.keeper.hold(lease, rig.services.clock.boottime_s()) as held, caplog.at_level(logging.WARNING):
        rig.keeper.start()
        until(lambda: rig.client.zscore(rig.kit.keys.leases, task_id) != 1)
        rig.keeper.stop()
        assert not held.lost
    assert failures == []
    assert "heartbeat failed: away" in caplog.text
    assert "heartbeat failed unexpectedly" in caplog.text

"""recover: a lease that ran out under a process that lives."""

from __future__ import annotations

import pytest

from neuraphage.model.task import FailedDetail
from neuraphage.ports import Changes, RecoverVerdict, SignalKind, SignalVerdict
from storekit import StoreKit


def stall(kit: StoreKit, task_id: str) -> RecoverVerdict:
    """The task's lease runs out twice visited, under a process that lives."""
    kit.expire_lease(task_id)
    assert kit.recover(task_id, "stalled").verdict is RecoverVerdict.SUSPECT
    kit.age_mark(task_id)
    return kit.recover(task_id, "stalled").verdict


def test_a_lease_that_runs_out_under_a_living_process_is_no_crash(kit: StoreKit) -> None:
    """However often: the count of deaths stays, the task goes on, and the old deadline counts."""
    task_id = kit.create()
    kit.claim(task_id)
    assert kit.recover(task_id, "gone").verdict is RecoverVerdict.RECOVERED
    for _ in range(kit.store.context.settings.max_recoveries + 2):
        kit.claim(task_id)
        assert stall(kit, task_id) is RecoverVerdict.RECOVERED
        assert kit.store.get(task_id).counters.recoveries == 1
    record = kit.store.get(task_id)
    assert record.counters.recoveries_total == kit.store.context.settings.max_recoveries + 3
    assert record.unsafe_until_ms > 0


def test_a_step_that_stalls_its_worker_each_time_is_given_up_too(kit: StoreKit) -> None:
    """Under its own limit and with its own words: it freezes one worker after the other."""
    few = kit.under(max_stalls=2)
    task_id = few.create()
    few.claim(task_id)
    assert stall(few, task_id) is RecoverVerdict.RECOVERED
    few.claim(task_id)
    assert stall(few, task_id) is RecoverVerdict.FAILED
    detail = few.store.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert "ran out 2 times without a new outcome, though its worker lived" in detail.error


@pytest.mark.parametrize("event", ["outcome", "retry"])
def test_stalls_are_counted_anew(kit: StoreKit, event: str) -> None:
    """After a new outcome, and after a person's retry."""
    few = kit.under(max_stalls=2)
    task_id = few.create()
    few.claim(task_id)
    assert stall(few, task_id) is RecoverVerdict.RECOVERED
    lease = few.claim(task_id)
    if event == "outcome":
        few.store.commit(lease, Changes(outcome=True))
    else:
        assert stall(few, task_id) is RecoverVerdict.FAILED
        assert few.send(task_id, SignalKind.RETRY).verdict is SignalVerdict.ACCEPTED
        few.claim(task_id)
    assert stall(few, task_id) is RecoverVerdict.RECOVERED

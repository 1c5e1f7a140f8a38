"""recover: what flags, policy, absence and open prompts make of an orphan."""

from __future__ import annotations

import pytest

from neuraphage.model.task import PausedDetail, Status
from neuraphage.ports import Changes, RecoverVerdict, SignalKind, SuspendTo
from storekit import ASK, StoreKit, question, text_entry


@pytest.mark.parametrize("policy", ["auto", "confirm", "off"])
@pytest.mark.parametrize(
    ("flags", "verdict", "status"),
    [
        ((SignalKind.PAUSE,), RecoverVerdict.PAUSED, Status.PAUSED),
        ((SignalKind.CANCEL,), RecoverVerdict.CANCELLED, Status.CANCELLED),
        ((SignalKind.PAUSE, SignalKind.CANCEL), RecoverVerdict.CANCELLED, Status.CANCELLED),
    ],
)
def test_flags_are_resolved(
    kit: StoreKit, policy: str, flags: tuple[SignalKind, ...], verdict: RecoverVerdict, status: Status
) -> None:
    """Cancel before pause before policy; no flag is left."""
    task_id, _ = kit.running()
    for flag in flags:
        kit.send(task_id, flag)
    assert kit.under(recovery_policy=policy).recover(task_id).verdict is verdict
    record = kit.store.get(task_id)
    assert (record.status, record.pause_requested, record.cancel_requested) == (status, False, False)
    if isinstance(record.detail, PausedDetail):
        assert record.detail.reason == "user"


@pytest.mark.parametrize("policy", ["confirm", "off"])
def test_policy_leaves_orphans_to_a_person(kit: StoreKit, policy: str) -> None:
    """confirm and off pause the task with the reason recovery; resume queues it and clears the count."""
    task_id, _ = kit.running()
    assert kit.under(recovery_policy=policy).recover(task_id).verdict is RecoverVerdict.PAUSED
    record = kit.store.get(task_id)
    assert isinstance(record.detail, PausedDetail)
    assert (record.detail.reason, record.place) == ("recovery", "waits")
    kit.send(task_id, SignalKind.RESUME)
    assert kit.store.get(task_id).counters.recoveries == 0
    assert kit.place(task_id) == "outbox"


def test_absence_leaves_the_old_deadline_standing(kit: StoreKit) -> None:
    """A process only seen absent may still act until its lease would have ended; one that is gone may not."""
    task_id, _ = kit.running()
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    kit.recover(task_id, "absent")
    assert kit.store.get(task_id).unsafe_until_ms == expiry
    other, _ = kit.running()
    kit.recover(other, "gone")
    assert kit.store.get(other).unsafe_until_ms == 0


def test_a_second_death_does_not_hide_the_first_absence(kit: StoreKit) -> None:
    """The absent process may still act, although the one after it is surely gone."""
    task_id, _ = kit.running()
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    kit.recover(task_id, "absent")
    kit.claim(task_id, process="p2")
    kit.recover(task_id, "gone")
    assert kit.store.get(task_id).unsafe_until_ms == expiry


def test_a_retry_respects_the_absence_too(kit: StoreKit) -> None:
    """A task given up on absence and retried at once still keeps off until the old deadline."""
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), "recoveries", 2)
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    assert kit.recover(task_id, "absent").verdict is RecoverVerdict.FAILED
    kit.send(task_id, SignalKind.RETRY)
    assert kit.store.get(task_id).unsafe_until_ms == expiry


def test_open_prompts_survive(kit: StoreKit) -> None:
    """A question stays open over a recovery, and its answer is still taken."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),), entries=(text_entry("ask"),)))
    kit.recover(task_id)
    assert kit.store.get(task_id).prompts == (question(),)
    kit.plant(task_id, "answer", ASK)
    lease = kit.claim(task_id)
    assert kit.suspend(lease, SuspendTo.WAIT).place == "outbox"

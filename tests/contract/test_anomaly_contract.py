"""A task that is paused because it leads nowhere: by the write that ends its turn; a message goes on with it."""

from __future__ import annotations

import pytest

from neuraphage.model.anomaly import Anomaly, AnomalyKind
from neuraphage.model.task import PausedDetail, StartedReason, Status
from neuraphage.ports import CommitVerdict, SignalKind, SignalVerdict, SuspendTo
from storekit import StoreKit

SEEN = Anomaly(kind=AnomalyKind.SAME_CALL_FAILS, reading=5, limit=5, what="act")


def paused(kit: StoreKit) -> str:
    """A task that was paused for an anomaly."""
    task_id, lease = kit.running()
    settled = kit.suspend(lease, SuspendTo.ANOMALY, detail=SEEN.model_dump())
    assert (settled.verdict, settled.status) == (CommitVerdict.COMMITTED, Status.PAUSED)
    return task_id


def test_it_is_paused_with_what_was_seen(kit: StoreKit) -> None:
    """For whoever asks why."""
    detail = kit.store.get(paused(kit)).detail
    assert isinstance(detail, PausedDetail)
    assert (detail.reason, detail.anomaly, detail.shortage) == ("anomaly", SEEN, None)


def test_a_message_goes_on_with_it(kit: StoreKit) -> None:
    """Whoever writes has judged what was seen."""
    task_id = paused(kit)
    assert kit.send(task_id, SignalKind.INPUT, text="Go on.").verdict is SignalVerdict.ACCEPTED
    record = kit.store.get(task_id)
    assert (record.status, record.place) == (Status.QUEUED, "outbox")
    assert record.started_reason is StartedReason.USER_INPUT
    assert kit.try_claim(task_id).inbox[0][1].text == "Go on."


def test_a_message_does_not_go_before_what_is_awaited(kit: StoreKit) -> None:
    """A dependency that was added while it was paused holds it back; the message is read when it begins."""
    task_id, first = paused(kit), kit.create()
    assert kit.depend(task_id, first).verdict is SignalVerdict.ACCEPTED
    assert kit.send(task_id, SignalKind.INPUT, text="Go on.").verdict is SignalVerdict.ACCEPTED
    record = kit.store.get(task_id)
    assert (record.status, record.place) == (Status.BLOCKED, "waits")


def test_a_message_goes_on_with_no_other_pause(kit: StoreKit) -> None:
    """A person's own pause stands until they resume."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    kit.suspend(lease, SuspendTo.PAUSE)
    kit.send(task_id, SignalKind.INPUT, text="Later.")
    assert kit.status(task_id) is Status.PAUSED


def test_a_resume_goes_on_with_it(kit: StoreKit) -> None:
    """As with every pause."""
    task_id = paused(kit)
    assert kit.send(task_id, SignalKind.RESUME).verdict is SignalVerdict.ACCEPTED
    assert kit.status(task_id) is Status.QUEUED


def test_a_message_that_came_meanwhile_is_heard_first(kit: StoreKit) -> None:
    """It was sent after the turn had decided, and before its write."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.INPUT, text="Try the other one.")
    settled = kit.suspend(lease, SuspendTo.ANOMALY, detail=SEEN.model_dump())
    assert (settled.status, settled.place) == (Status.RUNNING, "outbox")


@pytest.mark.parametrize("asked", [SignalKind.PAUSE, SignalKind.CANCEL])
def test_what_a_person_has_asked_for_comes_first(kit: StoreKit, asked: SignalKind) -> None:
    """A pause is theirs then, and a cancelled task is over."""
    task_id, lease = kit.running()
    kit.send(task_id, asked)
    kit.suspend(lease, SuspendTo.ANOMALY, detail=SEEN.model_dump())
    detail = kit.store.get(task_id).detail
    assert detail.status is (Status.PAUSED if asked is SignalKind.PAUSE else Status.CANCELLED)
    assert not isinstance(detail, PausedDetail) or detail.reason == "user"

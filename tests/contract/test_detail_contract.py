"""What the record tells of a task in each status, read back from what the scripts wrote."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.model.phase import Phase
from neuraphage.model.resume_point import ResumePoint, ResumePointKind
from neuraphage.model.task import (
    BlockedDetail,
    CancelledDetail,
    CompletedDetail,
    Detail,
    FailedDetail,
    PausedDetail,
    QueuedDetail,
    RunningDetail,
    StartedReason,
    Status,
    WaitingForUserDetail,
)
from neuraphage.ports import Changes, FinishTo, SignalKind, SignalVerdict, SuspendTo
from storekit import ASK, MODEL_CALL, StoreKit, question

HOLDER = "task-00000000-0000-0000-0000-0000000000aa"


def queued(kit: StoreKit) -> str:
    return kit.create()


def running(kit: StoreKit) -> str:
    return kit.running()[0]


def waiting(kit: StoreKit) -> str:
    return kit.waiting(question(ASK), question("ask-2"))


def blocked(kit: StoreKit) -> str:
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.BLOCKED, detail={"resource": "file:a", "holder_task": HOLDER})
    return task_id


def paused(kit: StoreKit) -> str:
    return kit.put(Status.PAUSED)


def completed(kit: StoreKit) -> str:
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.COMPLETED, Changes(add={**MODEL_CALL, "cost_microusd": 7}), summary="Done.")
    return task_id


def failed(kit: StoreKit) -> str:
    """Failed, retried, and failed again."""
    task_id = kit.put(Status.FAILED)
    kit.send(task_id, SignalKind.RETRY)
    kit.finish(kit.claim(task_id), FinishTo.FAILED, error="Disk full.", recoverable=False)
    return task_id


def cancelled(kit: StoreKit) -> str:
    task_id = kit.create()
    kit.send(task_id, SignalKind.CANCEL, text="enough")
    return task_id


START = ResumePoint(kind=ResumePointKind.CONTEXT_ASSEMBLY)
PROMPTS = (question(ASK), question("ask-2"))
DETAILS: dict[Callable[[StoreKit], str], Callable[[int], Detail]] = {
    queued: lambda at: QueuedDetail(queued_at_ms=at, reason=StartedReason.USER_REQUEST),
    running: lambda at: RunningDetail(phase=Phase.INITIALIZING, started_at_ms=at, iteration=0),
    waiting: lambda at: WaitingForUserDetail(prompts=PROMPTS, waiting_since_ms=at),
    blocked: lambda at: BlockedDetail(resource="file:a", waiting_since_ms=at, holder_task=HOLDER),
    paused: lambda at: PausedDetail(paused_at_ms=at, resume_point=START, reason="user"),
    completed: lambda at: CompletedDetail(
        summary="Done.", completed_at_ms=at, iterations=1, total_cost_microusd=7
    ),
    failed: lambda at: FailedDetail(error="Disk full.", recoverable=False, failed_at_ms=at, retry_count=1),
    cancelled: lambda at: CancelledDetail(cancelled_at_ms=at, reason="enough"),
}  # fmt: skip


@pytest.mark.parametrize("bring", DETAILS, ids=lambda bring: bring.__name__)
def test_each_status_has_its_detail(kit: StoreKit, bring: Callable[[StoreKit], str]) -> None:
    """Every field, with the server's time at which the status began."""
    before_ms = kit.store.now_ms()
    task_id = bring(kit)
    since_ms = kit.number(task_id, "since")
    assert before_ms <= since_ms <= kit.store.now_ms()
    record = kit.store.get(task_id)
    assert record.detail == DETAILS[bring](since_ms)
    assert record.status is record.detail.status


def test_every_status_is_here(kit: StoreKit) -> None:
    """A status without a row would be read by nobody."""
    assert {build(0).status for build in DETAILS.values()} == set(Status)


def resumed(kit: StoreKit) -> str:
    task_id = paused(kit)
    kit.send(task_id, SignalKind.RESUME)
    return task_id


def recovered(kit: StoreKit) -> str:
    task_id = running(kit)
    kit.recover(task_id)
    return task_id


def revived(kit: StoreKit, kind: SignalKind) -> str:
    task_id = kit.put(Status.FAILED)
    kit.send(task_id, kind)
    return task_id


def asked_again(kit: StoreKit) -> str:
    task_id = kit.put(Status.COMPLETED)
    assert kit.send(task_id, SignalKind.RETRY_REPLY).verdict is SignalVerdict.ACCEPTED
    return task_id


def answered(kit: StoreKit) -> str:
    task_id = kit.waiting()
    kit.plant(task_id, "answer", ASK)
    return task_id


def unblocked(kit: StoreKit) -> str:
    task_id = blocked(kit)
    assert kit.store.fire(task_id, "blocked")
    return task_id


REASONS: dict[StartedReason, Callable[[StoreKit], str]] = {
    StartedReason.USER_REQUEST: queued,
    StartedReason.RESUMED: resumed,
    StartedReason.RECOVERED: recovered,
    StartedReason.RETRIED: lambda kit: revived(kit, SignalKind.RETRY),
    StartedReason.RESET: lambda kit: revived(kit, SignalKind.RESET),
    StartedReason.USER_INPUT: answered,
    StartedReason.UNBLOCKED: unblocked,
}


def test_another_try_is_told_as_a_retry(kit: StoreKit) -> None:
    """No word is stored that an earlier release could not read."""
    assert kit.store.get(asked_again(kit)).started_reason is StartedReason.RETRIED


@pytest.mark.parametrize("reason", StartedReason)
def test_the_reason_of_a_stretch_of_work_is_known_as_long_as_it_lasts(kit: StoreKit, reason: StartedReason) -> None:
    """Before its first claim, under that claim, and in the turns after it."""
    task_id = REASONS[reason](kit)
    assert kit.store.get(task_id).started_reason is reason
    lease = kit.claim(task_id)
    assert kit.store.get(task_id).started_reason is reason
    kit.finish(lease, FinishTo.NEXT)
    assert kit.claim(task_id)
    assert kit.store.get(task_id).started_reason is reason

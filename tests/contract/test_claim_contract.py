"""claim: every verdict, on both servers."""

from __future__ import annotations

import pytest

from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect
from neuraphage.model.task import StartedReason, Status
from neuraphage.ports import Changes, ClaimUnreadableError, ClaimVerdict, CommitVerdict, FinishTo, SignalKind, SuspendTo
from neuraphage.store import queries
from storekit import MODEL_CALL, StoreKit, question, text_entry


def test_grants_a_queued_task_with_all_a_turn_needs(kit: StoreKit) -> None:
    """GRANTED carries record, conversation, inbox and a lease, and takes the task out of the outbox."""
    task_id = kit.create(prompt="Paint it.")
    raw = kit.plant(task_id)
    claimed = kit.try_claim(task_id, process="p9", claim="c9")
    assert claimed.verdict is ClaimVerdict.GRANTED
    assert claimed.lease is not None
    assert (claimed.lease.fence, claimed.lease.claim_id, claimed.lease.token) == (1, "c9", 0)
    assert claimed.record is not None
    assert claimed.record.status is Status.RUNNING
    assert claimed.record.owner == "p9"
    assert claimed.entries[0]["content"] == [{"type": "text", "text": "Paint it."}]
    assert [stored for stored, _ in claimed.inbox] == [raw]
    assert kit.place(task_id) == "leases"
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    assert expiry == claimed.now_ms + kit.store.context.lease_ms == claimed.record.lease_until_ms


def test_tells_the_reason_once(kit: StoreKit) -> None:
    """The reason of a stretch of work is told by its first claim and forgotten by the next turn."""
    task_id, lease = kit.running()
    kinds = [fields[b"k"] for _, fields in kit.client.xrange(kit.keys.events(task_id))]
    assert kinds == [b"TaskCreated", b"TaskStarted"]
    kit.finish(lease, FinishTo.NEXT)
    kit.claim(task_id)
    kinds = [fields[b"k"] for _, fields in kit.client.xrange(kit.keys.events(task_id))]
    assert kinds.count(b"TaskStarted") == 1
    assert kit.store.get(task_id).started_reason is StartedReason.USER_REQUEST


def test_started_is_told_once_and_each_resumption_with_its_reason(kit: StoreKit) -> None:
    """One TaskStarted in a task's life; a recovery, an answer, a resume, a retry and a reset tell TaskResumed."""
    task_id, _ = kit.running()
    kit.recover(task_id)
    lease = kit.claim(task_id)
    kit.suspend(lease, SuspendTo.WAIT, Changes(prompts_opened=(question("ask-1"),)))
    kit.send(task_id, SignalKind.ANSWER, text="yes", prompt_id="ask-1")
    lease = kit.claim(task_id)
    kit.send(task_id, SignalKind.PAUSE)
    kit.suspend(lease, SuspendTo.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    for revive in (SignalKind.RETRY, SignalKind.RESET):
        kit.finish(kit.claim(task_id), FinishTo.FAILED, error="no", recoverable=True)
        kit.send(task_id, revive)
    kit.claim(task_id)
    told = queries.events(kit.store.context, task_id)
    events = [event for event in told if event.kind in {"TaskStarted", "TaskResumed"}]
    assert [event.kind for event in events] == ["TaskStarted"] + ["TaskResumed"] * 5
    reasons = ["user_request", "recovered", "user_input", "resumed", "retried", "reset"]
    assert [event.data["reason"] for event in events] == reasons
    assert [event.data["fence"] for event in events] == sorted({event.data["fence"] for event in events})


def test_a_first_claim_after_a_pause_is_a_start(kit: StoreKit) -> None:
    """A task that was held back before anyone took it has not been started yet, whatever is told of it."""
    task_id = kit.create()
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    kit.claim(task_id)
    kinds = [event.kind for event in queries.events(kit.store.context, task_id)]
    assert kinds == ["TaskCreated", "TaskPaused", "TaskUnpaused", "TaskStarted"]


def test_another_seq_is_stale(kit: StoreKit) -> None:
    """A message of an older step claims nothing and changes nothing."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT)
    before = kit.state()
    assert kit.try_claim(task_id, seq=1).verdict is ClaimVerdict.STALE
    assert kit.try_claim(task_id, seq=3).verdict is ClaimVerdict.STALE
    assert kit.state() == before


def test_a_missing_task_is_stale_and_stays_missing(kit: StoreKit) -> None:
    """A claim of nothing writes nothing."""
    before = kit.state()
    assert kit.try_claim("task-00000000-0000-0000-0000-00000000dead", seq=1).verdict is ClaimVerdict.STALE
    assert kit.state() == before == {}


def test_a_doubled_message_finds_the_task_leased(kit: StoreKit) -> None:
    """The same message a second time, by anyone else, is LEASED and changes nothing."""
    task_id, _ = kit.running()
    before = kit.state()
    assert kit.try_claim(task_id, process="p2").verdict is ClaimVerdict.LEASED
    assert kit.state() == before


def test_an_expired_lease_is_not_claimable(kit: StoreKit) -> None:
    """Only recover takes an expired lease away; a message never does."""
    task_id, _ = kit.running()
    kit.expire_lease(task_id)
    assert kit.try_claim(task_id, process="p2").verdict is ClaimVerdict.LEASED


@pytest.mark.parametrize(
    "status",
    [Status.WAITING_FOR_USER, Status.BLOCKED, Status.PAUSED, Status.COMPLETED, Status.FAILED, Status.CANCELLED],
)
def test_a_task_outside_the_outbox_is_not_runnable(kit: StoreKit, status: Status) -> None:
    """Even at the right seq, a task that waits or is over is not granted."""
    task_id = kit.put(status)
    before = kit.state()
    assert kit.try_claim(task_id).verdict is ClaimVerdict.NOT_RUNNABLE
    assert kit.state() == before


def test_a_retry_timer_is_not_runnable(kit: StoreKit) -> None:
    """A task in timers waits for its time."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() + 60_000)
    assert kit.try_claim(task_id).verdict is ClaimVerdict.NOT_RUNNABLE


def test_the_same_claim_id_gets_the_same_grant(kit: StoreKit) -> None:
    """A claim whose reply was lost is repeated and answered alike, without another fence or event."""
    task_id = kit.create()
    first = kit.try_claim(task_id, claim="c1")
    before = kit.state()
    second = kit.try_claim(task_id, claim="c1")
    assert second.verdict is ClaimVerdict.GRANTED
    assert (second.lease, second.entries, second.journal) == (first.lease, first.entries, first.journal)
    assert kit.state() == before


def test_a_repeated_claim_knows_the_token(kit: StoreKit) -> None:
    """A claim repeated after a commit carries on the token chain, so that the next write isn't taken for a replay."""
    task_id = kit.create()
    lease = kit.claim(task_id, claim="c1")
    kit.store.commit(lease, Changes(entries=(text_entry("one"),)))
    again = kit.try_claim(task_id, claim="c1")
    assert again.lease is not None
    assert again.lease.token == 1
    assert kit.store.commit(again.lease, Changes(entries=(text_entry("two"),))).verdict is CommitVerdict.COMMITTED
    assert kit.client.llen(kit.keys.messages(task_id)) == 3


def test_a_used_claim_id_is_worth_nothing_later(kit: StoreKit) -> None:
    """Once the lease is dropped, the old claim with its old message is stale."""
    task_id = kit.create()
    lease = kit.claim(task_id, claim="c1")
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert kit.try_claim(task_id, seq=1, claim="c1").verdict is ClaimVerdict.STALE


def test_each_claim_raises_the_fence(kit: StoreKit) -> None:
    """Fences are 1, 2, 3 over three turns; seq grows with each move."""
    task_id = kit.create()
    fences = []
    for _ in range(3):
        lease = kit.claim(task_id)
        fences.append(lease.fence)
        kit.finish(lease, FinishTo.NEXT)
    assert fences == [1, 2, 3]
    assert kit.number(task_id, "seq") == 4


@pytest.mark.parametrize(("flag", "status", "place"), [("cancel", "Cancelled", ""), ("pause", "Paused", "waits")])
def test_flags_are_resolved_inside(kit: StoreKit, flag: str, status: str, place: str) -> None:
    """A flag that stands at claim stops the task there and then."""
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), flag, 1)
    assert kit.try_claim(task_id).verdict is ClaimVerdict.NOT_RUNNABLE
    assert (kit.status(task_id).value, kit.place(task_id)) == (status, place)
    assert kit.field(task_id, flag) is None
    assert kit.number(task_id, "seq") == 2


def test_cancel_goes_before_pause(kit: StoreKit) -> None:
    """With both flags the task is cancelled."""
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), mapping={"pause": 1, "cancel": 1, "cancel_reason": "enough"})
    kit.try_claim(task_id)
    assert kit.status(task_id) is Status.CANCELLED
    assert kit.field(task_id, "pause") is None


def test_the_journal_is_inherited(kit: StoreKit) -> None:
    """The next holder reads what the last one did, and the open prompts."""
    task_id, lease = kit.running()
    call = ModelEffect(state=EffectState.STARTED, fence=lease.fence)
    marker = Marker(name=MarkerName.REQUEST_SENT, request_id="r1")
    changes = Changes(journal=(call,), marker=marker, add=MODEL_CALL, prompts_opened=(question(),))
    kit.suspend(lease, SuspendTo.SHUTDOWN, changes)
    claimed = kit.try_claim(task_id, process="p2")
    assert claimed.journal == {"model": call}
    assert claimed.record is not None
    assert claimed.record.marker == marker
    assert claimed.record.prompts == (question(),)


def test_an_unreadable_record_is_granted_and_reported_with_its_lease(kit: StoreKit) -> None:
    """The holder of a broken record can still end it, because the error carries the lease."""
    task_id = kit.create()
    kit.client.hset(kit.keys.task(task_id), "marker", '{"name":"no such marker"}')
    with pytest.raises(ClaimUnreadableError) as caught:
        kit.try_claim(task_id)
    ended = kit.suspend(caught.value.lease, SuspendTo.POISONED, detail={"error": "broken", "recoverable": False})
    assert ended.status is Status.FAILED


def test_a_pause_and_resume_race_never_sticks(kit: StoreKit) -> None:
    """A pause taken back before the holder saw it leaves nothing behind."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    assert kit.finish(lease, FinishTo.NEXT).status is Status.RUNNING
    assert kit.try_claim(task_id).verdict is ClaimVerdict.GRANTED

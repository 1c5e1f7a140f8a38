"""Counts and ages: what makes each begin anew, and what leaves it as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect, ToolEffect
from neuraphage.model.task import Status
from neuraphage.ports import (
    Changes,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    HeldTask,
    RecoverVerdict,
    SignalKind,
    SignalVerdict,
    SuspendTo,
)
from neuraphage.store import places
from storekit import MODEL_CALL, TALK, StoreKit, question, text_entry

ONE = Changes(entries=(text_entry("one"),), marker=Marker(name=MarkerName.REQUEST_SENT, request_id="r"))
DAYS_MS = 30 * 86_400_000


def test_each_claim_begins_its_own_chain_of_writes(kit: StoreKit) -> None:
    """However many writes the last holder made, the next one's first write is number one."""
    task_id, lease = kit.running()
    kit.store.commit(lease, ONE)
    kit.suspend(replace(lease, token=1), SuspendTo.SHUTDOWN)
    lease = kit.claim(task_id, "p2")
    assert lease.token == 0
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.COMMITTED
    assert kit.number(task_id, "token") == 1


@pytest.mark.parametrize("write", ["commit", "suspend", "finish"])
def test_every_write_of_a_holder_makes_its_task_young(kit: StoreKit, write: str) -> None:
    """The age at which a task is no longer resumed by itself counts from the last saved step."""
    task_id, lease = kit.running()
    kit.client.hset(kit.keys.task(task_id), "saved_at", kit.store.now_ms() - DAYS_MS)
    if write == "commit":
        kit.store.commit(lease, ONE)
        assert kit.recover(task_id).verdict is RecoverVerdict.RECOVERED
    elif write == "suspend":
        kit.suspend(lease, SuspendTo.SHUTDOWN, ONE)
    else:
        kit.finish(lease, FinishTo.NEXT)
    assert kit.store.now_ms() - kit.number(task_id, "saved_at") < DAYS_MS / 2


@pytest.mark.parametrize("answered", [False, True])
def test_who_is_resumed_has_all_its_tries_again(kit: StoreKit, answered: bool) -> None:
    """A person who lets a task go on after deaths and stalls begins both counts anew."""
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), mapping={"recoveries": 1, "stalls": 1})
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.recover(task_id).verdict is RecoverVerdict.PAUSED
    if answered:
        kit.plant(task_id)
    assert kit.number(task_id, "recoveries") == 2
    assert kit.send(task_id, SignalKind.RESUME).place == "outbox"
    assert (kit.number(task_id, "recoveries"), kit.number(task_id, "stalls")) == (0, 0)


def test_only_an_outcome_forgets_stalls(kit: StoreKit) -> None:
    """A commit that brings nothing new leaves the count, or a step that hangs each time would hang for ever."""
    task_id, lease = kit.running()
    kit.client.hset(kit.keys.task(task_id), "stalls", 1)
    kit.store.commit(lease, ONE)
    assert kit.number(task_id, "stalls") == 1
    kit.store.commit(replace(lease, token=1), Changes(outcome=True))
    assert kit.number(task_id, "stalls") == 0


@pytest.mark.parametrize("to", [FinishTo.NEXT, FinishTo.WAIT, FinishTo.FAILED])
def test_the_seq_that_an_answer_names_is_the_one_that_claims(kit: StoreKit, to: FinishTo) -> None:
    """finish, then the signal that leads on: each message's number is the record's, and the one before is stale."""
    task_id, lease = kit.running()
    opened = (question(TALK),) if to is FinishTo.WAIT else ()
    seq = kit.finish(lease, to, Changes(prompts_opened=opened, add=MODEL_CALL), error="e", recoverable=True).seq
    assert kit.number(task_id, "seq") == seq
    if to is not FinishTo.NEXT:
        kind = SignalKind.INPUT if to is FinishTo.WAIT else SignalKind.RETRY
        seq = kit.send(task_id, kind, text="words").seq
    assert kit.try_claim(task_id, seq=seq - 1).verdict is ClaimVerdict.STALE
    assert kit.try_claim(task_id, seq=seq).verdict is ClaimVerdict.GRANTED


def test_a_question_that_is_resumed_makes_older_messages_stale(kit: StoreKit) -> None:
    """Paused and resumed without its answer: every move of a person has a number of its own."""
    task_id = kit.waiting()
    seq = kit.number(task_id, "seq")
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.send(task_id, SignalKind.RESUME).status is Status.WAITING_FOR_USER
    assert kit.number(task_id, "seq") == seq + 2


@pytest.mark.parametrize("to", [FinishTo.COMPLETED, FinishTo.FAILED])
def test_a_task_that_is_over_takes_no_write_of_its_last_holder(kit: StoreKit, to: FinishTo) -> None:
    """Not even where a damaged index still lists its lease."""
    task_id, lease = kit.running()
    kit.finish(lease, to, error="e", recoverable=True)
    kit.client.zadd(kit.keys.leases, {task_id: kit.store.now_ms() + 60_000})
    kit.broken_on_purpose = True
    before = kit.state()
    assert kit.store.commit(replace(lease, token=1), ONE).verdict is CommitVerdict.STALE
    assert kit.suspend(replace(lease, token=1), SuspendTo.SHUTDOWN).verdict is CommitVerdict.STALE
    assert kit.state() == before


def test_a_task_that_is_over_is_fired_by_no_damaged_index(kit: StoreKit) -> None:
    """A timer that was left behind leads no ended task back to work."""
    task_id = kit.put(Status.COMPLETED)
    kit.client.zadd(kit.keys.timers, {task_id: 1})
    kit.broken_on_purpose = True
    before = kit.state()
    assert places.fire(kit.store.context, task_id, "timers") is None
    assert kit.state() == before


@pytest.mark.parametrize(("evidence", "count"), [("gone", "stalls"), ("stalled", "recoveries")])
def test_a_death_is_not_given_up_for_stalls_nor_a_stall_for_deaths(kit: StoreKit, evidence: str, count: str) -> None:
    """Each has its own limit, also where people have lowered that of the other one meanwhile."""
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), count, 99)
    kit.expire_lease(task_id)
    if evidence == "stalled":
        assert kit.recover(task_id, evidence).verdict is RecoverVerdict.SUSPECT
        kit.age_mark(task_id)
    assert kit.recover(task_id, evidence).verdict is RecoverVerdict.RECOVERED


def test_a_lease_without_a_record_makes_none(kit: StoreKit) -> None:
    """What is left of a task that is gone is no orphan: recover writes nothing, whatever was seen of it."""
    task_id = "task-00000000-0000-0000-0000-00000000dead"
    kit.client.zadd(kit.keys.leases, {task_id: 1})
    kit.broken_on_purpose = True
    before = kit.state()
    for evidence in ("gone", "absent", "expired", "stalled"):
        held = HeldTask(task_id, "", "", "", 1)
        assert kit.recover(task_id, evidence, held).verdict is RecoverVerdict.STALE
    assert kit.state() == before


def test_a_lease_whose_length_is_not_told_is_judged_by_the_visitors_own(kit: StoreKit) -> None:
    """As one that an earlier release has claimed."""
    task_id, _ = kit.running()
    kit.client.hdel(kit.keys.task(task_id), "lease_ms")
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.STALE
    kit.expire_lease(task_id)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    kit.age_mark(task_id)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.RECOVERED


def test_a_retry_keeps_the_reply_that_is_there(kit: StoreKit) -> None:
    """It was paid: the turn goes on from it, its conversation is archived nowhere, and only a reset asks anew."""
    task_id, lease = kit.running()
    call = ModelEffect(state=EffectState.COMPLETED)
    tool = ToolEffect(key="t1", state=EffectState.STARTED)
    kit.finish(lease, FinishTo.FAILED, Changes(journal=(call, tool)), error="no", recoverable=True)
    kit.send(task_id, SignalKind.RETRY)
    assert kit.try_claim(task_id).journal == {"model": call, "t1": tool}
    assert not kit.client.exists(kit.keys.archive(task_id, str(lease.fence)))


@pytest.mark.parametrize("damage", ["not JSON", "7", "null", ""])
def test_what_is_broken_of_a_failed_task_stops_a_retry_and_no_reset(kit: StoreKit, damage: str) -> None:
    """A detail that says nothing of a retry offers none; a journal that says nothing of the call is no reply."""
    task_id = kit.put(Status.FAILED)
    kit.client.hset(kit.keys.turn(task_id), "model", damage)
    kit.client.pexpire(kit.keys.turn(task_id), 60_000)
    kit.client.hset(kit.keys.task(task_id), "detail", damage)
    before = kit.state()
    assert kit.send(task_id, SignalKind.RETRY).verdict is SignalVerdict.ILLEGAL
    assert kit.state() == before
    assert kit.send(task_id, SignalKind.RESET).verdict is SignalVerdict.ACCEPTED

"""recover: evidence, two visits, and the matrix that decides."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.task import FailedDetail, StartedReason, Status
from neuraphage.ports import Changes, FinishTo, HeldTask, RecoverVerdict, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import queries
from storekit import StoreKit

BEGUN = Changes(marker=Marker(name=MarkerName.REQUEST_SENT, request_id="r"))
HOUR_MS = 3_600_000


def test_takes_the_lease_and_counts(kit: StoreKit) -> None:
    """RECOVERED raises fence, seq and both counts, and queues the task."""
    task_id, lease = kit.running()
    recovered = kit.recover(task_id)
    assert recovered.verdict is RecoverVerdict.RECOVERED
    assert (recovered.seq, recovered.iteration) == (2, 0)
    record = kit.store.get(task_id)
    assert (record.status, record.place, record.seq) == (Status.RUNNING, "outbox", 2)
    assert record.fence == lease.fence + 1
    assert (record.counters.recoveries, record.counters.recoveries_total) == (1, 1)
    assert record.started_reason is StartedReason.RECOVERED


def test_tells_what_it_was_made_from(kit: StoreKit) -> None:
    """A decision carries what it was made from, and is kept with the task."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(marker=BEGUN.marker, add={"cost_microusd": 5}))
    decision = kit.recover(task_id).decision
    assert decision is not None
    assert (decision.task_id, decision.verdict, decision.evidence) == (task_id, "recovered", "gone")
    assert (decision.marker, decision.cost_microusd, decision.owner, decision.recoveries) == (
        "request_sent",
        5,
        "p1",
        1,
    )
    assert decision.lease_age_ms is not None
    assert decision.heartbeat_age_ms is not None
    assert decision.lease_age_ms < 0 <= decision.heartbeat_age_ms
    assert decision.heartbeat_age_ms == decision.lease_age_ms + kit.store.context.lease_ms
    assert decision.saved_age_ms is not None
    assert 0 <= decision.saved_age_ms <= decision.heartbeat_age_ms
    kept = queries.decisions(kit.store.context, task_id)
    assert [row["reading"]["reason"] for row in kept] == [decision.reason]


def test_expired_needs_two_visits(kit: StoreKit) -> None:
    """The first visit marks, an early second one waits, one two heartbeats later recovers."""
    task_id, _ = kit.running()
    kit.expire_lease(task_id)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    kit.age_mark(task_id, by_ms=int(kit.store.context.settings.heartbeat_s * 2000) - 2_000)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    assert kit.place(task_id) == "leases"
    kit.age_mark(task_id)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.RECOVERED
    assert kit.client.hgetall(kit.keys.suspects) == {}


def test_a_lease_is_judged_by_what_its_holder_made_it_for(kit: StoreKit) -> None:
    """Settings change worker by worker: a visitor whose leases are shorter takes a longer one for no clock's fault."""
    task_id, lease = kit.running()
    visitor = kit.under(lease_s=2, heartbeat_s=0.5)
    for _ in range(3):
        assert visitor.recover(task_id, "expired").verdict is RecoverVerdict.STALE
    kit.expire_lease(task_id, ago_ms=-kit.store.context.lease_ms - HOUR_MS)
    assert visitor.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    visitor.age_mark(task_id)
    assert visitor.recover(task_id, "expired").verdict is RecoverVerdict.RECOVERED, "the clock has gone back"
    assert kit.store.get(task_id).fence == lease.fence + 1


def test_a_late_lease_is_marked_before_it_expires_and_taken_after(kit: StoreKit) -> None:
    """Two missed heartbeats are enough for the first visit; taking it waits for the expiry all the same."""
    settings = kit.store.context.settings
    late_ms, left_ms = int(settings.heartbeat_s * 2000), int((settings.lease_s - 2 * settings.heartbeat_s) * 1000)
    healthy, _ = kit.running()
    kit.expire_lease(healthy, ago_ms=-(left_ms + 2_000))
    assert kit.recover(healthy, "expired").verdict is RecoverVerdict.STALE
    late, _ = kit.running()
    kit.expire_lease(late, ago_ms=-(left_ms - 500))
    assert kit.recover(late, "expired").verdict is RecoverVerdict.SUSPECT
    kit.age_mark(late, by_ms=late_ms + 2_000)
    assert kit.recover(late, "expired").verdict is RecoverVerdict.SUSPECT
    assert kit.place(late) == "leases"


def test_a_renewal_clears_the_suspicion(kit: StoreKit) -> None:
    """A holder that renews after the first visit starts with a clean sheet."""
    task_id, lease = kit.running()
    kit.expire_lease(task_id)
    kit.recover(task_id, "expired")
    kit.age_mark(task_id)
    kit.store.renew([lease])
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.STALE
    kit.expire_lease(task_id, ago_ms=500)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT


def test_a_running_lease_has_not_expired(kit: StoreKit) -> None:
    """Evidence of expiry is checked against server time."""
    task_id, _ = kit.running()
    before = kit.state()
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.STALE
    assert kit.state() == before


@pytest.mark.parametrize("evidence", ["gone", "absent"])
def test_a_process_that_is_gone_needs_one_visit(kit: StoreKit, evidence: str) -> None:
    """Presence makes an ordinary death cheap."""
    task_id, _ = kit.running()
    assert kit.recover(task_id, evidence).verdict is RecoverVerdict.RECOVERED


@pytest.mark.parametrize("evidence", ["gone", "absent"])
def test_another_owners_lease_is_left_alone(kit: StoreKit, evidence: str) -> None:
    """Evidence about one process takes nothing from another."""
    task_id, _ = kit.running()
    before = kit.state()
    held = replace(kit.held(task_id), owner="p2")
    assert kit.recover(task_id, evidence, held).verdict is RecoverVerdict.STALE
    assert kit.state() == before


@pytest.mark.parametrize("change", [{"fence": "9"}, {"claim_id": "other"}])
@pytest.mark.parametrize("evidence", ["gone", "absent", "expired"])
def test_a_lease_that_moved_is_left_alone(kit: StoreKit, evidence: str, change: dict[str, Any]) -> None:
    """What was seen must still be so: fence and claim."""
    task_id, _ = kit.running()
    kit.expire_lease(task_id)
    before = kit.state()
    assert kit.recover(task_id, evidence, replace(kit.held(task_id), **change)).verdict is RecoverVerdict.STALE
    assert kit.state() == before


def test_a_lease_that_ended_is_left_alone(kit: StoreKit) -> None:
    """A task that finished its turn meanwhile is no orphan."""
    task_id, lease = kit.running()
    held = kit.held(task_id)
    kit.finish(lease, FinishTo.NEXT)
    before = kit.state()
    assert kit.recover(task_id, "gone", held).verdict is RecoverVerdict.STALE
    assert kit.state() == before


def test_a_repeat_recovers_nothing_more(kit: StoreKit) -> None:
    """Two watchers with the same evidence count one recovery."""
    task_id, _ = kit.running()
    held = kit.held(task_id)
    kit.recover(task_id, "gone", held)
    before = kit.state()
    assert kit.recover(task_id, "gone", held).verdict is RecoverVerdict.STALE
    assert kit.state() == before


def test_the_third_fruitless_recovery_is_poison(kit: StoreKit) -> None:
    """max_recoveries recoveries without an outcome fail the task, with the reason."""
    task_id = kit.create()
    verdicts = []
    for _ in range(3):
        kit.claim(task_id)
        verdicts.append(kit.recover(task_id).verdict)
    assert verdicts == [RecoverVerdict.RECOVERED, RecoverVerdict.RECOVERED, RecoverVerdict.FAILED]
    detail = kit.store.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert "3 times without a new outcome" in detail.error


def test_an_outcome_between_makes_it_no_poison(kit: StoreKit) -> None:
    """A task that gets on between its recoveries is never poison."""
    task_id = kit.create()
    for _ in range(5):
        lease = kit.claim(task_id)
        kit.store.commit(lease, Changes(outcome=True))
        assert kit.recover(task_id).verdict is RecoverVerdict.RECOVERED


@pytest.mark.parametrize(("begun", "verdict"), [(True, RecoverVerdict.FAILED), (False, RecoverVerdict.RECOVERED)])
def test_an_old_save_is_not_resumed_by_itself(kit: StoreKit, begun: bool, verdict: RecoverVerdict) -> None:
    """A step saved too long ago fails; a task that had not begun starts over at any age."""
    task_id, lease = kit.running()
    if begun:
        kit.store.commit(lease, BEGUN)
    kit.client.hset(kit.keys.task(task_id), "saved_at", kit.store.now_ms() - 24 * HOUR_MS - 1_000)
    assert kit.recover(task_id).verdict is verdict


def test_a_save_inside_the_limit_is_resumed(kit: StoreKit) -> None:
    """The age rule has an edge, and this is on its good side."""
    task_id, lease = kit.running()
    kit.store.commit(lease, BEGUN)
    kit.client.hset(kit.keys.task(task_id), "saved_at", kit.store.now_ms() - 23 * HOUR_MS)
    assert kit.recover(task_id).verdict is RecoverVerdict.RECOVERED


@pytest.mark.parametrize("stop", [SuspendTo.PAUSE, SuspendTo.SHUTDOWN])
def test_a_clean_stop_of_days_does_not_age_a_task(kit: StoreKit, stop: SuspendTo) -> None:
    """Paused, or given back by a worker that was stopped, for longer than the limit: the crash after that is young."""
    task_id, lease = kit.running()
    kit.store.commit(lease, BEGUN)
    if stop is SuspendTo.PAUSE:
        kit.send(task_id, SignalKind.PAUSE)
    kit.suspend(replace(lease, token=1), stop)
    kit.client.hset(kit.keys.task(task_id), "saved_at", kit.store.now_ms() - 30 * HOUR_MS)
    if stop is SuspendTo.PAUSE:
        kit.send(task_id, SignalKind.RESUME)
    kit.claim(task_id)
    assert kit.recover(task_id).verdict is RecoverVerdict.RECOVERED


def test_a_missing_conversation_fails(kit: StoreKit) -> None:
    """Without its conversation a task can't go on, says so, and offers no retry, which would be refused."""
    task_id, _ = kit.running()
    kit.client.delete(kit.keys.messages(task_id))
    assert kit.recover(task_id).verdict is RecoverVerdict.FAILED
    detail = kit.store.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert "conversation is gone" in detail.error
    assert not detail.recoverable
    assert kit.send(task_id, SignalKind.RETRY).verdict is SignalVerdict.ILLEGAL


def test_a_missing_task_is_stale(kit: StoreKit) -> None:
    """Recovering nothing writes nothing."""
    held = HeldTask("task-00000000-0000-0000-0000-00000000dead", "1", "c", "p1", 0)
    for evidence in ("gone", "absent", "expired"):
        assert kit.recover(held.task_id, evidence, held).verdict is RecoverVerdict.STALE
    assert kit.state() == {}


def test_decisions_are_capped(kit: StoreKit) -> None:
    """However often a task is recovered, the kept decisions stay bounded."""
    task_id = kit.create()
    kit.client.rpush(kit.keys.why(task_id), *['{"at_ms":1,"reading":"{}"}'] * 300)
    kit.claim(task_id)
    kit.recover(task_id)
    assert kit.client.llen(kit.keys.why(task_id)) == 200


def test_held_tasks_are_listed_oldest_first(kit: StoreKit) -> None:
    """The sweep sees expired leases in order, with what recover needs; None lists all."""
    (one, lease), (two, _) = kit.running(), kit.running()
    kit.expire_lease(one, ago_ms=5_000)
    now = kit.store.now_ms()
    expired = kit.store.held_tasks(until_ms=now, limit=10)
    assert expired == [HeldTask(one, str(lease.fence), lease.claim_id, "p1", expired[0].expires_ms)]
    assert [held.task_id for held in kit.store.held_tasks(until_ms=None, limit=10)] == [one, two]
    assert len(kit.store.held_tasks(until_ms=None, limit=1)) == 1


@pytest.mark.parametrize("kind", [SignalKind.RETRY, SignalKind.RESET])
def test_who_is_retried_has_all_its_tries_again(kit: StoreKit, kind: SignalKind) -> None:
    """A task that was given up as poison and is retried by a person survives as many deaths as a new one."""
    task_id, _ = kit.running()
    kit.client.hset(kit.keys.task(task_id), "recoveries", kit.store.context.settings.max_recoveries - 1)
    assert kit.recover(task_id).verdict is RecoverVerdict.FAILED
    assert kit.send(task_id, kind).verdict is SignalVerdict.ACCEPTED
    assert kit.number(task_id, "recoveries") == 0
    for _ in range(kit.store.context.settings.max_recoveries - 1):
        kit.claim(task_id)
        assert kit.recover(task_id).verdict is RecoverVerdict.RECOVERED

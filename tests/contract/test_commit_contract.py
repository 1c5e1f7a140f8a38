"""commit: every verdict and every kind of change, on both servers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect, ToolEffect
from neuraphage.model.event import Event
from neuraphage.model.task import Status
from neuraphage.ports import Changes, CommitVerdict, FinishTo, SignalKind, SuspendTo
from storekit import ASK, StoreKit, question, text_entry

ONE = Changes(entries=(text_entry("one"),))
TWO = Changes(entries=(text_entry("two"),))


def test_writes_all_kinds_of_change(kit: StoreKit) -> None:
    """Entries, journal, marker, counters, inbox, prompts, grants and events land together."""
    task_id, lease = kit.running()
    raw = kit.plant(task_id)
    kept = kit.plant(task_id)
    call = ModelEffect(state=EffectState.COMPLETED, fence=1)
    changes = Changes(
        entries=(text_entry("one"), text_entry("two")),
        journal=(call,),
        marker=Marker(name=MarkerName.RESPONSE_RECEIVED, response_hash="h"),
        add={"model_calls": 1, "cost_microusd": 9_007_199_254_740_000},
        consumed=(raw,),
        prompts_opened=(question(deadline_ms=77),),
        grants={"bash": "granted", "run_command: pytest *": "granted"},
        events=(Event(kind="Said", data={"a": 1}),),
    )
    assert kit.store.commit(lease, changes).verdict is CommitVerdict.COMMITTED
    record = kit.store.get(task_id)
    assert record.marker == changes.marker
    assert (record.counters.model_calls, record.counters.cost_microusd) == (1, 9_007_199_254_740_000)
    assert record.grants == {"bash": "granted", "run_command: pytest *": "granted"}
    assert record.prompts == (question(deadline_ms=77),)
    assert kit.client.zscore(kit.keys.deadlines, f"{task_id}|{ASK}") == 77
    assert kit.inbox(task_id) == [kept]
    assert kit.client.llen(kit.keys.messages(task_id)) == 3
    assert set(kit.client.hgetall(kit.keys.turn(task_id))) == {b"model"}
    stored = kit.client.xrevrange(kit.keys.events(task_id), count=1)[0][1]
    assert stored == {b"k": b"Said", b"d": b'{"a":1}', b"s": f"0 1 worker {SCHEMA_VERSION}".encode()}
    closing = Changes(prompts_closed=(ASK,), add={"model_calls": 2})
    kit.store.commit(replace(lease, token=1), closing)
    assert kit.store.get(task_id).prompts == ()
    assert kit.store.get(task_id).counters.model_calls == 3
    assert kit.client.zcard(kit.keys.deadlines) == 0


def test_renews_the_lease_and_reports_flags(kit: StoreKit) -> None:
    """A commit keeps the lease for a whole lease time, and says what people asked for."""
    task_id, lease = kit.running()
    kit.expire_lease(task_id)
    first = kit.store.commit(lease, ONE)
    assert (first.pause, first.cancel) == (False, False)
    assert kit.client.zscore(kit.keys.leases, task_id) > kit.store.now_ms()
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.store.commit(replace(lease, token=1), TWO).pause
    kit.send(task_id, SignalKind.CANCEL)
    assert kit.store.commit(replace(lease, token=2), ONE).cancel
    assert first.sent_at_boottime_s > 0


def test_a_lease_that_has_hardly_run_is_left_as_it_is(kit: StoreKit) -> None:
    """Soon after a renewal a commit renews nothing and says so: its send time must not lengthen the deadline."""
    task_id, lease = kit.running()
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    answer = kit.store.commit(lease, ONE)
    assert answer.verdict is CommitVerdict.COMMITTED
    assert answer.sent_at_boottime_s == 0
    assert kit.client.zscore(kit.keys.leases, task_id) == expiry


def test_a_lease_that_could_be_suspected_is_renewed(kit: StoreKit) -> None:
    """The slack is far below two heartbeats, so a commit clears every suspicion."""
    task_id, lease = kit.running()
    context = kit.store.context
    assert context.renew_slack_ms * 5 <= context.settings.heartbeat_s * 1000
    late_ms = kit.store.now_ms() + context.lease_ms - context.renew_slack_ms
    kit.client.zadd(kit.keys.leases, {task_id: late_ms})
    assert kit.store.commit(lease, ONE).sent_at_boottime_s > 0
    assert kit.client.zscore(kit.keys.leases, task_id) >= late_ms + context.renew_slack_ms


def test_a_replay_gets_the_same_answer_and_writes_nothing(kit: StoreKit) -> None:
    """The same token again is COMMITTED and changes nothing."""
    _, lease = kit.running()
    kit.store.commit(lease, ONE)
    before = kit.state()
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.COMMITTED
    assert kit.state() == before


def test_a_replay_is_recognised_after_the_lease_is_gone(kit: StoreKit) -> None:
    """The replay check comes before the fence check: what was committed is reported so, even after recovery."""
    task_id, lease = kit.running()
    kit.store.commit(lease, ONE)
    kit.recover(task_id)
    before = kit.state()
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.COMMITTED
    assert kit.store.commit(replace(lease, token=1), TWO).verdict is CommitVerdict.STALE
    assert kit.state() == before


@pytest.mark.parametrize("token", [1, 5])
def test_a_gap_in_the_chain_is_lost(kit: StoreKit, token: int) -> None:
    """When an earlier write of the lease is missing, nothing more is written."""
    _, lease = kit.running()
    before = kit.state()
    assert kit.store.commit(replace(lease, token=token), ONE).verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_an_older_token_is_lost(kit: StoreKit) -> None:
    """A token below the last one (neither the next nor a repeat) is refused."""
    _, lease = kit.running()
    kit.store.commit(lease, ONE)
    kit.store.commit(replace(lease, token=1), TWO)
    before = kit.state()
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_another_fence_is_stale(kit: StoreKit) -> None:
    """The fence must match, whatever the claim id says."""
    _, lease = kit.running()
    before = kit.state()
    assert kit.store.commit(replace(lease, fence=lease.fence + 1), ONE).verdict is CommitVerdict.STALE
    assert kit.store.commit(replace(lease, fence=lease.fence - 1), ONE).verdict is CommitVerdict.STALE
    assert kit.state() == before


def test_another_claim_with_the_same_fence_is_stale(kit: StoreKit) -> None:
    """After lost writes two claims can have one fence number; the claim id tells them apart."""
    task_id = kit.create()
    saved = kit.snapshot()
    lost = kit.claim(task_id, claim="lost")
    kit.restore(saved)
    held = kit.claim(task_id, claim="held")
    assert lost.fence == held.fence
    before = kit.state()
    assert kit.store.commit(lost, ONE).verdict is CommitVerdict.STALE
    assert kit.state() == before
    kit.store.commit(held, TWO)
    before = kit.state()
    assert kit.store.commit(lost, ONE).verdict is CommitVerdict.STALE, "a replay of another claim's token is no replay"
    assert kit.state() == before


def test_a_lost_tail_inside_the_claim_is_seen(kit: StoreKit) -> None:
    """The server forgets the last commit: the worker's next one is LOST."""
    _, lease = kit.running()
    saved = kit.snapshot()
    kit.store.commit(lease, ONE)
    kit.restore(saved)
    before = kit.state()
    assert kit.store.commit(replace(lease, token=1), TWO).verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_after_suspend_the_lease_is_stale(kit: StoreKit) -> None:
    """Fence and claim still match after a suspend; without the lease nothing may be written."""
    _, lease = kit.running()
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    before = kit.state()
    assert kit.store.commit(replace(lease, token=1), ONE).verdict is CommitVerdict.STALE
    assert kit.state() == before


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        (Status.CANCELLED, CommitVerdict.CANCELLED),
        (Status.COMPLETED, CommitVerdict.STALE),
        (Status.FAILED, CommitVerdict.STALE),
    ],
)
def test_a_task_that_is_over_takes_no_commit(kit: StoreKit, status: Status, verdict: CommitVerdict) -> None:
    """CANCELLED tells a worker why; the others are stale. Nothing is written."""
    task_id = kit.put(status)
    _, lease = kit.running()
    before = kit.state()
    assert kit.store.commit(replace(lease, task_id=task_id, token=7), ONE).verdict is verdict
    assert kit.state() == before


def test_an_outcome_clears_the_poison_count(kit: StoreKit) -> None:
    """Only a commit of an outcome ends the run of fruitless recoveries."""
    task_id, _ = kit.running()
    kit.recover(task_id)
    lease = kit.claim(task_id)
    kit.store.commit(lease, ONE)
    assert kit.store.get(task_id).counters.recoveries == 1
    kit.store.commit(replace(lease, token=1), Changes(outcome=True))
    counters = kit.store.get(task_id).counters
    assert (counters.recoveries, counters.recoveries_total) == (0, 1)


def test_a_commit_is_not_a_replay_of_a_suspend(kit: StoreKit) -> None:
    """Two different calls under one token: the second isn't told that it was written."""
    _, lease = kit.running()
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    before = kit.state()
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.LOST
    assert kit.state() == before


@pytest.mark.parametrize("turns_before", [0, 1])
def test_a_suspend_is_not_a_replay_of_a_commit(kit: StoreKit, turns_before: int) -> None:
    """After a commit with a lost reply, a suspend under the same token isn't answered with an older turn's verdict."""
    task_id, lease = kit.running()
    for _ in range(turns_before):
        kit.finish(lease, FinishTo.NEXT)
        lease = kit.claim(task_id)
    kit.store.commit(lease, ONE)
    before = kit.state()
    assert kit.suspend(lease, SuspendTo.SHUTDOWN).verdict is CommitVerdict.LOST
    assert kit.finish(lease, FinishTo.NEXT).verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_a_settled_prompt_leaves_nothing_behind(kit: StoreKit) -> None:
    """With the prompt goes the note that it was answered: a task that asks often does not grow by it."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),)))
    raw = kit.plant(task_id, "answer", ASK)
    assert kit.field(task_id, f"a:{ASK}") is not None
    kit.store.commit(replace(lease, token=1), Changes(prompts_closed=(ASK,), consumed=(raw,)))
    assert [kit.field(task_id, f"{kind}:{ASK}") for kind in "pa"] == [None, None]


def test_an_answered_prompt_announced_again_gets_no_new_deadline(kit: StoreKit) -> None:
    """A prompt that has its answer can't time out any more, even when a worker opens it once more."""
    task_id, lease = kit.running()
    opened = Changes(prompts_opened=(question(deadline_ms=77),))
    kit.store.commit(lease, opened)
    kit.plant(task_id, "answer", ASK)
    settled = kit.suspend(replace(lease, token=1), SuspendTo.WAIT, opened)
    assert settled.place == "outbox"
    assert kit.client.zcard(kit.keys.deadlines) == 0


def test_the_history_is_capped(kit: StoreKit) -> None:
    """Events stay near their limit, however many a task writes."""
    task_id, lease = kit.running()
    many = Changes(events=tuple(Event(kind="Tick") for _ in range(400)))
    for token in range(2):
        kit.under(events_max=50).store.commit(replace(lease, token=token), many)
    assert kit.client.xlen(kit.keys.events(task_id)) <= 50 + 100, "the server trims whole nodes of 100"


def test_a_write_of_any_number_of_parts_is_whole(kit: StoreKit) -> None:
    """Lua hands a command 8,000 arguments at most; a reply of thousands of calls is stored and asked about.

    An error on the way would leave the token moved on and the paid reply gone.
    """
    task_id, lease = kit.running()
    entries = tuple(text_entry(str(number)) for number in range(8_100))
    states = tuple(ToolEffect(key=f"t{number}", state=EffectState.PLANNED) for number in range(4_100))
    assert kit.store.commit(lease, Changes(entries=entries, journal=states)).verdict is CommitVerdict.COMMITTED
    assert kit.client.llen(kit.keys.messages(task_id)) == 8_101
    assert kit.client.hlen(kit.keys.turn(task_id)) == 4_100
    asked = Changes(prompts_opened=tuple(question(f"p{number}") for number in range(4_100)))
    assert kit.suspend(replace(lease, token=1), SuspendTo.WAIT, asked).status is Status.WAITING_FOR_USER
    assert len(kit.store.get(task_id).prompts) == 4_100
    kit.send(task_id, SignalKind.CANCEL)
    assert kit.store.get(task_id).prompts == ()


def test_a_replay_without_a_verdict_is_lost(kit: StoreKit) -> None:
    """A damaged record says that the write came, and not what it led to: nothing goes on from that."""
    task_id, lease = kit.running()
    assert kit.suspend(lease, SuspendTo.SHUTDOWN).verdict is CommitVerdict.COMMITTED
    kit.client.hdel(kit.keys.task(task_id), "verdict")
    kit.broken_on_purpose = True
    assert kit.suspend(lease, SuspendTo.SHUTDOWN).verdict is CommitVerdict.LOST
    assert kit.store.commit(lease, ONE).verdict is CommitVerdict.LOST

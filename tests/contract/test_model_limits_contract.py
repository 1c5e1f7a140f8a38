"""Limits of models: a call takes its share before it is made, and counts with what it used; the rest wait in turn."""

from __future__ import annotations

import json
from typing import Any

from neuraphage.model.capacity import CallShare, Capacity, CapacityReason, ModelLimits
from neuraphage.ports import SuspendTo
from storekit import StoreKit

GATE = "pool:claude-sonnet"
CALLS = ModelLimits(requests=2)
TOKENS = ModelLimits(output_tokens=100)
WINDOW_MS = 60_000
SLACK_MS = 50_000
"""More than a test takes on any machine, and less than a window."""


def ask(
    kit: StoreKit, task_id: str, limits: ModelLimits = CALLS, ticket: str = "0.0.1", priority: int = 2, **share: int
) -> Capacity:
    wanted = CallShare(ticket=ticket, **{"input_tokens": 0, "output_tokens": 0, **share})
    return kit.store.admit_call(GATE, task_id, priority=priority, limits=limits, share=wanted)


def settle(
    kit: StoreKit, task_id: str, limits: ModelLimits = CALLS, ticket: str = "0.0.1", answered_ms: int = 0, **used: int
) -> None:
    share = CallShare(ticket=ticket, **{"input_tokens": 0, "output_tokens": 0, **used})
    kit.store.settle_call(GATE, task_id, limits, share, answered_ms)


def used(kit: StoreKit, kind: str = "requests") -> int:
    return int(kit.client.hget(kit.keys.gate(GATE), kind) or 0)


def field(kit: StoreKit, name: str) -> dict[str, Any] | None:
    raw = kit.client.hget(kit.keys.gate(GATE), name)
    return None if raw is None else json.loads(raw)


def window_over(kit: StoreKit) -> None:
    """What has counted counts no longer."""
    for member in kit.client.zrange(kit.keys.used(GATE), 0, -1):
        kit.client.zadd(kit.keys.used(GATE), {member: 1})


def waiting(kit: StoreKit, limits: ModelLimits, **share: int) -> str:
    """A task that waits in timers for its turn."""
    task_id, lease = kit.running()
    found = ask(kit, task_id, limits, **share)
    assert not found.is_admitted
    kit.suspend(lease, SuspendTo.TIMER, due_ms=found.due_ms)
    return task_id


def due_in_ms(kit: StoreKit, task_id: str) -> float:
    return (kit.client.zscore(kit.keys.timers, task_id) or 0) - kit.store.now_ms()


def test_over_the_limit_a_call_waits_for_its_time(kit: StoreKit) -> None:
    """Until as much no longer counts as it needs; then it is let in."""
    assert ask(kit, "a").is_admitted
    assert ask(kit, "b").is_admitted
    found = ask(kit, "c")
    assert (found.is_admitted, found.why, found.until_ms) == (False, CapacityReason.REQUESTS, 0)
    first_ms = min(score for _, score in kit.client.zrange(kit.keys.used(GATE), 0, -1, withscores=True))
    assert found.due_ms == first_ms + 1
    assert abs(found.due_ms - kit.store.now_ms() - WINDOW_MS) < SLACK_MS
    settle(kit, "a")
    settle(kit, "b")
    assert not ask(kit, "c").is_admitted, "what was used counts for a window, whether its call is over or not"
    window_over(kit)
    assert ask(kit, "c").is_admitted
    assert used(kit) == 1


def test_who_stands_before_is_let_in_before(kit: StoreKit) -> None:
    """Each of those that wait has a time of its own, and a newcomer takes no room that one of them waits for."""
    assert ask(kit, "a", TOKENS, output_tokens=60).is_admitted
    large = ask(kit, "large", TOKENS, output_tokens=50)
    assert large.why is CapacityReason.OUTPUT_TOKENS
    assert not ask(kit, "small", TOKENS, output_tokens=10).is_admitted
    settle(kit, "a", TOKENS, output_tokens=1)
    assert ask(kit, "large", TOKENS, output_tokens=50).is_admitted
    assert ask(kit, "small", TOKENS, output_tokens=10).is_admitted
    assert used(kit, "output_tokens") == 61


def test_who_is_overdue_is_not_waited_for(kit: StoreKit) -> None:
    """A task that was cancelled while it waited never comes; it is forgotten in the end."""
    ask(kit, "a", TOKENS, output_tokens=60)
    ask(kit, "gone", TOKENS, output_tokens=50)
    grace_ms = int(kit.store.context.settings.sweep_s * 2000)
    late = {"input": 0, "output": 50, "due": kit.store.now_ms() - grace_ms - 1}
    kit.client.hset(kit.keys.gate(GATE), "w:gone", json.dumps(late))
    assert ask(kit, "small", TOKENS, output_tokens=10).is_admitted
    assert field(kit, "w:gone") is not None
    kit.client.hset(kit.keys.gate(GATE), "w:gone", json.dumps({**late, "due": 1}))
    assert ask(kit, "other", TOKENS, output_tokens=10).is_admitted
    assert field(kit, "w:gone") is None
    assert kit.client.zscore(kit.keys.queue(GATE), "gone") is None


def test_a_call_that_was_let_in_is_not_let_in_twice(kit: StoreKit) -> None:
    """Its worker died before it was announced: the recovered turn has its share."""
    ask(kit, "a", ticket="0.3.1")
    ask(kit, "b")
    assert ask(kit, "a", ticket="0.3.1").is_admitted
    assert used(kit) == 2


def test_a_call_that_may_have_been_sent_counts_beside_the_next_one(kit: StoreKit) -> None:
    """Its worker died after that: the provider may have counted it. What it would have written is given up."""
    limits = ModelLimits(requests=2, input_tokens=200, output_tokens=100)
    assert ask(kit, "a", limits, ticket="0.3.1", input_tokens=90, output_tokens=100).is_admitted
    assert ask(kit, "a", limits, ticket="0.3.2", input_tokens=90, output_tokens=100).is_admitted
    assert [used(kit, kind) for kind in ("requests", "input_tokens", "output_tokens")] == [2, 180, 100]
    assert not ask(kit, "a", limits, ticket="0.3.3", input_tokens=90, output_tokens=100).is_admitted
    assert used(kit, "output_tokens") == 0


def test_a_call_that_reaches_the_provider_late_counts_from_then(kit: StoreKit) -> None:
    """An open call may have been sent somewhat after it was let in, also where its worker is dead since."""
    ask(kit, "a")
    window_over(kit)
    ask(kit, "b")
    assert used(kit) == 2
    counted_by = field(kit, "t:a")["counted_by"]  # type: ignore[index]
    assert counted_by > kit.store.now_ms() + WINDOW_MS
    scores = kit.client.zrange(kit.keys.used(GATE), 0, -1, withscores=True)
    assert counted_by in [score for member, score in scores if b":a:" in member]
    ask(kit, "a", ticket="0.0.2")
    (late_ms,) = [score for member, score in kit.client.zrange(kit.keys.used(GATE), 0, -1, withscores=True)
                  if b":a:0.0.1" in member]  # fmt: skip
    assert abs(late_ms - kit.store.now_ms() - WINDOW_MS) < SLACK_MS
    assert late_ms < counted_by


def test_a_settled_call_counts_with_what_it_used(kit: StoreKit) -> None:
    """Requests and input from when the provider had begun to answer, output from the end; whole windows each."""
    limits = ModelLimits(requests=5, input_tokens=500, output_tokens=100)
    ask(kit, "a", limits, input_tokens=90, output_tokens=100)
    settle(kit, "a", limits, input_tokens=120, output_tokens=7, answered_ms=20_000)
    assert [used(kit, kind) for kind in ("requests", "input_tokens", "output_tokens")] == [1, 120, 7]
    left = {m.split(b":")[0]: s for m, s in kit.client.zrange(kit.keys.used(GATE), 0, -1, withscores=True)}
    assert left[b"requests"] == left[b"input_tokens"] == left[b"output_tokens"] - 20_000
    assert abs(left[b"output_tokens"] - kit.store.now_ms() - WINDOW_MS) < SLACK_MS
    assert field(kit, "t:a") is None
    settle(kit, "a", limits, input_tokens=500, output_tokens=500)
    assert used(kit, "input_tokens") == 120, "it is over"
    ask(kit, "a", limits, ticket="0.1.1")
    settle(kit, "a", limits, ticket="0.0.1")
    assert field(kit, "t:a") is not None, "another call of the task is"


def test_a_call_that_took_longer_than_a_window_counts_no_longer(kit: StoreKit) -> None:
    """Its answer had begun before that; the sums follow."""
    ask(kit, "a")
    ask(kit, "b")
    settle(kit, "a", answered_ms=2 * WINDOW_MS)
    assert used(kit) == kit.client.zcard(kit.keys.used(GATE)) == 1


def test_what_becomes_free_is_told_to_those_it_is_enough_for(kit: StoreKit) -> None:
    """In their order; who would not fit keeps his time, and so does everybody behind."""
    ask(kit, "a", TOKENS, output_tokens=90)
    first, second, third, fourth = (waiting(kit, TOKENS, output_tokens=amount) for amount in (40, 40, 60, 5))
    before = [due_in_ms(kit, task_id) for task_id in (third, fourth)]
    settle(kit, "a", TOKENS, output_tokens=10)
    assert max(due_in_ms(kit, task_id) for task_id in (first, second)) <= 0
    after = [due_in_ms(kit, task_id) for task_id in (third, fourth)]
    assert all(now > SLACK_MS / 10 and now <= then for now, then in zip(after, before, strict=True))


def test_more_than_all_is_all(kit: StoreKit) -> None:
    """A call that may write more than the limit is made alone."""
    assert ask(kit, "a", TOKENS, output_tokens=5_000).is_admitted
    assert used(kit, "output_tokens") == 100
    assert not ask(kit, "b", TOKENS, output_tokens=1).is_admitted


def test_who_is_let_in_waits_no_longer(kit: StoreKit) -> None:
    """Neither in the queue nor in what others wait for."""
    ask(kit, "a", TOKENS, output_tokens=60)
    ask(kit, "b", TOKENS, output_tokens=50)
    settle(kit, "a", TOKENS)
    assert ask(kit, "b", TOKENS, output_tokens=50).is_admitted
    assert field(kit, "w:b") is None
    assert kit.client.zscore(kit.keys.queue(GATE), "b") is None


def test_urgent_calls_stand_ahead(kit: StoreKit) -> None:
    """Of two that wait the more urgent one is let in, though it came later."""
    ask(kit, "a", TOKENS, output_tokens=60)
    assert not ask(kit, "usual", TOKENS, output_tokens=50).is_admitted
    assert not ask(kit, "urgent", TOKENS, output_tokens=50, priority=0).is_admitted
    settle(kit, "a", TOKENS, output_tokens=1)
    assert not ask(kit, "usual", TOKENS, output_tokens=50).is_admitted
    assert ask(kit, "urgent", TOKENS, output_tokens=50, priority=0).is_admitted


def test_a_model_that_cools_gives_nothing_away(kit: StoreKit) -> None:
    """A call waits for the provider's time without a share; woken, those that wait keep their turns."""
    kit.store.cool_model(GATE, CapacityReason.RATE_LIMITED, 600.0)
    assert ask(kit, "a").why is CapacityReason.RATE_LIMITED
    assert used(kit) == 0
    kit.client.hset(kit.keys.cooling, GATE, json.dumps({"till": 1, "why": "rate_limited"}))
    assert ask(kit, "a").probes
    ask(kit, "b")
    kit.store.open_model(GATE, "a", is_limited=True)
    assert kit.client.zscore(kit.keys.queue(GATE), "b") is not None
    kit.store.open_model(GATE, "a", is_limited=True)


def test_what_is_kept_of_limits_expires(kit: StoreKit) -> None:
    """All of it, later than anything in it counts; an open call of a task that is gone goes with its time."""
    ask(kit, "a", TOKENS, output_tokens=90)
    ask(kit, "b", TOKENS, output_tokens=90)
    for key in (kit.keys.used(GATE), kit.keys.gate(GATE), kit.keys.queue(GATE), kit.keys.gates):
        assert kit.client.pttl(key) > 900_000
    window_over(kit)
    ask(kit, "c", TOKENS, output_tokens=1)
    assert field(kit, "t:a") is None


def test_sums_that_were_lost_begin_anew(kit: StoreKit) -> None:
    """With nothing that counts nothing is used."""
    ask(kit, "a")
    ask(kit, "b")
    kit.client.delete(kit.keys.used(GATE))
    kit.client.hdel(kit.keys.gate(GATE), "t:a", "t:b")
    assert ask(kit, "c").is_admitted
    assert used(kit) == 1

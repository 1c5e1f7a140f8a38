"""Shares of limits: what asking again, dying, waiting and settling leave as it is."""

from __future__ import annotations

import json

from test_capacity_contract import ask as asks_cooling
from test_capacity_contract import cool
from test_model_limits_contract import (
    GATE,
    TOKENS,
    WINDOW_MS,
    ask,
    due_in_ms,
    field,
    settle,
    used,
    waiting,
    window_over,
)

from neuraphage.model.capacity import ModelLimits
from neuraphage.ports import SuspendTo
from neuraphage.store.capacity import STEP_MS, STEPS_MAX
from storekit import StoreKit

BOTH = ModelLimits(requests=5, input_tokens=500)


def counts_until_ms(kit: StoreKit, kind: str, task_id: str) -> float:
    """Until when a call of a task counts."""
    (found,) = [
        until_ms
        for member, until_ms in kit.client.zrange(kit.keys.used(GATE), 0, -1, withscores=True)
        if member.startswith(kind.encode()) and f":{task_id}:".encode() in member
    ]
    return float(found)


def test_who_is_let_in_again_counts_from_then(kit: StoreKit) -> None:
    """Once, and for a whole window: it is sent only now, or somewhat later."""
    ask(kit, "a", BOTH, input_tokens=90)
    before_ms = field(kit, "t:a")["counted_by"]  # type: ignore[index]
    for member in kit.client.zrange(kit.keys.used(GATE), 0, -1):
        kit.client.zadd(kit.keys.used(GATE), {member: kit.store.now_ms() + WINDOW_MS / 2})
    older = {"ticket": "0.0.1", "input": 90, "output": 0, "counted_by": before_ms - 30_000}
    kit.client.hset(kit.keys.gate(GATE), "t:a", json.dumps(older))
    assert ask(kit, "a", BOTH, input_tokens=90).is_admitted
    for kind in ("requests", "input_tokens"):
        assert counts_until_ms(kit, kind, "a") > kit.store.now_ms() + WINDOW_MS / 2 + 5_000
    assert field(kit, "t:a")["counted_by"] >= before_ms  # type: ignore[index]
    assert (used(kit), used(kit, "input_tokens")) == (1, 90)


def test_a_dead_call_that_counts_no_longer_is_left_out(kit: StoreKit) -> None:
    """The provider has counted it a window ago, if at all."""
    ask(kit, "a")
    kit.client.hset(kit.keys.gate(GATE), "t:a", '{"ticket": "0.0.1", "input": 0, "output": 0, "counted_by": 1}')
    window_over(kit)
    assert ask(kit, "a", ticket="0.0.2").is_admitted
    assert used(kit) == 1


def test_who_is_let_in_leaves_the_queue(kit: StoreKit) -> None:
    """Nobody stands behind a call that is under way."""
    ask(kit, "a", TOKENS, output_tokens=60)
    assert not ask(kit, "b", TOKENS, output_tokens=50).is_admitted
    assert kit.client.zscore(kit.keys.queue(GATE), "b") is not None
    settle(kit, "a", TOKENS)
    assert ask(kit, "b", TOKENS, output_tokens=50).is_admitted
    assert kit.client.zscore(kit.keys.queue(GATE), "b") is None


def test_who_waits_keeps_the_place(kit: StoreKit) -> None:
    """However often it asks; a more urgent one stands ahead of it."""
    ask(kit, "a", TOKENS, output_tokens=100)
    ask(kit, "b", TOKENS, output_tokens=50)
    kit.client.zadd(kit.keys.queue(GATE), {"b": 5})
    ask(kit, "b", TOKENS, output_tokens=50)
    assert kit.client.zscore(kit.keys.queue(GATE), "b") == 5
    ask(kit, "low", TOKENS, output_tokens=50, priority=4)
    ask(kit, "urgent", TOKENS, output_tokens=50, priority=0)
    assert kit.client.zrange(kit.keys.queue(GATE), 0, -1) == [b"b", b"urgent", b"low"]


def test_who_does_not_wait_in_timers_is_not_woken(kit: StoreKit) -> None:
    """It may have been paused, or be due already: a settled call moves nobody who does not wait."""
    ask(kit, "a", TOKENS, output_tokens=90)
    due, elsewhere = waiting(kit, TOKENS, output_tokens=20), waiting(kit, TOKENS, output_tokens=20)
    kit.client.zrem(kit.keys.timers, elsewhere)
    kit.client.zadd(kit.keys.timers, {due: 7})
    settle(kit, "a", TOKENS)
    assert kit.client.zscore(kit.keys.timers, due) == 7
    assert kit.client.zscore(kit.keys.timers, elsewhere) is None
    kit.client.zadd(kit.keys.timers, {elsewhere: 7})


def test_what_is_nothing_is_not_kept(kit: StoreKit) -> None:
    """A call that reads and writes nothing that is limited leaves its request alone."""
    ask(kit, "a")
    settle(kit, "a")
    assert kit.client.zcard(kit.keys.used(GATE)) == 1


def test_who_stands_far_behind_asks_in_time(kit: StoreKit) -> None:
    """Not a step later for each of hundreds that stand before."""
    till_ms = cool(kit)
    last = [asks_cooling(kit, f"task-{number}") for number in range(STEPS_MAX + 4)][-1]
    assert last.due_ms == till_ms + STEPS_MAX * STEP_MS


def test_a_wait_is_no_longer_than_a_window(kit: StoreKit) -> None:
    """Whatever counts for longer: much changes till then, and who waits asks again."""
    ask(kit, "a", TOKENS, output_tokens=100)
    task_id, lease = kit.running()
    found = ask(kit, task_id, TOKENS, output_tokens=1)
    kit.suspend(lease, SuspendTo.TIMER, due_ms=found.due_ms)
    assert due_in_ms(kit, task_id) <= WINDOW_MS + 1

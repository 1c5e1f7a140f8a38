"""Gates of models: nobody calls while a model cools, one call finds out when the time is over, the others are woken."""

from __future__ import annotations

import json
from typing import Any

import pytest

from neuraphage.model.capacity import Capacity, CapacityReason
from neuraphage.model.repairing import RepairMode
from neuraphage.ports import SuspendTo
from neuraphage.store import capacity
from neuraphage.store.repair import damaged_indexes
from storekit import StoreKit

GATE, OTHER = "pool:claude-sonnet", "pool:claude-haiku"
DELAY_S = 600.0
SLACK_MS = 60_000
"""More than a test takes on any machine, and less than what it looks for."""


def ask(kit: StoreKit, task_id: str, gate: str = GATE, priority: int = 2) -> Capacity:
    return kit.store.admit_call(gate, task_id, priority=priority)


def cool(kit: StoreKit, why: CapacityReason = CapacityReason.RATE_LIMITED, delay_s: float = DELAY_S) -> int:
    """Refuse a call; returns when the provider's wait is over."""
    kit.store.cool_model(GATE, why, delay_s)
    return int(stored(kit)["till"])


def stored(kit: StoreKit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kit.client.hget(kit.keys.cooling, GATE))
    return found


def over(kit: StoreKit) -> None:
    """The provider's wait passes."""
    kit.client.hset(kit.keys.cooling, GATE, json.dumps({**stored(kit), "till": 1}))


def waiting(kit: StoreKit) -> str:
    """A task that waits in timers for the model, queued."""
    task_id, lease = kit.running()
    found = ask(kit, task_id)
    assert not found.is_admitted
    kit.suspend(lease, SuspendTo.TIMER, due_ms=found.due_ms)
    return task_id


def test_a_model_that_was_never_refused_takes_every_call(kit: StoreKit) -> None:
    """And nothing is written for it."""
    before = kit.state()
    assert ask(kit, "a") == ask(kit, "b") == Capacity(is_admitted=True)
    assert kit.state() == before


def test_while_a_model_cools_nobody_calls(kit: StoreKit) -> None:
    """Until the provider's own time; each who waits is told it, and who stands further behind asks later."""
    until_ms = cool(kit)
    first, second = ask(kit, "a"), ask(kit, "b")
    assert first == Capacity(is_admitted=False, why=CapacityReason.RATE_LIMITED, due_ms=until_ms, until_ms=until_ms)
    assert (second.due_ms, second.until_ms) == (until_ms + capacity.STEP_MS, until_ms)
    assert abs(until_ms - kit.store.now_ms() - DELAY_S * 1000) < SLACK_MS
    assert ask(kit, "a", OTHER).is_admitted, "each family of models has a gate of its own"


def test_the_wait_is_never_shortened(kit: StoreKit) -> None:
    """Of two refusals the later end holds, and the newer reason."""
    until_ms = cool(kit)
    assert cool(kit, CapacityReason.OVERLOADED, 1.0) == until_ms
    assert ask(kit, "a").why is CapacityReason.OVERLOADED
    assert cool(kit, delay_s=2 * DELAY_S) > until_ms


def test_when_the_time_is_over_one_call_finds_out(kit: StoreKit) -> None:
    """Whoever asks first; asked again it still is the one. The others wait for its outcome."""
    cool(kit)
    over(kit)
    assert ask(kit, "a") == ask(kit, "a") == Capacity(is_admitted=True, probes=True)
    other = ask(kit, "b")
    assert (other.is_admitted, other.why) == (False, CapacityReason.PROBE)
    settings = kit.store.context.settings
    right_ms = (settings.connect_timeout_s + settings.read_timeout_s + capacity.SLACK_S) * 1000
    assert other.due_ms == stored(kit)["probe_till"]
    assert abs(other.due_ms - kit.store.now_ms() - right_ms) < SLACK_MS


def test_the_right_of_a_lost_probe_passes_on(kit: StoreKit) -> None:
    """Its worker is gone and its task was cancelled: when the right is over another one calls."""
    cool(kit)
    over(kit)
    assert ask(kit, "a").probes
    kit.client.hset(kit.keys.cooling, GATE, json.dumps({**stored(kit), "probe_till": kit.store.now_ms() - 1}))
    assert ask(kit, "b").probes
    assert not ask(kit, "a").is_admitted


def test_a_probe_that_was_taken_wakes_all(kit: StoreKit) -> None:
    """In the order in which they asked; nothing is left of the gate."""
    cool(kit)
    tasks = [waiting(kit) for _ in range(3)]
    over(kit)
    assert ask(kit, "prober").probes
    kit.store.open_model(GATE, "prober")
    due = [kit.client.zscore(kit.keys.timers, task_id) for task_id in tasks]
    assert due == sorted(due)
    assert len(set(due)) == 3
    assert due[-1] < kit.store.now_ms() + SLACK_MS
    assert not kit.client.exists(kit.keys.cooling, kit.keys.queue(GATE))
    assert ask(kit, "anybody") == Capacity(is_admitted=True)


def test_only_its_probe_opens_a_model(kit: StoreKit) -> None:
    """A call that was sent before the refusal may end well after it; and a refusal in between counts."""
    cool(kit)
    kit.store.open_model(GATE, "a")
    assert not ask(kit, "b").is_admitted
    over(kit)
    assert ask(kit, "a").probes
    cool(kit)
    kit.store.open_model(GATE, "a")
    assert not ask(kit, "a").is_admitted
    kit.store.open_model(OTHER, "a")


def test_who_does_not_wait_in_timers_is_not_moved(kit: StoreKit) -> None:
    """A task that was paused or deleted meanwhile stays where it is, and one that is due anyway stays due."""
    cool(kit)
    paused, due = waiting(kit), waiting(kit)
    kit.client.zrem(kit.keys.timers, paused)
    kit.client.zadd(kit.keys.waits, {paused: 1})
    kit.client.zadd(kit.keys.timers, {due: 7})
    over(kit)
    assert ask(kit, "prober").probes
    kit.store.open_model(GATE, "prober")
    assert kit.client.zscore(kit.keys.timers, paused) is None
    assert kit.client.zscore(kit.keys.timers, due) == 7
    kit.client.zrem(kit.keys.waits, paused)
    kit.client.zadd(kit.keys.timers, {paused: 1})


def test_priority_stands_ahead_and_nobody_starves(kit: StoreKit) -> None:
    """By so much time that one who has waited longer than it stands ahead of the most urgent newcomer."""
    cool(kit)
    ask(kit, "a", priority=2)
    ask(kit, "z", priority=0)
    order = kit.client.zrange(kit.keys.queue(GATE), 0, -1)
    assert order == [b"z", b"a"]
    waited_ms = 5 * capacity.HEAD_START_MS
    kit.client.zadd(kit.keys.queue(GATE), {"low": kit.store.now_ms() - waited_ms + 4 * capacity.HEAD_START_MS})
    ask(kit, "newest", priority=0)
    order = kit.client.zrange(kit.keys.queue(GATE), 0, -1)
    assert order.index(b"low") < order.index(b"newest")


def test_who_asks_again_keeps_the_place(kit: StoreKit) -> None:
    """The time of the first asking counts."""
    cool(kit)
    kit.client.zadd(kit.keys.queue(GATE), {"a": 5})
    ask(kit, "a")
    assert kit.client.zscore(kit.keys.queue(GATE), "a") == 5


def test_the_claim_tells_which_models_cool(kit: StoreKit) -> None:
    """In the same round trip, for claim and go_on: a turn asks no further while there is none."""
    task_id = kit.create()
    claimed = kit.try_claim(task_id, seq=1)
    assert claimed.cooling == frozenset()
    other = kit.create()
    cool(kit)
    assert kit.try_claim(other, seq=1).cooling == {GATE}


def test_what_is_kept_of_a_model_expires(kit: StoreKit) -> None:
    """Behind the end of its cooling; a shorter one does not take it away sooner."""
    cool(kit)
    ask(kit, "a")
    left_ms = kit.client.pttl(kit.keys.cooling)
    assert left_ms > DELAY_S * 1000
    kit.store.cool_model(OTHER, CapacityReason.OVERLOADED, 0.0)
    assert kit.client.pttl(kit.keys.cooling) > left_ms - SLACK_MS
    assert kit.client.pttl(kit.keys.queue(GATE)) > 0


def test_what_cannot_be_read_of_a_gate_opens_it(kit: StoreKit) -> None:
    """It is advice: the provider says it again."""
    kit.client.hset(kit.keys.cooling, GATE, "no JSON")
    kit.client.pexpire(kit.keys.cooling, 60_000)
    assert ask(kit, "a").is_admitted
    kit.store.open_model(GATE, "a")
    assert cool(kit) > kit.store.now_ms()


def test_a_damaged_key_is_put_aside_by_repair(kit: StoreKit) -> None:
    """As every index is."""
    kit.client.set(kit.keys.cooling, "x", px=60_000)
    (found,) = damaged_indexes(kit.store.context, RepairMode.REPAIR)
    assert found.name == kit.keys.cooling
    assert ask(kit, "a").is_admitted


@pytest.mark.parametrize("delay_s", [0.0, 0.4])
def test_a_wait_of_nothing_still_lets_one_call_find_out(kit: StoreKit, delay_s: float) -> None:
    """As when the provider says retry-after: 0."""
    kit.store.cool_model(GATE, CapacityReason.RATE_LIMITED, delay_s)
    over(kit)
    assert ask(kit, "a").probes
    assert not ask(kit, "b").is_admitted

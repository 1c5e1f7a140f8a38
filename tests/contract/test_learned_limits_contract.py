"""Limits that a provider tells of: all workers keep one while little is heard to be left of it."""

from __future__ import annotations

import json
from typing import Any

from neuraphage.model.capacity import CallShare, Capacity, HeardLimits, LearnedLimits, ModelLimits
from storekit import StoreKit

GATE = "pool:claude-sonnet"
MOST = ModelLimits(requests=2)
OUTPUT = HeardLimits(limits={"requests": 3, "output_tokens": 800}, near=("output_tokens",), used={}, till_ms={})
SLACK_MS = 20_000
"""More than a test takes on any machine, and less than what it waits for."""


def heard(used: int = 2, most: int = 2, near: bool = True, till_ms: int = 40_000) -> HeardLimits:
    return HeardLimits(
        limits={"requests": most},
        near=("requests",) if near else (),
        used={"requests": used},
        till_ms={"requests": till_ms},
    )


def learn(kit: StoreKit, found: HeardLimits | None, task_id: str = "a") -> None:
    told = LearnedLimits(requests=2)
    kit.store.learn_limits(GATE, told, task_id=task_id, limits=MOST, heard=found)


def ask(kit: StoreKit, task_id: str) -> Capacity:
    share = CallShare(ticket="0.0.1", input_tokens=0, output_tokens=0)
    return kit.store.admit_call(GATE, task_id, priority=2, limits=MOST, share=share)


def settle(kit: StoreKit, task_id: str, found: HeardLimits) -> None:
    used = CallShare(ticket="0.0.1", input_tokens=0, output_tokens=0)
    kit.store.settle_call(GATE, task_id, MOST, used, 0, found)


def seen(kit: StoreKit) -> dict[str, ModelLimits]:
    """What a worker that claims a turn now is told."""
    return dict(kit.try_claim(kit.create()).kept)


def kept(kit: StoreKit) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(kit.client.hget(kit.keys.kept, GATE))
    return found


def used(kit: StoreKit) -> int:
    return int(kit.client.hget(kit.keys.gate(GATE), "requests") or 0)


def test_a_limit_of_which_little_is_left_is_kept(kit: StoreKit) -> None:
    """Every turn is told of it with its claim; what the provider has counted counts as long as it does there."""
    assert seen(kit) == {}
    learn(kit, heard())
    assert seen(kit) == {GATE: MOST}
    found = ask(kit, "b")
    assert not found.is_admitted
    assert abs(found.due_ms - kit.store.now_ms() - 40_000) < SLACK_MS
    assert kit.client.zscore(kit.keys.gates, GATE) is not None
    for key in (kit.keys.kept, kit.keys.used(GATE), kit.keys.gate(GATE), kit.keys.gates):
        assert kit.client.pttl(key) > 500_000
    till_ms = kept(kit)["till"]
    assert abs(till_ms - kit.store.now_ms() - 600_000) < SLACK_MS


def test_while_enough_is_left_nothing_is_kept(kit: StoreKit) -> None:
    """It is noted for people alone."""
    learn(kit, heard(used=1, near=False))
    learn(kit, None)
    assert seen(kit) == {}
    assert not kit.client.exists(kit.keys.kept)
    assert not kit.client.exists(kit.keys.used(GATE))
    assert json.loads(kit.client.hget(kit.keys.learned, GATE))["requests"] == 2


def test_what_is_told_anew_replaces_it(kit: StoreKit) -> None:
    """With a call that had a share too; with enough left it is kept no longer than before."""
    learn(kit, heard())
    kit.client.delete(kit.keys.used(GATE))
    assert ask(kit, "b").is_admitted
    before_ms = kept(kit)["till"]
    settle(kit, "b", heard(used=1, most=50, near=False))
    assert kept(kit) == {"limits": {"requests": 50}, "till": before_ms}
    assert seen(kit) == {GATE: ModelLimits(requests=50)}
    assert ask(kit, "b").is_admitted
    kit.client.hset(kit.keys.kept, GATE, json.dumps({"limits": {"requests": 50}, "till": before_ms - 500_000}))
    settle(kit, "b", heard(used=1, most=40))
    assert abs(kept(kit)["till"] - before_ms) < SLACK_MS
    assert kept(kit)["limits"] == {"requests": 40}


def test_one_kind_is_kept_beside_another(kit: StoreKit) -> None:
    """Each from when little was left of it."""
    learn(kit, OUTPUT)
    assert seen(kit) == {GATE: ModelLimits(output_tokens=800)}
    learn(kit, heard())
    learn(kit, OUTPUT)
    assert seen(kit) == {GATE: ModelLimits(requests=3, output_tokens=800)}


def test_after_its_time_it_is_kept_no_longer(kit: StoreKit) -> None:
    """Nor does an answer with enough left bring it back."""
    learn(kit, heard())
    kit.client.hset(kit.keys.kept, GATE, json.dumps({"limits": {"requests": 2}, "till": kit.store.now_ms() - 1}))
    assert seen(kit) == {}
    learn(kit, heard(near=False))
    assert seen(kit) == {}
    learn(kit, OUTPUT)
    assert seen(kit) == {GATE: ModelLimits(output_tokens=800)}


def test_what_counts_already_counts_once(kit: StoreKit) -> None:
    """Only what the provider has counted beyond ours is added, however often it is told."""
    assert ask(kit, "b").is_admitted
    learn(kit, heard())
    learn(kit, heard())
    assert used(kit) == 2
    learn(kit, heard(used=1))
    assert used(kit) == 2


def test_what_was_told_long_ago_counts_no_longer(kit: StoreKit) -> None:
    """All was there again before the reply ended."""
    learn(kit, heard(till_ms=-1))
    assert seen(kit) == {GATE: MOST}
    assert used(kit) == 0
    assert not kit.client.exists(kit.keys.used(GATE))


def test_what_cannot_be_read_is_not_kept(kit: StoreKit) -> None:
    """It is advice: no claim fails by it, and the next answer writes it anew."""
    for broken in ("no JSON", "{}", '{"limits": 5, "till": 1e15}', '{"limits": {"requests": "x"}, "till": 1e15}'):
        kit.client.hset(kit.keys.kept, GATE, broken)
        kit.client.pexpire(kit.keys.kept, 60_000)
        assert seen(kit) == {}
    kit.client.hset(kit.keys.kept, GATE, "no JSON")
    learn(kit, heard())
    assert seen(kit) == {GATE: MOST}

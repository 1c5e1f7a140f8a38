"""What people are shown of limits of models: as it is now, whoever called last."""

from __future__ import annotations

import json

import pytest

from neuraphage.cli.capacity_command import NOTHING, gate_lines
from neuraphage.client_wiring import new_task_id
from neuraphage.llm.rate_headers import limits_told
from neuraphage.model.capacity import CallShare, CapacityReason, GateView, LearnedLimits, ModelLimits
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Signal, SignalKind, SuspendTo
from neuraphage.store import capacity_view
from storekit import StoreKit

GATE = "pool:claude-sonnet"
LIMITS = ModelLimits(requests=2, output_tokens=1_000)


def ask(kit: StoreKit, task_id: str, priority: int = 2) -> bool:
    share = CallShare(ticket="0.0.1", input_tokens=0, output_tokens=100)
    return kit.store.admit_call(GATE, task_id, priority=priority, limits=LIMITS, share=share).is_admitted


def wait(kit: StoreKit, priority: int) -> str:
    """A task that waits for its turn."""
    task_id = new_task_id()
    kit.store.create(TaskSpec(task_id=task_id, name="A task", prompt="Do it.", model="m", priority=priority), task_id)
    lease = kit.claim(task_id)
    assert not ask(kit, task_id, priority)
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() + 60_000)
    return task_id


def view(kit: StoreKit) -> list[GateView]:
    return capacity_view.gates(kit.store.context)


def test_all_that_limits_calls_is_shown(kit: StoreKit) -> None:
    """Limits, what counts, calls under way, tasks by priority; who was ended does not wait."""
    assert view(kit) == []
    ask(kit, "a")
    ask(kit, "b")
    wait(kit, 0)
    wait(kit, 2)
    kit.store.signal(wait(kit, 2), Signal(SignalKind.CANCEL, "no more"))
    (gate,) = view(kit)
    assert (gate.family, gate.key_pool, gate.window_s) == ("claude-sonnet", "pool", 60.0)
    assert gate.limits == LIMITS
    assert gate.used == {"requests": 2, "input_tokens": 0, "output_tokens": 200}
    assert (gate.open_calls, gate.waiting) == (2, {0: 1, 2: 1})
    lines = gate_lines(gate)
    assert lines[0] == "claude-sonnet (key pool)"
    assert lines[1] == "  2 of 2 calls used within 60 s (100 %)"
    assert lines[-1] == "  2 tasks wait: 1 of priority 0, 1 of priority 2"


def test_what_counts_no_longer_is_not_shown(kit: StoreKit) -> None:
    """The sums of the gate are as old as its last call; what is shown is of now."""
    ask(kit, "a")
    kit.store.settle_call(GATE, "a", LIMITS, CallShare(ticket="0.0.1", input_tokens=0, output_tokens=7), 0)
    (gate,) = view(kit)
    assert (gate.used["output_tokens"], gate.open_calls) == (7, 0)
    for member in kit.client.zrange(kit.keys.used(GATE), 0, -1):
        kit.client.zadd(kit.keys.used(GATE), {member: 1})
    (gate,) = view(kit)
    assert gate.used == {"requests": 0, "input_tokens": 0, "output_tokens": 0}


def test_a_model_that_cools_and_what_was_learned(kit: StoreKit) -> None:
    """Each is shown without the other, and without limits; what cannot be read is left out."""
    kit.store.cool_model(GATE, CapacityReason.RATE_LIMITED, 600.0)
    kit.store.learn_limits("other:gpt", LearnedLimits(requests=500, tokens=30_000))
    cooling, learned = view(kit)
    assert (cooling.cooling_why, cooling.is_probed) == ("rate_limited", False)
    assert cooling.cooling_until_ms > kit.store.now_ms()
    assert "429, too many" in gate_lines(cooling)[1]
    assert (learned.learned.requests, learned.learned.tokens, learned.window_s) == (500, 30_000, 0.0)
    assert "learned: the provider allows 500 calls, 30,000 tokens" in gate_lines(learned)[1]
    assert kit.client.pttl(kit.keys.learned) > 0
    kit.client.hset(kit.keys.cooling, GATE, json.dumps({"till": 1, "why": "overloaded"}))
    kit.client.hset(kit.keys.learned, "other:gpt", "no JSON")
    cooling, learned = view(kit)
    assert cooling.is_probed
    assert "one call finds out" in gate_lines(cooling)[1]
    assert gate_lines(learned) == ["gpt (key other)"]
    assert NOTHING


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        (
            {"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-input-tokens-limit": "30000"},
            LearnedLimits(requests=50, input_tokens=30_000),
        ),
        (
            {"x-ratelimit-limit-requests": "500", "x-ratelimit-limit-tokens": "30000"},
            LearnedLimits(requests=500, tokens=30_000),
        ),
        ({"x-ratelimit-limit-requests": "many", "anthropic-ratelimit-tokens-limit": "-1"}, None),
        ({"x-ratelimit-limit-requests": "9" * 40}, None),
        ({}, None),
    ],
)
def test_limits_are_learned_from_headers(headers: dict[str, str], found: LearnedLimits | None) -> None:
    """Of both APIs; what is no number says nothing."""
    told = limits_told(headers, 0.0)
    assert (told.limits if told else None) == found

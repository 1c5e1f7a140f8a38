"""Who is asked for a summary, by what is known of models."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.retry import after_fault
from neuraphage.decide.summary_model import (
    MOST_REFUSALS,
    SHORT_WAIT_S,
    Candidate,
    Gate,
    SummaryChoice,
    SummaryFacts,
    gives_way,
    named,
    summary_choice,
)
from neuraphage.errors import FaultKind
from neuraphage.model.capacity import Capacity, CapacityReason
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState, ModelEffect

OWN, TINY = "claude-sonnet-5-5", "claude-haiku-5-5"
TIERS = {"cheap": ("openai:small", TINY, "claude-other"), "mine": ("bedrock:x",)}
FITS = Candidate(TINY, window_tokens=200_000, output_tokens=8_000)


def choice(
    candidate: Candidate = FITS, begun: ModelEffect | None = None, gate: Gate | None = None, **sizes: int
) -> SummaryChoice:
    gates = {} if gate is None else {candidate.model: gate}
    sizes = {"tokens": 50_000, "reply_tokens": 4_000, "now_ms": 1_000, **sizes}
    return summary_choice(SummaryFacts(candidate, gates), OWN, begun, **sizes)


def call(**fields: Any) -> ModelEffect:
    return ModelEffect(**{"key": SUMMARY_ENTRY, "state": EffectState.STARTED, "model": TINY, "attempt": 1, **fields})


@pytest.mark.parametrize(
    ("setting", "own", "meant"),
    [
        ("cheap", OWN, SummaryChoice(TINY)),
        ("tier:cheap", OWN, SummaryChoice(TINY)),
        ("cheap", "openai:qwen3", SummaryChoice("openai:small")),
        ("cheap", "openai:small", SummaryChoice("openai:small")),
        ("cheap", f"anthropic:{TINY}", SummaryChoice(f"anthropic:{TINY}")),
        ("mine", OWN, SummaryChoice(OWN, "no model of the tier mine is one of anthropic")),
        ("cheap", "vertex:y", SummaryChoice("vertex:y", "no model of the tier cheap is one of vertex")),
        ("own", OWN, SummaryChoice(OWN, "summary_model is own")),
        ("openai:any", OWN, SummaryChoice("openai:any")),
        ("claude-x", OWN, SummaryChoice("claude-x")),
    ],
)
def test_of_a_tier_the_first_one_of_the_own_provider_is_meant(setting: str, own: str, meant: SummaryChoice) -> None:
    """What a task works on goes to another provider only where a person has named a model of it."""
    assert named(setting, TIERS, own) == meant


@pytest.mark.parametrize(
    ("changes", "sizes", "why"),
    [
        ({}, {}, ""),
        ({"is_callable": False}, {}, f"this worker cannot call {TINY}"),
        ({"is_priced": False}, {}, f"no price is known for {TINY}"),
        ({"window_tokens": 0}, {}, f"the context window of {TINY} is not known"),
        ({"window_tokens": 54_000}, {}, ""),
        ({"window_tokens": 53_999}, {}, f"about 54,000 tokens do not fit the window of {TINY}, 53,999"),
        ({"output_tokens": 4_000}, {}, ""),
        ({"output_tokens": 3_999}, {}, f"a summary of 4,000 tokens is longer than a reply of {TINY}, 3,999"),
    ],
)
def test_what_does_not_fit_goes_to_the_own_model(changes: dict[str, Any], sizes: dict[str, int], why: str) -> None:
    """A smaller window would lose what the own model can read, its beginning first; and why is told."""
    candidate = Candidate(**{**{name: getattr(FITS, name) for name in Candidate.__slots__}, **changes})
    assert choice(candidate, **sizes) == SummaryChoice(OWN if why else TINY, why)


def test_without_another_one_it_is_the_own() -> None:
    """With the reason, where there is one."""
    assert choice(Candidate(OWN, "summary_model is own")) == SummaryChoice(OWN, "summary_model is own")
    assert choice(Candidate(OWN)) == SummaryChoice(OWN)
    assert choice(Candidate()) == SummaryChoice(OWN)


def held(due_ms: int) -> Gate:
    return Gate(True, Capacity(is_admitted=False, why=CapacityReason.RATE_LIMITED, due_ms=due_ms))


def test_a_short_wait_is_none_of_a_reason() -> None:
    """A longer one is, and the second one."""
    most_ms = 1_000 + int(SHORT_WAIT_S * 1000)
    assert choice(gate=Gate(True, Capacity(is_admitted=True))).model == TINY
    assert choice(gate=Gate(True)).model == TINY
    assert choice(gate=held(most_ms)).model == TINY
    late = choice(gate=held(most_ms + 1))
    assert late.model == OWN
    assert late.why_own.startswith(f"{TINY} takes no calls until ")
    waited = call(state=EffectState.PLANNED, awaits=(CapacityReason.RATE_LIMITED, 5))
    assert choice(begun=waited, gate=held(2_000)).model == OWN
    assert choice(begun=waited).model == TINY


@pytest.mark.parametrize(
    ("begun", "model"),
    [
        (call(), TINY),
        (call(state=EffectState.FAILED, retry_at_ms=5), TINY),
        (call(state=EffectState.FAILED), OWN),
        (call(why_own="it failed"), OWN),
        (call(model=OWN), OWN),
        (call(model=None), OWN),
    ],
)
def test_a_call_that_was_begun_stays_with_its_model(begun: ModelEffect, model: str) -> None:
    """Unless it has given way, or failed for good. One of a release that named none was the own model's."""
    assert choice(begun=begun).model == model


@pytest.mark.parametrize("kind", list(FaultKind))
@pytest.mark.parametrize("attempt", [1, 2, 3])
@pytest.mark.parametrize("wait_s", [None, 5.0, 600.0])
def test_another_model_always_gives_way_in_the_end(kind: FaultKind, attempt: int, wait_s: float | None) -> None:
    """At once, but for what passes; the task's own model and replies follow their own rule."""
    decision = after_fault(kind, attempt - 1, wait_s, attempt)
    why = gives_way(call(attempt=attempt), OWN, kind, decision)
    passing = kind in (FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED)
    busy = kind in (FaultKind.RATE_LIMITED, FaultKind.OVERLOADED)
    stays = (passing and attempt < 3) or (busy and attempt < MOST_REFUSALS and wait_s != 600.0)
    assert why == ("" if stays else f"{TINY} failed: {kind.value}")
    assert gives_way(call(model=OWN, attempt=attempt), OWN, kind, decision) == ""
    assert gives_way(call(model=None, attempt=attempt), OWN, kind, decision) == ""
    assert gives_way(call(key="model", attempt=attempt), OWN, kind, decision) == ""

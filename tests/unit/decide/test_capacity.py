"""What faults say of a model to all workers, and which models share their limits."""

from __future__ import annotations

import pytest

from neuraphage.decide.capacity import awaited, cooling_after, shows_capacity, why_waits
from neuraphage.decide.model_family import gate_of, model_family
from neuraphage.decide.retry import RATE_LIMITED_MAX_S, after_fault
from neuraphage.errors import FaultKind
from neuraphage.llm.key_pool import key_pool_name
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import MODEL_ENTRY, EffectState, ModelEffect


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-5-5", "claude-sonnet"),
        ("claude-sonnet-4-20250514", "claude-sonnet"),
        ("claude-3-5-haiku-20241022", "claude-haiku"),
        ("claude-opus-4@20250514", "claude-opus"),
        ("anthropic.claude-sonnet-4-20250514-v1:0", "anthropic.claude-sonnet"),
        ("gpt-4o-mini", "gpt-4o-mini"),
        ("openai:llama3.2", "openai:llama3.2"),
        ("scripted-1", "scripted"),
        ("7", "7"),
    ],
)
def test_releases_of_a_family_share_their_limits(model: str, family: str) -> None:
    """As providers count them; an id that is nothing but a version stays."""
    assert model_family(model) == family
    assert gate_of("pool", model) == f"pool:{family}"


@pytest.mark.parametrize("kind", FaultKind)
@pytest.mark.parametrize("asked_s", [None, 0.0, 7.0, 10 * RATE_LIMITED_MAX_S])
def test_all_wait_as_long_as_the_task_itself(kind: FaultKind, asked_s: float | None) -> None:
    """By the provider's own delay, or that of the table; other faults are a task's own."""
    found = cooling_after(kind, asked_s)
    assert (found is not None) == (kind in {FaultKind.RATE_LIMITED, FaultKind.OVERLOADED})
    if found is not None:
        assert found == (CapacityReason(kind.value), after_fault(kind, 0, asked_s).delay_s)
        assert not shows_capacity(kind)


def test_an_answer_of_another_kind_shows_that_calls_are_taken() -> None:
    """A refused request was looked at; of one that broke off nobody knows."""
    assert {kind for kind in FaultKind if shows_capacity(kind)} == {
        FaultKind.BAD_REQUEST, FaultKind.BAD_HISTORY, FaultKind.CONTEXT_OVERFLOW, FaultKind.AUTHENTICATION,
        FaultKind.PERMISSION, FaultKind.NOT_FOUND, FaultKind.TOO_LARGE,
    }  # fmt: skip


def test_what_a_task_waits_for_is_in_its_journal() -> None:
    """Of a call that was refused itself, too; of one that failed otherwise there is nothing."""

    def entry(**fields: object) -> dict[str, ModelEffect]:
        return {MODEL_ENTRY: ModelEffect.model_validate({"state": EffectState.FAILED, **fields})}

    held = (CapacityReason.PROBE, 0)
    assert awaited(entry(awaits=held)) == held
    assert awaited(entry(fault="rate_limited", retry_at_ms=5)) == (CapacityReason.RATE_LIMITED, 5)
    assert awaited(entry(fault="network", retry_at_ms=5)) is None
    assert awaited(entry(fault="rate_limited")) is None
    assert awaited({}) is None


@pytest.mark.parametrize("why", CapacityReason)
def test_each_reason_has_its_sentence(why: CapacityReason) -> None:
    """It names the family, and the provider's time where there is one."""
    text = why_waits(why, 1_764_531_234_567, "claude-sonnet-5-5")
    assert "claude-sonnet" in text
    assert "5-5" not in text
    assert text.endswith("it waits, holds no worker and counts no attempt.")
    refused = why in {CapacityReason.RATE_LIMITED, CapacityReason.OVERLOADED}
    assert ("asked everybody to wait until 19:33:54 UTC" in text) == refused


def test_a_key_is_not_to_be_known_by_its_name() -> None:
    """The name is short, other for each key and each namespace, and holds no part of the key."""
    key = "sk-ant-0123456789abcdef"
    names = {key_pool_name(key, "one"), key_pool_name(key, "two"), key_pool_name(key + "0", "one")}
    assert len(names) == 3
    assert key_pool_name(key, "one") == key_pool_name(key, "one")
    assert all(len(name) == 12 and name not in key for name in names)

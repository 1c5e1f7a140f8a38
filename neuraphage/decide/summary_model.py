"""Who is asked for a summary: a cheap model of the task's provider where that is sensible, else the task's own. Pure.

The record is sent as text (`summary_request`), so whatever a conversation holds travels to any model: thoughts with the
signatures of another one, its calls by their ids, and images are not sent at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from neuraphage.decide.duration import clock_time
from neuraphage.decide.model_ids import split_model
from neuraphage.decide.retry import RetryDecision
from neuraphage.decide.tiers import OWN, PREFIX
from neuraphage.errors import FaultKind
from neuraphage.model.capacity import Capacity
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState, ModelEffect

SHORT_WAIT_S = 60.0
"""So long a summary waits for another model to take calls; beyond that the task's own one is asked."""
MOST_REFUSALS = 2
"""Calls for one summary that another model may refuse as too many before the task's own one is asked."""
_UNREACHED = frozenset({FaultKind.NETWORK, FaultKind.TIMEOUT, FaultKind.SERVER_ERROR, FaultKind.TRUNCATED})
"""Faults of the way to the provider, which both models share."""
_BUSY = frozenset({FaultKind.RATE_LIMITED, FaultKind.OVERLOADED})


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model that a summary may be asked of in place of the task's own; see `named`.

    Args:
        model: its id; empty for none.
        why_none: why there is none; empty where the task's own is the one that is meant.
        is_callable: whether this process has access to its provider.
        is_priced: whether its price is known.
        window_tokens: its context window; 0 where nobody knows it.
        output_tokens: its longest reply.
    """

    model: str = ""
    why_none: str = ""
    is_callable: bool = True
    is_priced: bool = True
    window_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether a model takes a call for a summary now.

    Args:
        is_asked: whether that is to be asked.
        found: the answer; None before.
    """

    is_asked: bool = False
    found: Capacity | None = None


NO_GATE = Gate()


@dataclass(frozen=True, slots=True)
class SummaryFacts:
    """What is known of models that a summary may be asked of.

    Args:
        candidate: in place of the task's own: of a call that was begun its model, else by the settings.
        gates: by the id of the model.
    """

    candidate: Candidate = field(default_factory=Candidate)
    gates: Mapping[str, Gate] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SummaryChoice:
    """Who is asked.

    Args:
        model: its id.
        why_own: why it is the task's own and no cheaper one; empty where there is nothing to tell.
    """

    model: str
    why_own: str = ""


def named(setting: str, tiers: Mapping[str, Sequence[str]], own: str) -> SummaryChoice:
    """The model that the settings mean for the summaries of a task.

    Of a tier it is the first one of the task's own provider: what a task works on goes to no other provider unless a
    person has named a model of it.

    Args:
        setting: the name of a tier, the id of a model, or `own`.
        tiers: of the settings.
        own: the task's model.
    """
    if setting == OWN:
        return SummaryChoice(own, "summary_model is own")
    if is_tier(setting, tiers):
        tier, provider = setting.removeprefix(PREFIX), split_model(own).provider
        found = next((one for one in tiers[tier] if split_model(one).provider is provider), None)
        if found is None:
            return SummaryChoice(own, f"no model of the tier {tier} is one of {provider.value}")
        setting = found
    return SummaryChoice(own if split_model(setting) == split_model(own) else setting)


def is_tier(setting: str, tiers: Mapping[str, Sequence[str]]) -> bool:
    """Whether the setting names one of the tiers."""
    return setting.removeprefix(PREFIX) in tiers


def summary_choice(
    facts: SummaryFacts, own: str, begun: ModelEffect | None, *, tokens: int, reply_tokens: int, now_ms: int
) -> SummaryChoice:
    """Who is asked for a summary.

    Args:
        facts: what is known of models.
        own: the task's model.
        begun: the call, where it was announced before; the same model is asked again, unless it has given way.
        tokens: what the request may have.
        reply_tokens: longest summary.
        now_ms: server time.
    """
    other = facts.candidate
    if begun is not None:  # without a model: of a release that asked the task's own alone
        given_up = begun.state is EffectState.FAILED and begun.retry_at_ms is None
        if begun.why_own or begun.model != other.model or given_up:
            return SummaryChoice(own, begun.why_own)
    if not other.model or other.model == own:
        return SummaryChoice(own, other.why_none)
    waited = begun is not None and begun.awaits is not None
    why_own = _unfit(other, tokens, reply_tokens) or _busy(other.model, facts.gates, now_ms, waited=waited)
    return SummaryChoice(own, why_own) if why_own else SummaryChoice(other.model)


def _unfit(other: Candidate, tokens: int, reply_tokens: int) -> str:
    """Why a model cannot be asked; empty where it can."""
    model, needed = other.model, tokens + reply_tokens
    if not other.is_callable:
        return f"this worker cannot call {model}"
    if not other.is_priced:
        return f"no price is known for {model}"
    if not other.window_tokens:
        return f"the context window of {model} is not known"
    if needed > other.window_tokens:
        return f"about {needed:,} tokens do not fit the window of {model}, {other.window_tokens:,}"
    if reply_tokens > other.output_tokens:
        return f"a summary of {reply_tokens:,} tokens is longer than a reply of {model}, {other.output_tokens:,}"
    return ""


def _busy(model: str, gates: Mapping[str, Gate], now_ms: int, *, waited: bool) -> str:
    """Why a model is not waited for; empty where it takes calls, or soon will. It is waited for once."""
    found = gates.get(model, NO_GATE).found
    if found is None or found.is_admitted:
        return ""
    if not waited and found.due_ms - now_ms <= SHORT_WAIT_S * 1000:
        return ""
    return f"{model} takes no calls until {clock_time(found.due_ms)}"


def next_call(before: ModelEffect | None, plan: Mapping[str, Any], choice: SummaryChoice, *, fence: int) -> ModelEffect:
    """The call for a summary as it is before it is made, or waits.

    Args:
        before: the call, where it was announced before, or has waited.
        plan: the compaction that it is for.
        choice: who is asked. Faults of another model are none of its own.
        fence: of the lease.
    """
    asked: dict[str, Any] = {"model": choice.model, "why_own": choice.why_own}
    if before is None or before.state is EffectState.COMPLETED:
        return ModelEffect(key=SUMMARY_ENTRY, state=EffectState.PLANNED, fence=fence, plan=dict(plan), **asked)
    if before.model not in (None, choice.model):
        asked |= {"faults": 0, "fault": None, "compacted": False}
    return before.model_copy(update=asked)


def gives_way(entry: ModelEffect, own: str, kind: FaultKind, decision: RetryDecision) -> str:
    """Why the task's own model is asked in place of one whose call for a summary has failed; empty where it is not.

    Args:
        entry: the call.
        own: the task's model.
        kind: how it failed.
        decision: what would follow for any call.
    """
    if entry.key != SUMMARY_ENTRY or entry.model is None or entry.model == own:
        return ""
    is_over = decision.delay_s is None
    if kind in _BUSY:
        is_over = is_over or (decision.delay_s or 0.0) > SHORT_WAIT_S or entry.attempt >= MOST_REFUSALS
    elif kind not in _UNREACHED:  # the request, the model, or what it wrote: to ask it again would come to the same
        is_over = True
    return f"{entry.model} failed: {kind.value}" if is_over else ""

"""Whether a model takes a call now: what all workers of a key know of it together."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from neuraphage.model.base import Frozen


class CapacityReason(StrEnum):
    """Why a call of a model waits, although nothing is wrong with it."""

    RATE_LIMITED = "rate_limited"
    """The provider has refused a call with 429."""
    OVERLOADED = "overloaded"
    """The provider has refused a call with 529."""
    EXHAUSTED = "exhausted"
    """The provider has taken a call, and said that nothing is left for another one."""
    PROBE = "probe"
    """The provider's time is over, and one call finds out whether it takes calls again."""
    REQUESTS = "requests"
    """As many calls as `model_limits` or, without, the provider allows."""
    INPUT_TOKENS = "input_tokens"
    """As many tokens read."""
    OUTPUT_TOKENS = "output_tokens"
    """As many tokens written."""


class Capacity(Frozen):
    """Whether a model takes a call now.

    Args:
        is_admitted: whether it does.
        probes: this is the one call that finds out whether it takes calls again; what comes of it is to be told.
        why: what the call waits for.
        due_ms: when to ask again (server time, milliseconds); it may be woken before.
        until_ms: the time that the provider asked everybody to wait for; 0 for none.
    """

    is_admitted: bool
    probes: bool = False
    why: CapacityReason | None = None
    due_ms: int = 0
    until_ms: int = 0


class ModelLimits(Frozen):
    """What all workers of a key may use of a family of models within a minute; None for no limit.

    Args:
        requests: calls.
        input_tokens: tokens read, without those read from the prompt cache.
        output_tokens: tokens written.
    """

    requests: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class CallShare(Frozen):
    """What one call takes of the limits.

    Args:
        ticket: names the call among those of its task; the same until it is announced.
        input_tokens: that it may read.
        output_tokens: that it may write.
        learned: kinds whose limit was learned, for people.
    """

    ticket: str
    input_tokens: int
    output_tokens: int
    learned: tuple[str, ...] = ()


class LearnedLimits(Frozen):
    """What a provider says that it allows a key within a minute, by the headers of its answers; None: it does not say.

    Args:
        requests: calls.
        tokens: tokens read and written together.
        input_tokens: tokens read.
        output_tokens: tokens written.
    """

    requests: int | None = None
    tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class ToldLimits(Frozen):
    """What a provider's headers tell with one answer. All of it by kind: requests, tokens, input_tokens, output_tokens.

    Args:
        limits: what it allows.
        left: how much of that was left when it answered.
        reset_s: in how many seconds from then on all of it is there again.
    """

    limits: LearnedLimits = LearnedLimits()
    left: dict[str, int] = Field(default_factory=dict)
    reset_s: dict[str, float] = Field(default_factory=dict)


class HeardLimits(Frozen):
    """What an answer says of limits that workers learn.

    Args:
        limits: what is allowed within a minute.
        near: kinds of which so little was left that all workers are to keep the limit from now on.
        used: of each kind, how much counts in a window of ours, by the provider's count.
        till_ms: of each kind, for how many milliseconds from now on that counts.
    """

    limits: dict[str, int] = Field(default_factory=dict)
    near: tuple[str, ...] = ()
    used: dict[str, int] = Field(default_factory=dict)
    till_ms: dict[str, int] = Field(default_factory=dict)


class GateView(Frozen):
    """What limits calls of one family of models with one key now.

    Args:
        family: of models, as `claude-sonnet`.
        key_pool: names the key; those of one name share their limits.
        window_s: length of the window of `limits` and `used`, in seconds; 0 where workers keep none.
        limits: what may be used within it, as workers have it from `model_limits` and from what was learned.
        used: what counts in it now.
        open_calls: calls under way that have a share of it.
        learned: what the provider says that it allows within a minute.
        learned_at_ms: when it said so; 0 for never.
        kept_until_ms: until when workers keep what was learned, as those of `limits` that `model_limits` does not set
            (server time); 0 where they keep nothing of it, since enough is left.
        cooling_why: why nobody calls now: rate_limited, overloaded or exhausted; empty where calls are taken.
        cooling_until_ms: until when (server time).
        is_probed: whether that time is over, and one call finds out whether calls are taken again.
        waiting: tasks that wait for it, by priority, 0 (critical) to 4 (low).
    """

    family: str
    key_pool: str
    window_s: float = 0.0
    limits: ModelLimits = ModelLimits()
    used: dict[str, int] = Field(default_factory=dict)
    open_calls: int = 0
    learned: LearnedLimits = LearnedLimits()
    learned_at_ms: int = 0
    kept_until_ms: int = 0
    cooling_why: str = ""
    cooling_until_ms: int = 0
    is_probed: bool = False
    waiting: dict[int, int] = Field(default_factory=dict)

"""Whether a model takes a call now: what all workers of a key know of it together."""

from __future__ import annotations

from enum import StrEnum

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
    """As many calls as `model_limits` allows."""
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
    """

    ticket: str
    input_tokens: int
    output_tokens: int

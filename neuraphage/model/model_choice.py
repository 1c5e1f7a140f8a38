"""Which model a task calls, and which ones in its place."""

from __future__ import annotations

from pydantic import Field

from neuraphage.model.base import Frozen

MAX_FALLBACKS = 20
ID_MAX_CHARS = 200
REASON_MAX_CHARS = 1_000


class ModelChoice(Frozen):
    """The models of a task, as ids; a tier is resolved before it is stored.

    Args:
        model: called now.
        fallbacks: called in its place, one after the other, when it is refused or stays overloaded.
        tier: name of the tier that they were resolved from; None where an id was given.
        since_turn: the iteration from which on they hold; failures before it are those of others.
    """

    model: str = Field(min_length=1, max_length=ID_MAX_CHARS)
    fallbacks: tuple[str, ...] = Field(default=(), max_length=MAX_FALLBACKS)
    tier: str | None = None
    since_turn: int = Field(default=0, ge=0)

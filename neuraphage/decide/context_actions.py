"""What a turn does about the length of its next request: a part of the actions of a turn."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.compaction import Compaction


@dataclass(frozen=True, slots=True)
class Compact:
    """Have the conversation sent in a shorter form from now on; for a summary announce a call of the model and make it.

    Args:
        plan: the form, without a summary.
        may_be_billed: an earlier call for the same summary may be billed, too; it is counted.
        model: who is asked for a summary; empty where none is made.
        why_own: why that is the task's own model and no cheaper one; empty where there is nothing to tell.
        tokens: estimate of the request for it.
    """

    plan: Compaction
    may_be_billed: bool = False
    model: str = ""
    why_own: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Ask the provider how long the next request would be."""

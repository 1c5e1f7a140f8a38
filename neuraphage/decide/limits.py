"""Limits checked before each model call (K9). Zero means stop, never unlimited."""

from __future__ import annotations

from neuraphage.model.task import Limits
from neuraphage.model.usage import Counters


def limit_reached(limits: Limits, counters: Counters) -> str | None:
    """One sentence about the limit that forbids another call, or None."""
    if counters.iteration >= limits.max_turns:
        return f"The task has used its {limits.max_turns} turns. Raise the limit to go on."
    if counters.cost_microusd >= limits.max_cost_microusd:
        spent, limit = counters.cost_microusd / 1e6, limits.max_cost_microusd / 1e6
        return f"The task has spent ${spent:.4f} of its ${limit:.2f}. Raise the limit to go on."
    return None

"""Actions about whether a model takes calls now; part of the union of actions.py."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.decide.context_actions import Compact
from neuraphage.model.capacity import CapacityReason


@dataclass(frozen=True, slots=True)
class AskCapacity:
    """Ask whether the model takes a call now, by what all workers of its key know of it.

    Args:
        summary: the call is one for this summary; None for the turn's reply.
    """

    summary: Compact | None = None


@dataclass(frozen=True, slots=True)
class WaitForCapacity:
    """Give the lease back until the model may be called; no process waits, and no attempt is counted.

    Args:
        due_ms: when to ask again; server time, milliseconds. It may be woken before.
        why: what it waits for.
        until_ms: the time that the provider asked everybody to wait for; 0 for none.
        summary: as of AskCapacity.
    """

    due_ms: int
    why: CapacityReason
    until_ms: int = 0
    summary: Compact | None = None

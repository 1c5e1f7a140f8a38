"""What a turn does when the money for a call is not there now; part of the union of actions.py."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.money import Shortage


@dataclass(frozen=True, slots=True)
class WaitForMoney:
    """Give the lease back since a pool has no room for the next call of the model; no process waits.

    One that is used up pauses the task, unless somebody has raised it meanwhile; else it is asked again at `due_ms`.
    """

    shortage: Shortage
    due_ms: int

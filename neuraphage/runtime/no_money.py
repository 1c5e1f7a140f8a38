"""A commit that was refused because of money, or of turns."""

from __future__ import annotations

from neuraphage.model.limits import TurnsUsedUp
from neuraphage.model.money import Shortage


class NoMoney(Exception):
    """A pool has no room for the call that was to be announced: a fact of the next decision, and no fault.

    Args:
        shortage: the pool.
    """

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(shortage.pool)
        self.shortage = shortage


class NoTurns(Exception):
    """The turn that was to be announced is one too many for a tree: a fact of the next decision, and no fault.

    Args:
        used_up: whose limit it is.
    """

    def __init__(self, used_up: TurnsUsedUp) -> None:
        super().__init__(used_up.task_id)
        self.used_up = used_up

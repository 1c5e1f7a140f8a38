"""A commit that was refused because of money."""

from __future__ import annotations

from neuraphage.model.money import Shortage


class NoMoney(Exception):
    """A pool has no room for the call that was to be announced: a fact of the next decision, and no fault.

    Args:
        shortage: the pool.
    """

    def __init__(self, shortage: Shortage) -> None:
        super().__init__(shortage.pool)
        self.shortage = shortage

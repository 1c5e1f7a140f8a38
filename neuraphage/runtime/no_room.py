"""A suspend that was refused because of the children that it makes."""

from __future__ import annotations


class NoRoom(Exception):
    """The task has made others since this turn counted them: a fact of the next decision, and no fault.

    Args:
        made: children that it has made by now.
    """

    def __init__(self, made: int) -> None:
        super().__init__(f"{made} children")
        self.made = made

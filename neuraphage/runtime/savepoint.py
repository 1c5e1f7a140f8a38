"""What a turn has noted, to go back to."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraphage.runtime.unit_of_work import UnitOfWork

NOTED = ("_pending", "entries", "inbox", "journal", "marker", "prompts", "grants", "record")
"""All of the working copy that notes change."""


def savepoint(work: UnitOfWork) -> Callable[[], None]:
    """Remember what is noted. What is returned takes back all that was noted since."""
    kept = {name: copy(getattr(work, name)) for name in NOTED}
    return lambda: vars(work).update(kept)

"""What a turn has noted, to go back to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraphage.runtime.unit_of_work import UnitOfWork

GROWING = ("_pending", "entries", "inbox", "journal", "prompts", "grants")
"""What notes change in place."""
REPLACED = ("marker", "record")
"""Values in whose place notes put others."""


def savepoint(work: UnitOfWork) -> Callable[[], None]:
    """Remember what is noted. What is returned takes back all that was noted since."""
    noted = vars(work)
    kept = {name: noted[name].copy() for name in GROWING} | {name: noted[name] for name in REPLACED}
    return lambda: noted.update(kept)

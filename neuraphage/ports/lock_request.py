"""What a commit asks for whose call needs locks."""

from __future__ import annotations

from dataclasses import dataclass

from neuraphage.model.effect import JournalEntry, Marker
from neuraphage.model.lock import LockNeed


@dataclass(frozen=True, slots=True)
class LockRequest:
    """What a call needs that a commit announces: with its last event, its journal entry and its marker.

    Where another task has any of it, these are left out, and the task waits.

    Args:
        call: key of the entry in the journal.
        needs: all that the call is to hold.
        before: the entry as it was before it was announced; None where there was none.
        marker: the marker before it.
    """

    call: str
    needs: tuple[LockNeed, ...]
    before: JournalEntry | None = None
    marker: Marker | None = None

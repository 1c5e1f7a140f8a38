"""One reader's place in the events of a whole namespace."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuraphage.decide.event_position import START, gap_after, names_event, number
from neuraphage.model.event import Event
from neuraphage.model.event_stream import EventGap, EventPage, GapKind

if TYPE_CHECKING:
    from neuraphage.ports import ReadStore

REMEMBERED = 1_000
"""Events that a reader knows to have seen, for the case that the server has lost some of them."""


@dataclass(frozen=True, slots=True)
class FoundEvents:
    """What one look found.

    Args:
        items: new events, and gaps where some may be missing, in order.
        is_end: whether there was nothing more to be read.
    """

    items: tuple[Event | EventGap, ...]
    is_end: bool


class FollowingAll:
    """Looks for new events again and again. A look that fails may be repeated: it skips nothing.

    It holds one page of events and the ids of the last ones that it gave, however far behind it is.

    Args:
        reads: of the namespace.
        after: a position (`decide.event_position.position`); None for the end of the stream.
        kinds: of events; empty for all.
        tasks: full ids; empty for all.
    """

    def __init__(self, reads: ReadStore, after: str | None, kinds: frozenset[str], tasks: frozenset[str]) -> None:
        self._reads = reads
        self._after = after
        self._is_event = after is not None and names_event(after)
        self._kinds = kinds
        self._tasks = tasks
        self._told = ""
        self._given: deque[tuple[str, str, str]] = deque(maxlen=REMEMBERED)
        self._again: frozenset[tuple[str, str, str]] = frozenset()

    def look(self) -> FoundEvents:
        """What is new.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        page = self._page()
        if self._after is None:
            self._after, self._is_event = page.after or START, page.ends.is_there
            return FoundEvents((), is_end=True)
        before = self._after
        why = gap_after(before, is_event=self._is_event, told=self._told, ends=page.ends)
        if why is GapKind.LOST:
            # what came of the events behind the last common one is not known, and new ones may have lower ids
            self._again, self._is_event = frozenset(self._given), False
            self._after = self._given[0][0] if self._given else min(before, page.ends.last or START, key=number)
            page = self._page()
        self._told = page.ends.first if why else self._told
        fresh = [event for event in page.events if _named(event) not in self._again]
        is_end = page.after == self._after
        if not is_end:
            self._after, self._is_event = page.after, True
        else:
            self._again = frozenset()
        self._given += map(_named, fresh)
        until = fresh[0].event_id or "" if fresh else page.ends.first if why is GapKind.TRIMMED else ""
        gaps = [] if why is None else [EventGap(why=why, after=before, until=until)]
        return FoundEvents((*gaps, *fresh), is_end)

    def wait(self, limit_ms: int) -> Sequence[Event]:
        """Wait until there may be more; the events themselves are for the next look."""
        self._reads.wait_for_events(self._after or START, limit_ms)
        return ()

    def _page(self) -> EventPage:
        return self._reads.all_events(self._after, self._kinds, self._tasks)


def _named(event: Event) -> tuple[str, str, str]:
    return event.event_id or "", event.kind, event.task_id or ""

"""Events of a whole namespace, as they are read, and where some of them are missing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neuraphage.model.base import Frozen
from neuraphage.model.event import Event


class GapKind(StrEnum):
    """Why events may be missing."""

    TRIMMED = "trimmed"
    """They are older than the stream reaches back (`namespace_events_max`)."""
    LOST = "lost"
    """The server does not know the event that was read last: it was put back, or replaced by one that lacked it."""


class EventGap(Frozen):
    """Told in place of events that may be missing.

    Args:
        why: a GapKind.
        after: id of the last event before them.
        until: id of the first event that is there again; empty where there is none yet.
    """

    why: GapKind
    after: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class StreamEnds:
    """What the stream of a namespace has, beside what was read of it.

    Args:
        first: id of the oldest event that is kept; empty for none.
        last: id of the newest event that there ever was; empty for none.
        is_short: whether it has lost events that it had; None where the server does not tell (before Redis 7).
        is_there: whether the event is kept after which was read.
    """

    first: str
    last: str
    is_short: bool | None
    is_there: bool


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events of a namespace, read at one instant.

    Args:
        events: those that were asked for, in their order.
        after: id of the last one that was looked at: to be read on from.
        ends: of the stream at that instant.
    """

    events: tuple[Event, ...]
    after: str
    ends: StreamEnds

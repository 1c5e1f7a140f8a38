"""Where a reader of events stands: from when on, which kinds, and whether any are missing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime

from neuraphage.errors import BadInput
from neuraphage.model.event import EventGroup, EventKind
from neuraphage.model.event_stream import GapKind, StreamEnds

START = "0"
"""What stands before the first event."""
_ID = re.compile(r"\d{1,20}(-\d{1,20})?")
_AGO = re.compile(r"(\d{1,9})([smhdw])")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_LAST_OF_A_MS = 2**64 - 1


def position(since: str, now_ms: int) -> str:
    """The event id after which all comes that is wanted.

    Args:
        since: an event id; how long ago (90s, 15m, 2h, 3d, 1w); a day or a time (2026-04-05, 2026-04-05T17:04, UTC
            where it names no zone).
        now_ms: the time.

    Raises:
        BadInput: it is none of these.
    """
    since = since.strip()
    if _ID.fullmatch(since) and max(number(since)) <= _LAST_OF_A_MS:
        return since
    ago = _AGO.fullmatch(since)
    if ago is not None:
        return _just_before(now_ms - int(ago[1]) * _UNIT_MS[ago[2]])
    try:
        found = datetime.fromisoformat(since if _DAY.match(since) else "")
    except ValueError:
        raise BadInput(
            f"since {since[:40]!r}: give an event id as `neuraphage events` shows it (0 for the start), how long ago"
            " (90s, 15m, 2h, 3d, 1w), or a time (2026-04-05T17:04, UTC)"
        ) from None
    return _just_before(int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000))


def names_event(since: str) -> bool:
    """Whether a position is the id of one event, which was there once; else it is a time, or the start."""
    return "-" in since and not since.endswith(f"-{_LAST_OF_A_MS}") and number(since) > (0, 0)


def kinds_of(names: Iterable[str]) -> frozenset[str]:
    """Kinds of events by their names, or those of their groups; none for all.

    Raises:
        BadInput: a name is neither.
    """
    found: set[str] = set()
    for name in names:
        wanted = name.strip().lower()
        kinds = {kind.value for kind in EventKind if wanted in (kind.value.lower(), kind.group.value)}
        if not kinds:
            groups = ", ".join(group.value for group in EventGroup)
            raise BadInput(
                f"{name[:60]!r} is no kind of event; give an event of docs/events.md, as TaskFailed, or one of the"
                f" groups {groups}"
            )
        found |= kinds
    return frozenset(found)


def number(event_id: str) -> tuple[int, int]:
    """An event id as it is ordered; a missing one comes before all."""
    ms, _, place = event_id.partition("-")
    return int(ms or 0), int(place or 0)


def gap_after(after: str, *, is_event: bool, told: str, ends: StreamEnds) -> GapKind | None:
    """Whether events behind a position may be missing, and why.

    Args:
        after: the position.
        is_event: whether it is one event's id.
        told: up to which id a gap was told of before; empty for none.
        ends: of the stream.
    """
    if number(after) == (0, 0):
        return None  # whatever there still is
    if is_event and ends.is_there:
        return None
    if ends.is_short is not False and number(ends.first) > max(number(after), number(told)):
        return GapKind.TRIMMED
    return GapKind.LOST if is_event else None


def _just_before(at_ms: int) -> str:
    return f"{max(0, at_ms - 1)}-{_LAST_OF_A_MS}"

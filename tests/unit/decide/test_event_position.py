"""Where a reader of events stands."""

from __future__ import annotations

import pytest

from neuraphage.decide.event_position import gap_after, kinds_of, names_event, position
from neuraphage.errors import BadInput
from neuraphage.model.event import EventGroup, EventKind
from neuraphage.model.event_stream import GapKind, StreamEnds

LAST = 2**64 - 1
DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("since", "after"),
    [
        ("0", "0"),
        ("1700000000000-3", "1700000000000-3"),
        (" 1700000000000 ", "1700000000000"),
        ("1d", f"{9 * DAY_MS - 1}-{LAST}"),
        ("90s", f"{10 * DAY_MS - 90_001}-{LAST}"),
        ("9999w", f"0-{LAST}"),
        ("1970-01-03", f"{2 * DAY_MS - 1}-{LAST}"),
        ("1970-01-03T01:00", f"{2 * DAY_MS + 3_599_999}-{LAST}"),
        ("1970-01-03T01:00+01:00", f"{2 * DAY_MS - 1}-{LAST}"),
    ],
)
def test_positions(since: str, after: str) -> None:
    """Ids as they are; of a time, what comes at it or later."""
    assert position(since, 10 * DAY_MS) == after


@pytest.mark.parametrize("since", ["", "never", "1-2-3", "-5m", "5 m", "5y", "2026-13-01", "1" * 40, f"{2**64}-0"])
def test_what_is_no_position(since: str) -> None:
    """It is said what can be given."""
    with pytest.raises(BadInput, match="give an event id"):
        position(since, 0)


def test_which_positions_are_events() -> None:
    """A time, the start and a bare number are none."""
    assert names_event("1700000000000-0")
    assert not any(map(names_event, ["0", "0-0", "1700000000000", position("1h", 10**13)]))


def test_kinds_by_name_and_by_group() -> None:
    """In any case of letters; nothing means all."""
    assert kinds_of([]) == frozenset()
    assert kinds_of(["taskFailed", " Drift "]) == {"TaskFailed"} | {
        kind.value for kind in EventKind if kind.group is EventGroup.DRIFT
    }
    with pytest.raises(BadInput, match="cross-task"):
        kinds_of(["TaskFailed", "task"])


def ends(first: str = "5-0", last: str = "9-0", *, is_short: bool | None = True, is_there: bool = False) -> StreamEnds:
    return StreamEnds(first, last, is_short, is_there)


@pytest.mark.parametrize(
    ("after", "is_event", "told", "stream", "why"),
    [
        ("0", False, "", ends(), None),
        ("6-0", True, "", ends(is_there=True), None),
        ("3-0", True, "", ends(), GapKind.TRIMMED),
        ("3-0", True, "", ends(is_short=None), GapKind.TRIMMED),
        ("3-0", True, "", ends(is_short=False), GapKind.LOST),
        ("3-0", False, "", ends(is_short=False), None),
        ("3-0", False, "", ends(), GapKind.TRIMMED),
        ("3-0", False, "", ends(is_short=None), GapKind.TRIMMED),
        ("3-0", False, "5-0", ends(), None),
        ("3-0", False, "4-0", ends(), GapKind.TRIMMED),
        ("6-0", True, "", ends(), GapKind.LOST),
        ("99-0", True, "", ends(), GapKind.LOST),
        ("99-0", False, "", ends(), None),
        ("3-0", True, "", ends("", ""), GapKind.LOST),
        ("3-0", False, "", ends("", ""), None),
    ],
)
def test_gaps(after: str, is_event: bool, told: str, stream: StreamEnds, why: GapKind | None) -> None:
    """An event that is there has all behind it; one that is gone was trimmed, or is not known to this server."""
    assert gap_after(after, is_event=is_event, told=told, ends=stream) is why

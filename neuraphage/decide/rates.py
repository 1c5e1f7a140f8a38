"""How many calls of a kind a task begins within a minute: counted from what is stored, so each worker counts the same.

A call counts from its begin, which its stored result names; what was never begun (denied, refused) does not. Calls of a
task run one after the other, so each of them has its result when the next one is decided about.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuraphage.model.tool_traits import RatedKind

MINUTE_MS = 60_000


def begins_at_ms(entries: Sequence[Mapping[str, Any]], kind: RatedKind, most: int, now_ms: int) -> int:
    """When one more call may begin, in server time; not after now where it may at once.

    Args:
        entries: the conversation as stored, what was superseded included: it was done.
        kind: of the call.
        most: that may begin within a minute.
        now_ms: server time. Begins that are further ahead than a minute are of a clock that was set back since.
    """
    recent = _recent(entries, kind, now_ms)
    if len(recent) < most:
        return now_ms
    return min(sorted(recent)[-most], now_ms) + MINUTE_MS


def begun_within_a_minute(entries: Sequence[Mapping[str, Any]], kind: RatedKind, now_ms: int) -> int:
    """How many calls of a kind were begun within the last minute; the arguments are those of `begins_at_ms`."""
    return len(_recent(entries, kind, now_ms))


def _recent(entries: Sequence[Mapping[str, Any]], kind: RatedKind, now_ms: int) -> list[int]:
    recent: list[int] = []
    for began_ms in _begins(entries, kind):
        if began_ms <= now_ms - MINUTE_MS:
            break
        if began_ms < now_ms + MINUTE_MS:
            recent.append(began_ms)
    return recent


def _begins(entries: Sequence[Mapping[str, Any]], kind: RatedKind) -> Iterator[int]:
    """Begins of calls of a kind, the last one first."""
    for entry in reversed(entries):
        began = entry.get("began")
        if began and began[0] == kind:
            yield began[1]

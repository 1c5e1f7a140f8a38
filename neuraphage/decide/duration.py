"""Durations and times for people."""

from __future__ import annotations

from datetime import UTC, datetime

_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def duration(length_ms: int) -> str:
    """A length of time in its largest unit and the next one: 8 s, 1.4 s, 3 min 20 s, 2 d 1 h.

    Args:
        length_ms: milliseconds; a negative one counts as none.
    """
    length_ms = max(0, length_ms)
    if length_ms < 10_000:
        return f"{length_ms / 1000:.1f}".removesuffix(".0") + " s"
    for place, (size, name) in enumerate(_UNITS):
        if length_ms >= size:
            whole, rest = divmod(length_ms, size)
            if place + 1 == len(_UNITS):
                return f"{whole} {name}"
            smaller, smaller_name = _UNITS[place + 1]
            return f"{whole} {name}" + (f" {rest // smaller} {smaller_name}" if rest >= smaller else "")
    return "0 s"


def clock_time(at_ms: int) -> str:
    """A server time to the second: 17:04:09 UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S UTC")

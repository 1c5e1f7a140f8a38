"""When a task is to begin: from what a person gives to server milliseconds. The only part that asks for this zone."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from neuraphage.errors import BadInput

LOCALTIME = "/etc/localtime"


def start_ms(at: datetime | None) -> int | None:
    """The time as milliseconds since 1970; None for none.

    Args:
        at: a time of its own zone; without one, of this machine's. One that the clocks show twice is the first of both.

    Raises:
        BadInput: the clocks of this machine's zone never show it, since they leap over it.
    """
    if at is None:
        return None
    try:
        shown = at.astimezone()
        if at.tzinfo is None and shown.replace(tzinfo=None) != at.replace(fold=0):
            raise BadInput(
                f"the clocks here never show {at:%Y-%m-%d %H:%M}: they leap over it that day; give another time, or one"
                " with an offset, as 2026-12-24T09:00+01:00"
            )
        return max(0, round(at.timestamp() * 1000))
    except (OverflowError, OSError, ValueError) as error:
        raise BadInput(f"{at} is no time that a task can begin at: {error}") from None


def read_start(text: str) -> datetime:
    """A time as a person writes it: `2026-12-24T09:00`, with seconds and an offset if wanted.

    Raises:
        BadInput: it is none.
    """
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadInput(
            f"{text!r} is no time; write 2026-12-24T09:00 (of this machine's zone), or with an offset:"
            " 2026-12-24T09:00+01:00 or 2026-12-24T08:00Z"
        ) from None


def zone_here() -> str:
    """The name of this machine's zone: of `TZ`, else of what /etc/localtime leads to; UTC where neither has one."""
    named = os.environ.get("TZ", "").lstrip(":") or os.path.realpath(LOCALTIME)
    _, is_below, name = named.rpartition("zoneinfo/")
    return name if is_below or Path(named) != Path(os.path.realpath(LOCALTIME)) else "UTC"

"""Arguments that are times: when a task begins, and how long workers may have it."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Annotated

import typer

from neuraphage.api.start_time import read_start, start_ms
from neuraphage.decide.limits import running_ms
from neuraphage.errors import BadInput

RunningFor = Annotated[
    str | None,
    typer.Option(
        "--max-running-for", help="Limit of the time that workers have it, as 90s, 30m, 2h or 1d.", metavar="TIME"
    ),
]
_LENGTH = re.compile(r"(\d+)(s|m|h|d)")
_UNITS_S = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}


def running_for(text: str | None) -> float | None:
    """What --max-running-for was given, seconds; None when it was not.

    Raises:
        BadInput: it is no length of time, or longer than a year.
    """
    if text is None:
        return None
    found = _LENGTH.fullmatch(text.strip().lower())
    if found is None:
        raise BadInput(f"--max-running-for {text!r} is no time; write a whole number and a unit: 90s, 30m, 2h or 1d")
    seconds = int(found[1]) * _UNITS_S[found[2]]
    running_ms(seconds)
    return seconds


StartsAt = Annotated[
    str | None,
    typer.Option(
        "--at",
        help="When it begins, as 2026-12-24T09:00, in this machine's zone unless an offset follows; else at once.",
        metavar="TIME",
    ),
]


def start_of(text: str | None) -> datetime | None:
    """What --at was given; None when it was not.

    Raises:
        BadInput: it is no time, or one that the clocks never show.
    """
    try:
        at = None if text is None else read_start(text)
        start_ms(at)
    except BadInput as error:
        raise BadInput(f"--at {error}") from None
    return at

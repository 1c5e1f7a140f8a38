"""What a listing shows of a call: its first lines, and how much it leaves out. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from neuraphage.decide.seen_text import Line

LISTED_LINES = 200
LISTED_CHARS = 20_000
"""Of one call in a listing. Nobody may allow a call that was cut here without having seen all of it."""


@dataclass(frozen=True)
class Listing:
    """What a listing shows.

    Args:
        lines: text and style of each.
        left_out: what of the whole is missing, in words; empty when nothing is.
    """

    lines: list[Line]
    left_out: str = ""


def listed(lines: Sequence[Line]) -> Listing:
    """The first lines, within the limits of a listing."""
    shown: list[Line] = []
    room = LISTED_CHARS
    for number, (text, style) in enumerate(lines):
        if number >= LISTED_LINES or len(text) > room:
            rest = lines[number:]
            part = [(text[:room], style)] if number < LISTED_LINES and room else []
            missing = sum(len(line) for line, _ in rest) - sum(len(line) for line, _ in part)
            return Listing([*shown, *part], f"{len(rest)} more line{'s' * (len(rest) > 1)}, {missing:,} characters")
        shown.append((text, style))
        room -= len(text)
    return Listing(shown)

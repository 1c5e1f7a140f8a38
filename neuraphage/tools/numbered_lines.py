"""The lines that read_file shows: numbered, without secrets, as many as fit. Pure."""

from __future__ import annotations

import re
from itertools import accumulate, takewhile

from neuraphage.decide.shorten import shorten
from neuraphage.redaction.ends import GAP_CHARS, Redact

_NUMBER = re.compile(r" *(\d+)\t")


def numbered_lines(
    lines: list[str], offset: int, limit: int | None, room_chars: int, redact: Redact
) -> tuple[list[str], int]:
    """Number the lines and keep as many as fit, always one: a line too long by itself is shortened.

    A private key spans many lines, and nothing recognizes a part of one. So the lines around what is shown are looked
    at too. The lines of a key show as one, with the number of the first; all others keep their own.

    Args:
        lines: all of the file.
        offset: the first to show, from 1 on; there is such a line.
        limit: most lines to show; None for as many as fit.
        room_chars: most characters of the answer.
        redact: takes secrets out.

    Returns:
        The lines, and the number of the first one after them.
    """
    # without its keys the text is shorter, so more of it than there is room for may fit
    stop = offset - 1 + _count_within(lines[offset - 1 :], room_chars + GAP_CHARS) + 1
    if limit is not None:
        stop = min(stop, offset - 1 + limit)
    first = offset - 1 - _count_within(lines[offset - 2 :: -1] if offset > 1 else [], GAP_CHARS) - 1
    end = stop + _count_within(lines[stop:], GAP_CHARS) + 1
    rows = _redacted_rows(lines, max(0, first), min(end, len(lines)), redact)
    at = max(index for index, (number, _) in enumerate(rows) if number <= offset)
    shown: list[str] = []
    room_chars = max(room_chars, 1)
    for number, row in rows[at:]:
        text = row if shown else shorten(row, room_chars)
        room_chars -= len(text) + 1
        if shown and (room_chars < 0 or number > stop):
            return shown, number
        shown.append(text)
    return shown, end + 1


def number_lines(lines: list[str], first: int) -> list[str]:
    """Rows of lines, the first of which has the number `first`."""
    return [f"{number:>6}\t{line}" for number, line in enumerate(lines, first)]


def _redacted_rows(lines: list[str], first: int, end: int, redact: Redact) -> list[tuple[int, str]]:
    """Number the lines from index `first` to `end`, redact them as one text, and tell the numbers that are left."""
    text = "\n".join(number_lines(lines[first:end], first + 1))
    rows: list[tuple[int, str]] = []
    for row in redact(text).split("\n"):
        found = _NUMBER.match(row)
        rows.append((int(found[1]) if found else (rows[-1][0] if rows else first) + 1, row))
    return rows


def _count_within(lines: list[str], room_chars: int) -> int:
    """How many of these lines have room."""
    return sum(1 for _ in takewhile(lambda used: used <= room_chars, accumulate(len(line) + 1 for line in lines)))

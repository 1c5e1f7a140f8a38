"""A note on characters of a result that nobody sees: they stay in the text as they are, so that it can be copied. Pure.

Spelled out (`\\x1b`) they could not be told from a text that spells them out itself, as source code does, and an edit
of what was shown would not be found in the file.
"""

from __future__ import annotations

import re
import unicodedata

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u2028-\u202e\u2060\u2066-\u2069\ufeff]")
_NAMES = {0x07: "BELL", 0x08: "BACKSPACE", 0x0C: "FORM FEED", 0x0D: "CARRIAGE RETURN", 0x1B: "ESCAPE", 0x7F: "DELETE",
          0x85: "NEXT LINE", 0x9B: "CONTROL SEQUENCE"}  # fmt: skip
_MAX_KINDS = 3
_MAX_LINES = 4
NOTE_CHARS = 350
"""No note is longer."""


def unseen_note(lines: list[str], first: int | None = None) -> str | None:
    """Name the characters of some lines that cannot be seen, or that turn the direction of a text.

    Args:
        lines: as they are shown.
        first: number of the first line; None for lines whose numbers say nothing.

    Returns:
        One line in brackets; None when there are none.
    """
    where: dict[str, list[int]] = {}
    for number, line in enumerate(lines, first or 0):
        for character in set(_UNSEEN.findall(line)):
            where.setdefault(character, []).append(number)
    if not where:
        return None
    kinds = [_told(one, where[one] if first is not None else []) for one in sorted(where)[:_MAX_KINDS]]
    more = len(where) - len(kinds)
    kinds += [f"{more} more kinds"] * (more > 0)
    code = f"\\u{ord(min(where)):04x}"
    return (
        f"[characters that cannot be seen: {', '.join(kinds)}; they stand in the text as they are, and in the JSON of a"
        f" call they are written {code}]"
    )


def _told(character: str, numbers: list[int]) -> str:
    name = unicodedata.name(character, _NAMES.get(ord(character), ""))
    more = f" and {len(numbers) - _MAX_LINES} more" if len(numbers) > _MAX_LINES else ""
    lines = f" (line{'s' * (len(numbers) > 1)} {', '.join(map(str, numbers[:_MAX_LINES]))}{more})" if numbers else ""
    return f"U+{ord(character):04X} {name}".rstrip() + lines

"""All that a call will do, for a person who decides about it, and what a listing shows of it. Pure."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.cli.console import TAB
from neuraphage.cli.known_files import diff_of
from neuraphage.cli.traits import traits_of
from neuraphage.cli.viewer import Line
from neuraphage.model.tool_traits import PartOfFile, WholeFile

LISTED_LINES = 200
LISTED_CHARS = 20_000
"""Of one call in a listing. Nobody may allow a call that was cut here without having seen all of it."""
NO_FILE = "(the file does not exist yet)"
_DIM = "dim"
_UNSEEN_RANGES = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),
)
"""Characters that count as printable and leave nothing to be seen: fillers, blanks, joiners, variation selectors."""


@dataclass(frozen=True)
class Listing:
    """What a listing shows.

    Args:
        lines: text and style of each.
        left_out: what of the whole is missing, in words; empty when nothing is.
    """

    lines: list[Line]
    left_out: str = ""


def asked_lines(tool: str, params: Mapping[str, Any], before: str | None, *, is_absent: bool = False) -> list[Line]:
    """Everything that a call will do; every character of it can be seen.

    Args:
        tool: its name.
        params: of the call.
        before: for a change: content of the file before it, if known.
        is_absent: for a change: whether it is known that there is no such file.
    """
    traits = traits_of(tool)
    if traits.command is not None:
        first, *more = str(params.get(traits.command, "")).split("\n")
        lines, shown = [(f"$ {first}", ""), *((line, "") for line in more)], {traits.command}
    elif traits.change is not None:
        path = params.get(traits.change.path, "")
        lines = [(f"> {tool} {path}", ""), *_change(traits.change, params, before, is_absent=is_absent)]
        shown = set(traits.change.model_dump().values())
    else:
        text = json.dumps(dict(params), indent=2, ensure_ascii=False, default=str)
        lines, shown = [(f"> {tool}", ""), *((line, "") for line in (text.split("\n") if params else ()))], set(params)
    others = [
        (f"{name} = {json.dumps(value, ensure_ascii=False, default=str)}", _DIM)
        for name, value in params.items()
        if name not in shown
    ]
    return [(spelled(text), style) for text, style in [*lines, *others]]


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


def spelled(text: str) -> str:
    """Text in which no character is invisible or turns the direction of others: such a one stands as its number."""
    return "".join(character if _is_seen(character) else f"<U+{ord(character):04X}>" for character in text)


def _is_seen(character: str) -> bool:
    if character in "\n\t":
        return True
    number = ord(character)
    return character.isprintable() and not any(first <= number <= last for first, last in _UNSEEN_RANGES)


def _change(
    change: WholeFile | PartOfFile, params: Mapping[str, Any], before: str | None, *, is_absent: bool
) -> list[Line]:
    rows = diff_of(change, params, before)
    notes = ["(nothing changes)"] if not rows and not is_absent else []
    if isinstance(change, PartOfFile) and change.every is not None and params.get(change.every):
        notes.append("(in every place of the file where it stands)")
    if before is None:
        notes.append(NO_FILE if is_absent else "(the file as it is now is not known here)")
    if _looks_alike(rows):
        notes.append("(lines that look alike differ in blanks, tabs, or how a character is written)")
    return [*rows, *((note, _DIM) for note in notes)]


def _looks_alike(rows: Iterable[Line]) -> bool:
    """Whether a line is taken away and put there that a person cannot tell apart."""
    taken: dict[str, str] = {}
    put: dict[str, str] = {}
    for text, _ in rows:
        if text[:1] in ("-", "+"):
            seen = unicodedata.normalize("NFC", text[1:].replace("\t", TAB).rstrip())
            (taken if text[0] == "-" else put)[seen] = text[1:]
    return any(seen in put and put[seen] != line for seen, line in taken.items())

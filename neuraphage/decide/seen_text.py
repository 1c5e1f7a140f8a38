"""Text for a person who decides about it. Pure.

Nothing in it is invisible, turns the direction of others, passes for another character, or pushes what follows out of
sight. What stands for something else is a mark in angle brackets; where the text itself has what looks like one, its
first bracket is spelled out, so that no text can write a mark of ours:

    <U+202E>                    one character, by its number; <U+00A0 x240> as many of it
    <240 blanks>                also of tabs, of both, and of blank lines
    <../ x40>                   a path that goes so many times by the same names
    <rtl ...>                   a word that is written from right to left
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from enum import Enum, auto
from functools import lru_cache

from neuraphage.decide.lookalikes import number, without_lookalikes

BLANKS_KEPT = 32
"""A longer run of blanks and tabs is folded: one on a narrow terminal still shows what follows it."""
TABS_KEPT = 8
REPEATS_KEPT = 7
"""Of a path's part or of a spelled character: one more is folded."""
BLANK_LINES_KEPT = 4
STACKED_MARKS = 3
"""Signs above and below one letter; more of them would cover the lines around it."""
_LONGEST_CYCLE = 3
"""Names that a folded path may go round by, as in a/../a/../a/.."""

TAB = "    "
"""What a tab stands as on a surface."""
Line = tuple[str, str]
"""Text, and the name of its style (`dim`, `red`, `green`, `cyan`, or none)."""

_MARK_LIKE = re.compile(r"<(?=U\+|\d[\d,]* (?:blank|tab)|rtl )")
_FOLD_LIKE = re.compile(r"/ x\d")
"""Where a line has it, each bracket in it might begin what looks like a folded path."""
_BRACKET = re.compile("<")
_BLANKS = re.compile(rf"[ \t]{{{TABS_KEPT + 1},}}")
_SPELLED_RUN = re.compile(rf"<(U\+[0-9A-F]{{4,6}})>(?:<\1>){{{REPEATS_KEPT},}}")
_SPACES = re.compile(r"(\s+)")
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff]+")
_BLANK_LINE = re.compile(r"[+-]?[ \t]*")
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


def spelled(text: str) -> str:
    """Text with the marks of this module; its line breaks stay, and each line is one of its own."""
    return "\n".join(_spelled_line(line) for line in text.split("\n"))


def spelled_lines(lines: Iterable[Line]) -> list[Line]:
    """Lines as `spelled` writes them; a long run of blank ones is one that says how many they are.

    Args:
        lines: text and style of each; a line break in one is spelled.
    """
    shown: list[Line] = []
    run: list[Line] = []
    for text, style in lines:
        is_blank = _BLANK_LINE.fullmatch(text) is not None
        if run and (not is_blank or (text[:1], style) != (run[0][0][:1], run[0][1])):
            shown += _folded_run(run)
            run = []
        if is_blank:
            run.append((text, style))
        else:
            shown.append((_spelled_line(text), style))
    return [*shown, *_folded_run(run)]


def _folded_run(run: list[Line]) -> list[Line]:
    if len(run) <= BLANK_LINES_KEPT:
        return [(_spelled_line(text), style) for text, style in run]
    text, style = run[0]
    return [(f"{text[:1].strip()}<{len(run):,} blank lines>", style)]


def _spelled_line(line: str) -> str:
    begins = _BRACKET if _FOLD_LIKE.search(line) else _MARK_LIKE
    marked = begins.sub(lambda found: number(found[0]), line)
    if not (marked.isascii() and marked.isprintable()):
        marked = without_lookalikes(_seen(marked))
        marked = _SPELLED_RUN.sub(lambda found: f"<{found[1]} x{found[0].count('<'):,}>", marked)
        marked = _RTL.sub(lambda found: f"<rtl {found[0]}>", marked)
    folded = _BLANKS.sub(lambda found: _folded_blanks(found[0]), marked)
    if folded.count("/") <= REPEATS_KEPT:
        return folded
    return "".join(_folded_path(word) if word.count("/") > REPEATS_KEPT else word for word in _SPACES.split(folded))


def _folded_blanks(run: str) -> str:
    tabs = run.count("\t")
    if tabs <= TABS_KEPT and len(run) <= BLANKS_KEPT:
        return run
    what = "tabs" if tabs == len(run) else "blanks and tabs" if tabs else "blanks"
    return f"<{len(run):,} {what}>"


def _folded_path(path: str) -> str:
    """A path in which the same names that follow each other again and again stand once."""
    *parts, last = path.split("/")
    shown, at = [], 0
    while at < len(parts):
        cycle, times = max(((size, _times(parts, at, size)) for size in range(1, _LONGEST_CYCLE + 1)), key=_covered)
        if times > REPEATS_KEPT:
            shown.append(f"<{'/'.join(parts[at : at + cycle])}/ x{times:,}>")
            at += cycle * times
        else:
            shown.append(f"{parts[at]}/")
            at += 1
    return "".join(shown) + last


def _covered(run: tuple[int, int]) -> tuple[bool, int, int]:
    """What folds at all first, then what folds most, then the shortest."""
    size, times = run
    return times > REPEATS_KEPT, size * times, -size


def _times(parts: list[str], at: int, size: int) -> int:
    """How often the next names follow each other."""
    unit, times = parts[at : at + size], 1
    while parts[at + times * size : at + (times + 1) * size] == unit:
        times += 1
    return times


def _seen(text: str) -> str:
    """Every character that cannot be seen where it stands, by its number."""
    shown: list[str] = []
    base, marks = "", ""
    for character in text:
        kind = _kind(character)
        if kind is _Kind.SIGN:
            marks += character
            shown.append(character if _sits_on(base, marks) else number(character))
        elif kind is _Kind.SPACING_SIGN and base.isalpha():
            shown.append(character)
        else:
            base, marks = character, ""
            shown.append(number(character) if kind is _Kind.UNSEEN else character)
    return "".join(shown)


class _Kind(Enum):
    """What a character needs to be seen."""

    SEEN = auto()
    UNSEEN = auto()
    SIGN = auto()
    """A letter before it: it takes no room of its own."""
    SPACING_SIGN = auto()
    """It takes room of its own, and is a part of the letter before it."""


@lru_cache(maxsize=8_192)
def _kind(character: str) -> _Kind:
    code = ord(character)
    if character != "\t" and (
        not character.isprintable() or any(first <= code <= last for first, last in _UNSEEN_RANGES)
    ):
        return _Kind.UNSEEN
    category = unicodedata.category(character)
    if category in ("Mn", "Me"):
        return _Kind.SIGN
    return _Kind.SPACING_SIGN if category == "Mc" else _Kind.SEEN


def _sits_on(base: str, marks: str) -> bool:
    """Whether signs belong to the letter before them: one that is written with them, or of an alphabet that has them.

    On anything else they would strike it out, or cover what stands around it.
    """
    if not base.isalpha() or len(marks) > STACKED_MARKS:
        return False
    return not _is_european(base) or len(unicodedata.normalize("NFC", base + marks)) == 1


def _is_european(letter: str) -> bool:
    return letter < "\u0590" or "\u1e00" <= letter <= "\u1fff"

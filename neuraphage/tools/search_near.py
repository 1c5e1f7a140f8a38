"""A second look after a search that found nothing: what would fit but for Unicode form, look-alikes, space or case.

Standard library only, see search_child.py. It stops at the first line, or the first few names.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING or __package__:
    from neuraphage.tools.near import CASE, FORM, LOOKS, SPACES, named_characters, plain_looks
else:
    from near import CASE, FORM, LOOKS, SPACES, named_characters, plain_looks  # by search_child.py, run by path

MAX_NAMES = 3
_SPACE = re.compile(r"[^\S\n]+")


class Level(NamedTuple):
    """One way to be nearly the same: what is named, and which differences it passes over."""

    what: str
    looks: bool
    spaces: bool
    case: bool


LEVELS = [
    Level(FORM, looks=False, spaces=False, case=False),
    Level(LOOKS, looks=True, spaces=False, case=False),
    Level(SPACES, looks=False, spaces=True, case=False),
    Level(CASE, looks=False, spaces=False, case=True),
    Level(f"{SPACES} and {LOOKS}", looks=True, spaces=True, case=False),
    Level(f"{CASE}, {SPACES} and {LOOKS}", looks=True, spaces=True, case=True),
]
"""The narrowest first; the last one passes over all that any other does."""


def plain(text: str, level: Level) -> str:
    """A text without the differences of a level, but for that of case."""
    if not text.isascii():
        text = plain_looks(text) if level.looks else unicodedata.normalize("NFC", text)
    return _SPACE.sub(" ", text) if level.spaces else text


def plain_pattern(pattern: str, level: Level, escape: Callable[[str], str]) -> str:
    """The same for a pattern, whose own signs stay what they are.

    Args:
        pattern: a regular expression, or a glob.
        level: what is passed over.
        escape: makes a text one that stands for itself.
    """
    pattern = unicodedata.normalize("NFC", pattern)
    if level.looks:
        pattern = "".join(one if (new := plain_looks(one)) == one else escape(new) for one in pattern)
    if level.spaces:
        pattern = re.sub(r"(?<!\\)((?:\\\\)*)\\t", r"\1 ", _SPACE.sub(" ", pattern))
    return pattern


class NearLine:
    """Looks for a line that a regular expression nearly fits."""

    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern = pattern
        self.flags = flags
        self.levels = [(level, self._regex(level)) for level in LEVELS]

    def _regex(self, level: Level) -> re.Pattern[str]:
        return re.compile(
            plain_pattern(self.pattern, level, re.escape), self.flags | (re.IGNORECASE if level.case else 0)
        )

    def found_in(self, text: str) -> tuple[int, str, str] | None:
        """Number of the first such line, what makes the difference, and a pattern that fits it (or nothing)."""
        lines = text.split("\n")
        loosest = LEVELS[-1]
        for at, line in enumerate(plain(text, loosest).split("\n")):
            if _fits(self.levels[-1][1], line, loosest):
                for level, regex in self.levels:
                    if _fits(regex, plain(lines[at], level), level):
                        return at + 1, self._what(level, lines[at]), self._spelling(lines[at])
        return None

    def _what(self, level: Level, line: str) -> str:
        odd = {one for one in line if plain_looks(one) != one} if level.looks else set()
        return f"{level.what}: the line has {named_characters(odd)}" if odd else level.what

    def _spelling(self, line: str) -> str:
        """The pattern in the line's own Unicode form or with any white space; empty if that is not all."""
        for changed in (
            unicodedata.normalize("NFC", self.pattern),
            unicodedata.normalize("NFD", self.pattern),
            re.sub(r"[ \t]+|(?<!\\)\\t", r"\\s+", self.pattern),
        ):
            try:
                if re.search(changed, line, self.flags):
                    return re.sub(r"[^\x00-\x7f]", lambda one: _escaped(one[0]), changed)
            except re.error:
                continue
        return ""


def _fits(regex: re.Pattern[str], line: str, level: Level) -> bool:
    if regex.search(line):
        return True
    return level.spaces and any(regex.search(one) for one in (line.rstrip(), line.strip()))


def _escaped(character: str) -> str:
    return f"\\U{ord(character):08x}" if ord(character) > 0xFFFF else f"\\u{ord(character):04x}"


class NearNames:
    """Looks for paths that a glob nearly fits."""

    def __init__(self, pattern: str, glob_regex: Callable[[str], str]) -> None:
        self.regexes = []
        for level in LEVELS:
            changed = plain_pattern(pattern, level, lambda text: re.sub(r"([*?\[\]{},\\])", r"\\\1", text))
            flags = re.DOTALL | (re.IGNORECASE if level.case else 0)
            self.regexes.append((level, re.compile(glob_regex(changed), flags)))
        self.found: list[tuple[str, str]] = []

    def add(self, path: str, shown: str) -> bool:
        """Look at one path; whether there are enough."""
        if self.regexes[-1][1].fullmatch(plain(path, LEVELS[-1])):
            what = next(level.what for level, regex in self.regexes if regex.fullmatch(plain(path, level)))
            self.found.append((shown, what))
        return len(self.found) == MAX_NAMES

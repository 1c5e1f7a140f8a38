"""What a shape of a secret is, tight enough to leave ordinary code alone; `tokens` and `contexts` have them.

Rules that keep redaction linear and idempotent (a second pass changes nothing):

- A pattern is tried only where one of its needles stands, so a text without needles costs a few searches.
- Runs of word characters are taken whole: a match begins and ends where a word does. Cutting a match out
  therefore never gives another pattern a boundary that was not there before.
- A run is never scanned again from within: its pattern takes all of it, or looks at a bounded part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from re import Match

MIN_VALUE_CHARS = 8
MIN_MATCH_CHARS = 6
"""Shortest match of all: the password of `://:x@`."""
PATTERN_WORDS_MAX = 6
"""Most words a match of one shape touches (`machine <name> login <name> password <value>`): none has more gaps."""


def anything(_: Match[str]) -> bool:
    """Accept every match."""
    return True


class Regex:
    """A regular expression that is compiled at its first use: a command that redacts nothing does not wait for it.

    Args:
        pattern: as for re.compile.
        flags: as for re.compile.
    """

    __slots__ = ("_compiled", "_flags", "_pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._pattern = pattern
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def _ready(self) -> re.Pattern[str]:
        if self._compiled is None:
            self._compiled = re.compile(self._pattern, self._flags)
        return self._compiled

    @property
    def groupindex(self) -> Mapping[str, int]:
        """See re.Pattern."""
        return self._ready().groupindex

    def match(self, text: str, at: int = 0) -> Match[str] | None:
        """See re.Pattern."""
        return self._ready().match(text, at)

    def finditer(self, text: str) -> Iterator[Match[str]]:
        """See re.Pattern."""
        return self._ready().finditer(text)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One shape of secret.

    Args:
        kind: what the replacement names, lower case letters and underscores.
        needles: lower case texts; a match begins exactly at one of them (in any case).
        is_searched: a match only holds a needle somewhere, and the whole text is searched.
        regex: tried at each needle. Its group `value` is replaced, or the whole match without such a group.
        accept: a last look at the match.
        reach: only of a pattern whose matches may hold characters outside ASCII. Tried at each needle too, it covers
            every match, and of a text that still grows all that may become one.
    """

    kind: str
    needles: tuple[str, ...]
    regex: re.Pattern[str] | Regex
    accept: Callable[[Match[str]], bool] = anything
    reach: re.Pattern[str] | Regex | None = None
    is_searched: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z_]{1,40}", self.kind):
            raise ValueError(f"kind of a pattern: got {self.kind!r}, want 1 to 40 of a-z and _")
        if not self.needles or any(needle != needle.lower() or not needle for needle in self.needles):
            raise ValueError(f"needles of pattern {self.kind}: got {self.needles!r}, want lower case texts")


def looks_random(value: str) -> bool:
    """Tell whether a value looks made by a generator or for a password, not like a word or a name.

    Three kinds of character (lower, upper, digit, other) are enough; so are letters and digits that alternate
    twice or hold three digits. `_`, `-` and `.` join words and count for nothing.
    """
    if len(value) < MIN_VALUE_CHARS or "://" in value or value.startswith(("/", "./", "../", "~/", "$", "%")):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    has_other = any(not c.isalnum() and c not in "_-." for c in value)
    kinds = sum((any(c.islower() for c in value), any(c.isupper() for c in value), has_digit, has_other))
    if kinds >= 3:
        return True
    return has_digit and has_letter and (turns(value) >= 2 or sum(c.isdigit() for c in value) >= 3)


def random_value(match: Match[str]) -> bool:
    """Accept a match of which the value looks random."""
    return looks_random(match["value"])


def is_made(value: str) -> bool:
    """Tell a value with letters and something beside them from a word and from a number.

    Weaker than `looks_random`, for places where hardly anything but a password stands.
    """
    return any(not c.isalpha() and c not in "_-.,)" for c in value) and any(c.isalpha() for c in value)


def turns(value: str) -> int:
    """How often a letter follows a digit or a digit a letter."""
    return sum((a.isdigit() and b.isalpha()) or (a.isalpha() and b.isdigit()) for a, b in pairwise(value))

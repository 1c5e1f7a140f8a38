"""The shapes of secrets that are known by how they look, tight enough to leave ordinary code alone.

Rules that keep redaction linear and idempotent (a second pass changes nothing):

- A pattern is tried only where one of its needles stands, so a text without needles costs a few searches.
- Runs of word characters are taken whole: a match begins and ends where a word does. Cutting a match out
  therefore never gives another pattern a boundary that was not there before.
- A run is never scanned again from within: its pattern looks behind for the run's own characters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from re import Match

MIN_VALUE_CHARS = 8
MIN_MATCH_CHARS = 6
"""Shortest match of all: the password of `://:x@`."""
PATTERN_WORDS_MAX = 4
"""Most words a match of one shape touches (`Authorization : Bearer <value>`): none has more than three gaps."""


def _any(_: Match[str]) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Pattern:
    """One shape of secret.

    Args:
        kind: what the replacement names, lower case letters and underscores.
        needles: lower case texts; a match begins exactly at one of them (in any case).
        regex: tried at each needle. Its group `value` is replaced, or the whole match without such a group.
        accept: a last look at the match.
        reach: only of a pattern whose matches may hold characters outside ASCII. Tried at each needle too, it covers
            every match, and of a text that still grows all that may become one.
    """

    kind: str
    needles: tuple[str, ...]
    regex: re.Pattern[str]
    accept: Callable[[Match[str]], bool] = _any
    reach: re.Pattern[str] | None = None

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
    turns = sum((a.isdigit() and b.isalpha()) or (a.isalpha() and b.isdigit()) for a, b in pairwise(value))
    return has_digit and has_letter and (turns >= 2 or sum(c.isdigit() for c in value) >= 3)


def _random_value(match: Match[str]) -> bool:
    return looks_random(match["value"])


def _random_key(match: Match[str]) -> bool:
    """Tell `sk-` keys from dashed words, which have no upper case or no digit."""
    key = match[0]
    return key.lower().startswith("sk-ant-") or (looks_random(key) and sum(c.isdigit() for c in key) >= 2)


def _bearer_value(match: Match[str]) -> bool:
    """Tell a credential from the prose `Authorization: Bearer authentication`."""
    value = match["value"]
    return len(value) >= 20 or any(c.isdigit() or c.isupper() for c in value)


# Names that hold secrets. A match begins at the name's last word, so `DB_PASSWORD` matches at `PASSWORD`.
_NAME = r"(?:password|passwd|secret|api[_-]?key|access[_-]?key|secret[_-]?key|token)"
_NAME_NEEDLES = (
    *("password", "passwd", "secret", "token", "apikey", "api_key", "api-key"),
    *("accesskey", "access_key", "access-key"),
)

_ASSIGNED = re.compile(
    _NAME + r"""["']?[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}[fbru]?(?P<quote>["'])"""
    r"""(?P<value>[^"'\s\\<>{}()\[\]]{8,512})(?P=quote)""",
    re.IGNORECASE | re.ASCII,
)
# The longest names first: nothing behind the name has to follow, so the first one that fits is taken.
_ASSIGNED_REACH = re.compile(
    r"""(?:(?:secret|access|api)[_-]?key|password|passwd|secret|token)["']?[ \t]{0,8}"""
    r"""(?:(?::=|=>|[:=])[ \t]{0,8}[fbru]?(?:["'][^"'\s\\<>{}()\[\]]{0,512}["']?)?)?""",
    re.IGNORECASE | re.ASCII,
)
# A shell assignment has no spaces. What follows tells it from a keyword argument or an expression.
_SHELL = re.compile(
    _NAME + r"""=(?P<value>[\w+/~@!^*-]{8,}+={0,2})(?=[\s;&|"']|$)""",
    re.IGNORECASE | re.ASCII,
)
_HEADER_KEY = re.compile(
    r"""x-api-key["']?[ \t]{0,8}:[ \t]{0,8}["']?(?P<value>[\w+/.~-]{8,}+={0,2})""", re.IGNORECASE | re.ASCII
)
_BEARER = re.compile(
    r"""authorization["']?\s{0,8}[:=]\s{0,8}["']?bearer\s{1,8}(?P<value>[\w.~+/-]{8,}+={0,2})""",
    re.IGNORECASE | re.ASCII,
)
_URL_REACH = re.compile(r"""://[^\s/:@\[\]"'<>{}]{0,128}(?::[^\s/@"'<>{}]{0,256}@?)?""")
_URL_PASSWORD = re.compile(r"""://[^\s/:@\[\]"'<>{}]{0,128}:(?![${<]|%[s(])(?P<value>[^\s/@"'<>{}]{1,256})@""")


def _token(kind: str, needles: tuple[str, ...], body: str, accept: Callable[[Match[str]], bool] = _any) -> Pattern:
    return Pattern(kind, needles, re.compile(r"(?<![\w-])" + body, re.ASCII), accept)


DEFAULT_PATTERNS: tuple[Pattern, ...] = (
    _token("api_key", ("sk-",), r"sk-[\w-]{20,}+", _random_key),
    _token("github_token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"gh[pousr]_[\w-]{36,}+"),
    _token("github_token", ("github_pat_",), r"github_pat_[\w-]{22,}+"),
    _token("aws_key_id", ("akia", "asia"), r"A(?:KIA|SIA)[0-9A-Z]{16}(?![\w-])"),
    _token("google_key", ("aiza",), r"AIza[\w-]{35,}+"),
    _token("slack_token", ("xox",), r"xox[abeprs]-[\w-]{10,}+"),
    _token("gitlab_token", ("glpat-",), r"glpat-[\w-]{20,}+"),
    _token("jwt", ("eyj",), r"eyJ[\w-]{8,}+\.eyJ[\w-]{8,}+\.[\w-]{16,}+"),
    Pattern("bearer", ("authorization",), _BEARER, _bearer_value),
    Pattern("header_key", ("x-api-key",), _HEADER_KEY, _random_value),
    Pattern("url_password", ("://",), _URL_PASSWORD, reach=_URL_REACH),
    Pattern("assignment", _NAME_NEEDLES, _ASSIGNED, _random_value, _ASSIGNED_REACH),
    Pattern("assignment", _NAME_NEEDLES, _SHELL, _random_value),
)
"""Every shape but private keys, which `redaction` cuts out first because they span lines."""

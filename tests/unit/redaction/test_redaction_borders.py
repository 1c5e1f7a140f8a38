"""Where a growing text may be cut behind a character outside ASCII. The law itself is tested with the live text."""

from __future__ import annotations

import pytest

from neuraphage.redaction.borders import foreign_border
from neuraphage.redaction.patterns import Pattern
from neuraphage.redaction.redactor import DEFAULT_PATTERNS, Redactor

ASSIGNMENT, URL = (
    next(pattern for pattern in DEFAULT_PATTERNS if pattern.reach and pattern.kind == kind)
    for kind in ("assignment", "url_password")
)


@pytest.mark.parametrize(
    ("text", "spans", "border"),
    [
        ("密码", [], 2),
        ("密码 and", [], 2),
        ("ascii", [], 0),
        ("密\ud83c", [], 1),
        ("密码密码", [(1, 3)], 4),
        ("密码密码", [(2, None)], 2),
        ("密码密码", [(1, 3), (3, None)], 3),
        ("密码密码", [(1, 3), (2, 4), (3, None)], 1),
        ("密码密码", [(0, 3), (2, None)], 0),
    ],
)
def test_the_last_border_that_nothing_covers(text: str, spans: list[tuple[int, int | None]], border: int) -> None:
    """A span may begin or end at it; what may still grow ends the search, and overlapping spans are one."""
    assert foreign_border(text, spans) == border


@pytest.mark.parametrize(
    ("pattern", "match"),
    [
        (ASSIGNMENT, 'password = "密码Tr0ub4dor&3x"'),
        (ASSIGNMENT, "api_key' : '密码Tr0ub4dor&3x'"),
        (ASSIGNMENT, 'secret-key => f"密码Tr0ub4dor&3x"'),
        (ASSIGNMENT, 'accesskey := "密码Tr0ub4dor&3x"'),
        (ASSIGNMENT, "secret        =        '密码Tr0ub4dor&3x'"),
        (ASSIGNMENT, "token='" + "密" * 512 + "'"),
        (URL, "://用户:密@"),
        (URL, "://:密码密码@"),
        (URL, "://" + "用" * 128 + ":" + "密" * 256 + "@"),
    ],
)
def test_what_a_pattern_reaches_covers_its_growing_match(pattern: Pattern, match: str) -> None:
    """At every length from its first character outside ASCII on: what would come to be a match is never cut."""
    found = pattern.regex.match(match)
    assert found
    assert found.end() == len(match)
    first = next(index for index, char in enumerate(match) if not char.isascii())
    for length in range(first + 1, len(match) + 1):
        reached = pattern.reach.match(match[:length]) if pattern.reach else None
        assert reached
        assert reached.end() == length


@pytest.mark.parametrize(
    "unit", ["密", "密a", "://密", "://密:", "token='密", "token: ", "密码密码密码密", "-----BEGIN 密"]
)
def test_no_growing_text_makes_it_slow(unit: str) -> None:
    """The border of a text of ten times what is held back is found within the time limit."""
    text = unit * (200_000 // len(unit))
    assert 0 <= Redactor(secrets=["密码密码密码密码", "密" * 1_000]).settled_chars(text) <= len(text)

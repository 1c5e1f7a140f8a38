"""Where a text that still grows may be cut, so that redacting both parts apart is redacting the whole. Pure.

Words end at white space, but Chinese and Japanese have none. There the text is cut behind a character outside ASCII:
most shapes of secrets are ASCII alone, so none of them holds that character, nor does any of them look at it. What
may hold it is known: values of this process, two patterns (`Pattern.reach`), and private keys.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator

from neuraphage.redaction.patterns import Pattern

# The first half of a character that came in two must stay with the second one.
_FOREIGN = re.compile(r"[^\x00-\x7f\ud800-\udbff]")

Span = tuple[int, int | None]
"""Start and end of what must not be cut; the end is None while it may still grow."""


def foreign_border(text: str, spans: Iterable[Span]) -> int:
    """The last place behind a character outside ASCII that no span covers; 0 when there is none.

    Args:
        text: the text so far.
        spans: what must not be cut, in any order.
    """
    borders = [match.end() for match in _FOREIGN.finditer(text)]
    at = len(text)
    closed: list[tuple[int, int]] = []
    for start, end in spans:
        if end is None:
            at = min(at, start)
        else:
            closed.append((start, end))
    for start, end in reversed(_merged(closed)):
        border = _last(borders, at)
        if border >= end:
            return border
        at = min(at, start)
    return _last(borders, at)


def value_spans(text: str, values: Collection[str]) -> Iterator[Span]:
    """Where known values stand, overlapping ones too, and where one may have begun at the end of the text."""
    for value in values:
        at = text.find(value)
        while at != -1:
            yield at, at + len(value)
            at = text.find(value, at + 1)
        at = text.find(value[0], max(0, len(text) - len(value) + 1))
        while at != -1:
            if value.startswith(text[at:]):
                yield at, None
                break
            at = text.find(value[0], at + 1)


def pattern_spans(text: str, folded: str, patterns: Collection[Pattern]) -> Iterator[Span]:
    """What matches with characters outside ASCII cover, or would cover if they came to be.

    Args:
        text: the text so far.
        folded: the same in lower case.
        patterns: those without `reach` are passed over.
    """
    for pattern in patterns:
        for needle in pattern.needles if pattern.reach else ():
            at = folded.find(needle)
            while at != -1:
                match = pattern.reach.match(text, at) if pattern.reach else None
                if match:
                    yield at, match.end() if match.end() < len(text) else None
                at = folded.find(needle, at + 1)


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans without overlaps, in order; two that only touch may be cut apart."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _last(borders: list[int], at: int) -> int:
    """The last border up to a position, or 0."""
    index = bisect_right(borders, at)
    return borders[index - 1] if index else 0

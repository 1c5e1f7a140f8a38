"""Private keys in text, from their BEGIN to their END line. They span lines, so no pattern of one word finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator

MAX_PEM_CHARS = 16_384
"""Longest private key looked for between its BEGIN and its END line."""
MAX_PEM_LINE_CHARS = 120
"""Longer than every BEGIN line of a private key."""

_BEGIN = re.compile(r"-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = re.compile(r"-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----")
# A key whose END line was cut off: lines of base64; line ends may be escaped, as in a .env file or JSON.
_LINES = re.compile(r"(?:(?:\s|\\[nr])++[A-Za-z0-9+/=]{20,}+)++")


def private_keys(text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and kind of each private key."""
    begin = _BEGIN.search(text)
    while begin:
        end = _END.search(text, begin.end(), begin.end() + MAX_PEM_CHARS) or _LINES.match(text, begin.end())
        if end:
            yield begin.start(), end.end(), "private_key"
        begin = _BEGIN.search(text, end.end() if end else begin.end())


def key_spans(text: str) -> Iterator[tuple[int, int | None]]:
    """Start and end of each private key of a text that still grows; the last end is None when it is still to come."""
    begin = text.find("-----BEGIN ")
    while begin != -1:
        line = _BEGIN.match(text, begin)
        if line is None:
            whole = "-----" in text[begin + 5 : begin + MAX_PEM_LINE_CHARS] or len(text) - begin > MAX_PEM_LINE_CHARS
            if not whole:
                yield begin, None
                return
            done = begin + 5
        else:
            end = _END.search(text, line.end(), line.end() + MAX_PEM_CHARS)
            yield begin, end.end() if end else None
            if end is None:
                return
            done = end.end()
        begin = text.find("-----BEGIN ", done)

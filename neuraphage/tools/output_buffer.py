"""The output of a running command in bounded memory: its beginning, its end, and how much there was."""

from __future__ import annotations

import codecs

from neuraphage.decide.redacted_ends import Redact, redacted_ends
from neuraphage.tools.shorten import join_ends, shorten

KEPT_CHARS = 64_000
"""Characters kept of the head, and of the tail."""


class OutputBuffer:
    """Takes bytes as they come, cut anywhere, and never splits a character. Not thread safe.

    Args:
        kept_chars: characters kept of the head, and of the tail.
    """

    def __init__(self, kept_chars: int = KEPT_CHARS) -> None:
        self._kept_chars = kept_chars
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._head = ""
        self._tail = ""
        self._total_chars = 0
        self.total_bytes = 0

    def add(self, data: bytes, *, final: bool = False) -> None:
        """Take more output; `final` with the last, so that a torn last character shows as one."""
        self.total_bytes += len(data)
        text = self._decoder.decode(data, final)
        self._total_chars += len(text)
        to_head = text[: self._kept_chars - len(self._head)]
        self._head += to_head
        self._tail = (self._tail + text[len(to_head) :])[-self._kept_chars :]

    def text(self, limit_chars: int, redact: Redact | None = None) -> str:
        """What was written, first redacted if `redact` is given, then shortened to the limit, head and tail kept."""
        if redact is None:
            return join_ends(self._head, self._tail or self._head, self._total_chars, limit_chars)
        unknown_chars = self._total_chars - len(self._head) - len(self._tail)
        if unknown_chars == 0:
            return shorten(redact(self._head + self._tail), limit_chars)
        clean = redacted_ends(self._head, self._tail, redact)
        return join_ends(clean[0], clean[2], unknown_chars + sum(map(len, clean)), limit_chars)

"""The output of a running command in bounded memory: its beginning, its end, and how much there was."""

from __future__ import annotations

import codecs

from neuraphage.decide.shorten import join_ends, shorten
from neuraphage.decide.terminal_text import shown_output
from neuraphage.redaction.ends import Redact, redacted_ends

KEPT_CHARS = 256_000
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
        """What a terminal would show, first redacted if `redact` is given, then shortened, head and tail kept."""
        unknown_chars = self._total_chars - len(self._head) - len(self._tail)
        if unknown_chars == 0:
            return shorten(shown_output(self._head + self._tail, redact), limit_chars)
        head, gap, tail = redacted_ends(self._head, self._tail, redact)
        head, tail = shown_output(head, redact), shown_output(tail, redact)
        return join_ends(head, tail, unknown_chars + len(head) + len(gap) + len(tail), limit_chars)

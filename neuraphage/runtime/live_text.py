"""What viewers see of a reply while it streams, without secrets.

A secret may come in pieces, each of which looks harmless. So the last words are held back until nothing that
follows can make a secret of them: what is shown, put together, is the redacted whole. Text without white space
between its words (Chinese, Japanese) is held back only where a secret may have begun.
"""

from __future__ import annotations

from neuraphage.decide.surrogates import whole_text
from neuraphage.ports import Delta, Redaction

HELD_MAX_CHARS = 20_000
"""Most text that is held back (a private key may be that long); past it the block is shown only when it is stored."""
TOOL = "tool"
CUT_NOTE = " […]"


class LiveText:
    """Redacts one reply's pieces. Pieces of one kind that follow each other are one text.

    Args:
        redaction: takes secrets out.
    """

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self._kind = ""
        self._held = ""
        self._ready: list[Delta] = []
        self._silent = False

    def add(self, delta: Delta) -> None:
        """Take in a piece."""
        if delta.kind != self._kind or delta.kind == TOOL:  # each name of a tool is a text of its own
            self._end_block()
            self._kind = delta.kind
        if not self._silent:
            self._held += delta.text

    def take(self) -> list[Delta]:
        """What may be shown by now."""
        settled = self._redaction.settled_chars(self._held)
        self._show(self._held[:settled])
        self._held = self._held[settled:]
        if len(self._held) > HELD_MAX_CHARS:
            self._held, self._silent = "", True
            self._ready.append(Delta(self._kind, CUT_NOTE))
        ready, self._ready = self._ready, []
        return ready

    def end(self) -> list[Delta]:
        """What is left of a complete reply. The rest of a broken one is never shown: it may end inside a secret."""
        self._end_block()
        return self.take()

    def _end_block(self) -> None:
        self._show(self._held)
        self._held, self._silent = "", False

    def _show(self, text: str) -> None:
        if text:
            self._ready.append(Delta(self._kind, whole_text(self._redaction.text(text))))

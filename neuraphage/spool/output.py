"""What a command wrote, shortened to what fits. Only the head and the tail of a file are ever read."""

from __future__ import annotations

import os
from pathlib import Path

_UTF8_MAX_BYTES = 4
_NOTE_CHARS = 80
"""Room kept for the note between head and tail."""


def read_output(path: Path, limit_chars: int) -> str:
    """Read output as text; what is no UTF-8 becomes U+FFFD.

    Args:
        path: the file; a missing one is empty.
        limit_chars: longest text returned, the note about the left-out middle included.

    Returns:
        The whole text when it fits, else head, note and tail. The note counts characters, or bytes when the
        file is so long that its middle is not read.
    """
    limit_chars = max(limit_chars, 0)
    window_bytes = (limit_chars + 1) * _UTF8_MAX_BYTES
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            if size_bytes <= window_bytes:
                return shorten(file.read(window_bytes).decode(errors="replace"), limit_chars)
            head = file.read(window_bytes // 2)
            file.seek(-(window_bytes // 2), os.SEEK_END)
            tail = file.read(window_bytes // 2)
    except FileNotFoundError:
        return ""
    keep = _kept_chars(limit_chars)
    first, last = head.decode(errors="replace")[:keep], _last(tail.decode(errors="replace"), keep)
    left_out_bytes = size_bytes - len(first.encode()) - len(last.encode())
    return f"{first}{_note(left_out_bytes, 'bytes')}{last}"[:limit_chars]


def shorten(text: str, limit_chars: int) -> str:
    """Keep head and tail of a text that is too long, with a note of how many characters were left out."""
    if len(text) <= limit_chars:
        return text
    keep = _kept_chars(limit_chars)
    note = _note(len(text) - 2 * keep, "characters")
    return f"{text[:keep]}{note}{_last(text, keep)}"[:limit_chars]


def _kept_chars(limit_chars: int) -> int:
    return max(limit_chars - _NOTE_CHARS, 0) // 2


def _last(text: str, count: int) -> str:
    return text[len(text) - count :] if count else ""


def _note(count: int, unit: str) -> str:
    return f"\n[... {max(count, 0):,} {unit} of output left out ...]\n"

"""What a command wrote, shortened to what fits. Only the head and the tail of a file are ever read."""

from __future__ import annotations

import codecs
import os
from pathlib import Path
from typing import BinaryIO

from neuraphage.decide.terminal_text import holds_controls, shown_output
from neuraphage.redaction.ends import GAP_CHARS, Redact, redacted_ends

_UTF8_MAX_BYTES = 4
_NOTE_CHARS = 80
"""Room kept for the note between head and tail."""
_FOLDED_BYTES = 2 * 1024 * 1024
"""Read of an output that is to be folded, since most of it may be progress that a terminal would not show any more."""
_CUT_END_CHARS = 4_096
"""Most that is dropped of an output which was cut off."""


def read_output(path: Path, limit_chars: int, redact: Redact | None = None) -> str:
    """Read output as a terminal would show it; what is no UTF-8 becomes U+FFFD.

    Args:
        path: the file; a missing one is empty.
        limit_chars: longest text returned, the note about the left-out middle included.
        redact: takes secrets out, before the cut could leave half of one; None takes nothing out.

    Returns:
        The whole text when it fits, else head, note and tail. The note counts characters, or bytes when the
        file is so long that its middle is not read.
    """
    limit_chars = max(limit_chars, 0)
    gap_bytes = 0 if redact is None else GAP_CHARS * _UTF8_MAX_BYTES
    window_bytes = (limit_chars + 1) * _UTF8_MAX_BYTES + 2 * gap_bytes
    try:
        with path.open("rb") as file:
            size_bytes = os.fstat(file.fileno()).st_size
            head, tail = _ends(file, size_bytes, window_bytes)
            if tail and (holds_controls(head) or holds_controls(tail)):
                head, tail = _ends(file, size_bytes, max(window_bytes, _FOLDED_BYTES))
    except FileNotFoundError:
        return ""
    if not tail:
        return shorten(shown_output(head, redact), limit_chars)
    keep = _kept_chars(limit_chars)
    clean_head, gap, clean_tail = redacted_ends(head, tail, redact)
    clean_head, clean_tail = shown_output(clean_head, redact), shown_output(clean_tail, redact)
    first, last = clean_head[:keep], _last(clean_tail, keep)
    # what was folded away is shown no more by any terminal, so it is not counted
    unread_bytes = size_bytes - len(head.encode()) - len(tail.encode()) + len(gap.encode())
    cut_bytes = len(clean_head[keep:].encode()) + len(clean_tail.encode()) - len(last.encode())
    return f"{first}{_note(unread_bytes + cut_bytes, 'bytes')}{last}"[:limit_chars]


def _ends(file: BinaryIO, size_bytes: int, window_bytes: int) -> tuple[str, str]:
    """The whole file and nothing, or its beginning and its end, if it is larger than the window.

    Both ends are cut at a character: what folding brings next to the cut is shown.
    """
    file.seek(0)
    if size_bytes <= window_bytes:
        return file.read(window_bytes).decode(errors="replace"), ""
    head = file.read(window_bytes // 2)
    file.seek(-(window_bytes // 2), os.SEEK_END)
    tail = file.read(window_bytes // 2)
    return codecs.utf_8_decode(head, "replace", False)[0], _from_character(tail).decode(errors="replace")


def _from_character(data: bytes) -> bytes:
    """Leave out the rest of a character that began before."""
    begun = 0
    while begun < min(len(data), _UTF8_MAX_BYTES - 1) and data[begun] & 0xC0 == 0x80:
        begun += 1
    return data[begun:]


def shorten(text: str, limit_chars: int) -> str:
    """Keep head and tail of a text that is too long, with a note of how many characters were left out."""
    if len(text) <= limit_chars:
        return text
    keep = _kept_chars(limit_chars)
    note = _note(len(text) - 2 * keep, "characters")
    return f"{text[:keep]}{note}{_last(text, keep)}"[:limit_chars]


def without_cut_end(text: str) -> str:
    """Drop the last line of an output that was cut off, or its last word: either may be half of a secret."""
    start = max(0, len(text) - _CUT_END_CHARS)
    end = text[start:]
    return text[:start] + (end.rpartition("\n")[0] or end.rpartition(" ")[0])


def _kept_chars(limit_chars: int) -> int:
    return max(limit_chars - _NOTE_CHARS, 0) // 2


def _last(text: str, count: int) -> str:
    return text[len(text) - count :] if count else ""


def _note(count: int, unit: str) -> str:
    return f"\n[... {max(count, 0):,} {unit} of output left out ...]\n"

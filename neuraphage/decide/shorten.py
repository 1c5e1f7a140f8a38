"""Cut long text to a limit: head and tail are kept, and a note says how much was left out."""

from __future__ import annotations

import unicodedata

_JOINERS = frozenset("\u200d\ufe0e\ufe0f")
_MAX_STEPS = 32  # longest run of marks that is kept together; anything longer is not text


def shorten(text: str, limit_chars: int) -> str:
    """Return `text`, or its head and tail with a note between them when it is over the limit.

    Args:
        text: any text.
        limit_chars: most characters of the answer, the note included.
    """
    return join_ends(text, text, len(text), limit_chars)


def join_ends(head: str, tail: str, total_chars: int, limit_chars: int) -> str:
    """Join the beginning and the end of a text of which the middle may be gone already.

    Args:
        head: the text's first characters.
        tail: the text's last characters; may overlap `head`.
        total_chars: length of the whole text.
        limit_chars: most characters of the answer, the note included.
    """
    if total_chars <= limit_chars and total_chars <= len(head):
        return head
    if total_chars <= limit_chars and total_chars <= len(head) + len(tail):
        return head + tail[len(head) + len(tail) - total_chars :]
    room = limit_chars - len(_note(total_chars))
    if room <= 0:
        return head[: max(0, limit_chars)]
    head_chars = min(len(head), room - room // 2)
    tail_chars = min(len(tail), room // 2)
    kept_head = head[: _whole_end(head, head_chars)]
    kept_tail = tail[_whole_start(tail, len(tail) - tail_chars) :]
    return kept_head + _note(total_chars - len(kept_head) - len(kept_tail)) + kept_tail


def printable(text: str) -> str:
    r"""Return text that can be stored as UTF-8: a lone surrogate (a file name's raw byte) shows as `\udcff`."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _note(left_out_chars: int) -> str:
    return f"\n[... {left_out_chars} characters left out ...]\n"


def _continues(char: str) -> bool:
    return char in _JOINERS or unicodedata.combining(char) != 0


def _whole_end(text: str, end: int) -> int:
    """Move an end of the head back so that no mark is torn off the letter before it."""
    for at in range(end, max(-1, end - _MAX_STEPS), -1):
        if at in {0, len(text)} or not (_continues(text[at]) or text[at - 1] == "\u200d"):
            return at
    return end


def _whole_start(text: str, start: int) -> int:
    """Move the start of the tail on so that it does not begin with a mark whose letter is gone."""
    for at in range(start, min(len(text), start + _MAX_STEPS) + 1):
        if at in {0, len(text)} or not (_continues(text[at]) or text[at - 1] == "\u200d"):
            return at
    return start

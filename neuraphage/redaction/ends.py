"""Redact the beginning and the end of a text of which the middle is not at hand."""

from __future__ import annotations

from collections.abc import Callable

GAP_CHARS = 20_000
"""What may be half of a secret where a text breaks off: longer than every private key and every value that is known."""

Redact = Callable[[str], str]
"""Takes the secrets out of a text."""


def redacted_ends(head: str, tail: str, redact: Redact | None) -> tuple[str, str, str]:
    """Redact both ends, and part them from what lies next to the gap.

    A secret across the gap is there in part only, so nothing recognizes it: what is near the gap is not to be shown.

    Args:
        head: the text's beginning.
        tail: its end.
        redact: takes secrets out; None where nothing is to be taken out, and both ends are whole.

    Returns:
        The head that may be shown, what is to be left out, and the tail that may be shown.
    """
    if redact is None:
        return head, "", tail
    head, tail = redact(head), redact(tail)
    at = max(0, len(head) - GAP_CHARS)
    return head[:at], head[at:] + tail[:GAP_CHARS], tail[GAP_CHARS:]

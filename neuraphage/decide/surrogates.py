"""Halves of characters: text that came in pieces may hold them, and nothing can store or send one."""

from __future__ import annotations


def whole_text(text: str) -> str:
    """Join surrogate pairs that were split over two pieces; replace halves that stay alone."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

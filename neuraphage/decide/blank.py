"""Texts that hold nothing to read."""

from __future__ import annotations

import unicodedata

_INVISIBLE = frozenset({"Cc", "Cf"})


def is_blank(text: str) -> bool:
    """Whether a text holds only white space and characters without a form of their own (a zero-width space, a BOM)."""
    return not text.strip() or all(c.isspace() or unicodedata.category(c) in _INVISIBLE for c in text)

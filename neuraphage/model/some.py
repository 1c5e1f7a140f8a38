"""Counts of things, as sentences have them."""

from __future__ import annotations


def some(count: int, thing: str) -> str:
    """A count of things: `1 turn`, `2 turns`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"

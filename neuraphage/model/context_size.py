"""How much the next request of a task would hold."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The conversation as the next request would send it; the system text and the tools come on top.

    Args:
        messages: of the API: entries of one role in a row are one.
        chars: of their JSON.
        turns: finished ones.
        tokens_used: by the task so far, of every kind.
    """

    messages: int
    chars: int
    turns: int
    tokens_used: int

    def __str__(self) -> str:
        return (
            f"the next request would hold {self.messages:,} messages of {self.chars:,} characters, beside the system "
            f"text and the tools; {self.turns:,} turns are done, {self.tokens_used:,} tokens used"
        )

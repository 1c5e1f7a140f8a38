"""How much the next request of a task would hold, and of what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neuraphage.model.compaction import Shortening
from neuraphage.model.some import some


class PartKind(StrEnum):
    """What of a request a part is."""

    SYSTEM = "system"
    """The system text."""
    TOOLS = "tools"
    """The definitions of the tools."""
    INSTRUCTIONS = "instructions"
    """What was said before the model's first reply."""
    SUMMARY = "summary"
    """What stands for the older part of the conversation."""
    SAID = "said"
    """What was said to the model since."""
    TEXT = "text"
    """What the model said."""
    THINKING = "thinking"
    """What it thought."""
    CALLS = "calls"
    """Its calls of tools."""
    RESULTS = "results"
    """What they came to."""
    MEDIA = "media"
    """Images and documents that people have shown."""
    OTHER = "other"
    """Blocks of other kinds."""


@dataclass(frozen=True, slots=True)
class ContextPart:
    """Everything of one kind.

    Args:
        kind: of the blocks.
        count: of blocks.
        tokens: an estimate.
    """

    kind: PartKind
    count: int
    tokens: int


@dataclass(frozen=True, slots=True)
class BigResult:
    """A result of a tool that takes much room.

    Args:
        tool_use_id: of the call.
        tool: its name; empty where the call is not known.
        tokens: an estimate of what is sent.
        shortened: whether less is sent than is stored.
    """

    tool_use_id: str
    tool: str
    tokens: int
    shortened: bool


@dataclass(frozen=True, slots=True)
class PastCompaction:
    """A point from which on the conversation is sent in a shorter form.

    Args:
        turn: in which it was made; 0 for the first one.
        how: the strongest way that it uses.
        before_tokens, after_tokens: estimates of the request without it and with it.
        summarized: stored entries that a summary stands for.
        summary_model: who made it; empty where nobody did, or it is not known.
        why_own: why that was the task's own model and no cheaper one; empty where there is nothing to tell.
    """

    turn: int
    how: Shortening
    before_tokens: int
    after_tokens: int
    summarized: int
    summary_model: str = ""
    why_own: str = ""


@dataclass(frozen=True, slots=True)
class ContextSize:
    """The conversation as the next request would send it, and what comes before it.

    Args:
        messages: of the API: entries of one role in a row are one.
        chars: of their JSON.
        turns: finished ones.
        tokens_used: by the task so far, of every kind.
        window_tokens: the model's context window.
        limit_tokens: a larger request is made shorter first.
        tokens: estimate of the next request: the provider's count of the last one, and what came since.
        counted_tokens: of these, what the provider has counted; 0 for nothing.
        parts: of the request, in their order; estimates of their own, which rather say too much.
        biggest: results that take the most room, the largest first.
        compactions: all that were made, the oldest first.
    """

    messages: int
    chars: int
    turns: int
    tokens_used: int
    window_tokens: int = 0
    limit_tokens: int = 0
    tokens: int = 0
    counted_tokens: int = 0
    parts: tuple[ContextPart, ...] = ()
    biggest: tuple[BigResult, ...] = ()
    compactions: tuple[PastCompaction, ...] = ()

    @property
    def percent(self) -> float:
        """Share of the window that the next request would fill."""
        return 100 * self.tokens / self.window_tokens if self.window_tokens else 0.0

    def __str__(self) -> str:
        return (
            f"the next request would hold {some(self.messages, 'message')} of {some(self.chars, 'character')}, about"
            f" {self.tokens:,} tokens with the system text and the tools: {self.percent:.0f} % of the window of"
            f" {self.window_tokens:,}; {some(self.turns, 'turn')} done, {self.tokens_used:,} tokens used"
        )

"""What fills the window of a task: its next request by parts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuraphage.decide.compacted import compaction_in, sent_blocks
from neuraphage.decide.context_size import tokens_of
from neuraphage.decide.conversation import numbered_visible, tool_calls
from neuraphage.model.compaction import Compaction, Shortening
from neuraphage.model.context_size import BigResult, ContextPart, PartKind, PastCompaction

BIGGEST = 5
"""Results that are named."""
_OF_REPLIES = {
    "text": PartKind.TEXT,
    "thinking": PartKind.THINKING,
    "redacted_thinking": PartKind.THINKING,
    "tool_use": PartKind.CALLS,
}

Entries = Sequence[Mapping[str, Any]]


def context_parts(entries: Entries, system: Any, tools: Sequence[Any]) -> tuple[ContextPart, ...]:
    """The parts of the next request, in the order of the API.

    Args:
        entries: the stored conversation.
        system: blocks of the system text.
        tools: definitions.
    """
    tokens: Counter[PartKind] = Counter({PartKind.SYSTEM: tokens_of(system), PartKind.TOOLS: tokens_of(tools)})
    counts: Counter[PartKind] = Counter({PartKind.SYSTEM: len(system), PartKind.TOOLS: len(tools)})
    for kind, block in _blocks(entries):
        tokens[kind] += tokens_of(block)
        counts[kind] += 1
    return tuple(ContextPart(kind, counts[kind], tokens[kind]) for kind in PartKind if counts[kind])


def biggest_results(entries: Entries) -> tuple[BigResult, ...]:
    """The results that take the most room in the next request, the largest first."""
    names = {
        call.tool_use_id: call.name for e in entries if e["role"] == "assistant" for call in tool_calls(e["content"])
    }
    whole = {b["tool_use_id"]: b for e in entries for b in e["content"] if b.get("type") == "tool_result"}
    sent = [block for kind, block in _blocks(entries) if kind is PartKind.RESULTS]
    found = [
        BigResult(
            block["tool_use_id"],
            names.get(block["tool_use_id"], ""),
            tokens_of(block),
            shortened=block != whole[block["tool_use_id"]],
        )
        for block in sent
    ]
    return tuple(sorted(found, key=lambda one: -one.tokens)[:BIGGEST])


def past_compactions(entries: Entries) -> tuple[PastCompaction, ...]:
    """Every point at which the conversation was made shorter, the oldest first."""
    points = [
        (entry.get("turn", 0), Compaction.model_validate(entry["compaction"]))
        for entry in entries
        if entry.get("compaction") is not None
    ]
    return tuple(
        PastCompaction(
            turn,
            one.how,
            one.before_tokens,
            one.after_tokens,
            max(0, one.to - one.first),
            *((one.summary_model, one.why_own) if one.how is Shortening.SUMMARY else ()),
        )
        for turn, one in points
    )


def _blocks(entries: Entries) -> Iterator[tuple[PartKind, Mapping[str, Any]]]:
    """Every block of the next request with its kind."""
    rows = numbered_visible(entries)
    point = compaction_in(rows)
    first = next((number for number, entry in rows if entry["role"] == "assistant"), len(entries))
    for number, role, blocks in sent_blocks(rows, point):
        for block in blocks:
            if role == "assistant":
                yield _OF_REPLIES.get(str(block.get("type")), PartKind.OTHER), block
            elif block.get("type") == "tool_result":
                yield PartKind.RESULTS, block
            elif point is not None and point.first <= number < point.to:
                yield PartKind.SUMMARY, block
            elif block.get("type") == "text":
                yield (PartKind.INSTRUCTIONS if number < first else PartKind.SAID), block
            else:
                yield (PartKind.MEDIA if block.get("type") in ("image", "document") else PartKind.OTHER), block

"""A conversation as a compaction has it sent. Pure; what is stored stays whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from neuraphage.decide.attachments import left_out
from neuraphage.decide.sendable import sendable, without_thoughts
from neuraphage.decide.shorten import shorten
from neuraphage.model.compaction import Compaction
from neuraphage.model.message import Block

SHORT_RESULT_CHARS = 800
"""Of a shortened result: head and tail together."""
READ_RESULT = "read_result"
"""The tool that reads a shortened result whole."""
_BEGIN = (
    "[To save room, the older part of this conversation is not shown any more. What follows stands for it; all of it"
    " was really said and done.]"
)

Rows = Sequence[tuple[int, Mapping[str, Any]]]


def compaction_in(rows: Rows) -> Compaction | None:
    """The compaction that holds: the last one.

    Args:
        rows: entries with their numbers, without those that are superseded.
    """
    for _, entry in reversed(rows):
        if entry.get("compaction") is not None:
            return Compaction.model_validate(entry["compaction"])
    return None


def sent_blocks(rows: Rows, point: Compaction | None, *, plain: bool = False) -> Iterator[tuple[int, str, list[Block]]]:
    """What is sent of each entry: its number, the role, and the blocks.

    Args:
        rows: entries with their numbers, without those that are superseded.
        point: the compaction that holds, or one that is only thought of.
        plain: only words, calls and results; see `sendable`.
    """
    if point is None:
        for number, entry in rows:
            yield number, entry["role"], sendable(entry, plain=plain)
        return
    told = False
    for number, entry in rows:
        if point.first <= number < point.to:
            if not told:
                told = True
                yield number, "user", [{"type": "text", "text": stand_in(point)}]
            continue
        blocks = sendable(entry, plain=plain)
        if number < point.thoughts_to and entry["role"] == "assistant":
            blocks = without_thoughts(blocks)
        if point.to <= number < point.images_to and entry["role"] == "user":
            blocks = [left_out(block) for block in blocks]
        if number < point.results_to and entry["role"] == "user":
            blocks = [shortened(block) for block in blocks]
        yield number, entry["role"], blocks


def shortened(block: Block) -> Block:
    """A block as it is sent of an old entry: a long result with its head and tail alone, and how to read all of it."""
    text = block.get("content")
    if block.get("type") == "tool_result" and isinstance(text, list):  # with images
        return {**block, "content": [_short_inner(inner, block["tool_use_id"]) for inner in text]}
    if block.get("type") != "tool_result" or not isinstance(text, str) or len(text) <= 2 * SHORT_RESULT_CHARS:
        return block
    return {**block, "content": _short(text, block["tool_use_id"])}


def _short_inner(inner: Block, tool_use_id: str) -> Block:
    is_long = inner.get("type") == "text" and len(inner["text"]) > 2 * SHORT_RESULT_CHARS
    return {**inner, "text": _short(inner["text"], tool_use_id)} if is_long else inner


def _short(text: str, tool_use_id: str) -> str:
    note = (
        f"[An old result of {len(text)} characters, shortened to save room. To read all of it: {READ_RESULT} with"
        f' tool_use_id "{tool_use_id}".]'
    )
    return f"{note}\n{shorten(text, SHORT_RESULT_CHARS)}"


def stand_in(point: Compaction) -> str:
    """The text that is sent in place of the entries that a summary stands for."""
    parts = [_BEGIN]
    if point.said:
        words = "\n\n".join(point.said)
        parts.append(f"What was said to you meanwhile, word for word, oldest first:\n\n{words}")
    parts.append(f"Summary of the work:\n\n{point.summary or ''}")
    return "\n\n".join(parts)

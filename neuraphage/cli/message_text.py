"""A stored message in a few short lines, for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.cli.call_text import title
from neuraphage.decide.attachments import label
from neuraphage.decide.superseding import superseded

MAX_LINE_CHARS = 200
SUPERSEDED_MARK = " (superseded)"
"""Behind the name of who says what the model is not shown any more."""


def message_lines(entry: Mapping[str, Any]) -> list[str]:
    """One line a block: who says what, which call, what came of it.

    Args:
        entry: as `marked` gives it.
    """
    role = f"{entry.get('role', '?')}{SUPERSEDED_MARK if entry.get('superseded') else ''}"
    return [f"{role}: {_shortened(_block(block))}" for block in blocks_of(entry)]


def blocks_of(entry: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The blocks of an entry as people are shown them; of a compaction what the model is shown instead."""
    point = entry.get("compaction")
    if point is not None:
        said = point.get("summary") or "old results of tools are shortened"
        return [{"type": "text", "text": f"[from here on the conversation is sent shorter] {said}"}]
    content = entry.get("content", [])
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def marked(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Entries of a whole conversation, each with `superseded`."""
    gone = superseded(entries)
    return [{**entry, "superseded": number in gone} for number, entry in enumerate(entries)]


def _block(block: Mapping[str, Any]) -> str:
    match block.get("type"):
        case "text":
            return str(block.get("text", ""))
        case "tool_use":
            return title(str(block.get("name", "")), block.get("input") or {})
        case "tool_result":
            return f"result{' (an error)' if block.get('is_error') else ''}: {_inner(block.get('content', ''))}"
        case "image" | "document":
            return label(block)
        case kind:
            return f"({kind})"


def _inner(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", label(part))) for part in content)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 3] + "..."

"""A stored message in a few short lines, for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.cli.call_text import title
from neuraphage.decide.superseding import superseded

MAX_LINE_CHARS = 200
SUPERSEDED_MARK = " (superseded)"
"""Behind the name of who says what the model is not shown any more."""


def message_lines(entry: Mapping[str, Any]) -> list[str]:
    """One line a block: who says what, which call, what came of it.

    Args:
        entry: as `marked` gives it.
    """
    content = entry.get("content", [])
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    role = f"{entry.get('role', '?')}{SUPERSEDED_MARK if entry.get('superseded') else ''}"
    return [f"{role}: {_shortened(_block(block))}" for block in blocks]


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
        case kind:
            return f"({kind})"


def _inner(content: Any) -> str:
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", f"({part.get('type')})")) for part in content)


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_LINE_CHARS else line[: MAX_LINE_CHARS - 3] + "..."

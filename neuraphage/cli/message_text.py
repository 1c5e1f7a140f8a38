"""A stored message in a few short lines, for people. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from neuraphage.cli.call_text import title

MAX_LINE_CHARS = 200


def message_lines(entry: Mapping[str, Any]) -> list[str]:
    """One line a block: who says what, which call, what came of it.

    Args:
        entry: as `Reads.conversation` gives it.
    """
    content = entry.get("content", [])
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [f"{entry.get('role', '?')}: {_shortened(_block(block))}" for block in blocks]


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

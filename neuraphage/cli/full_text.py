"""A whole conversation for people: every message, call and result, with Markdown shown as it is meant."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from neuraphage.cli.call_text import title
from neuraphage.cli.console import harmless, out, print_wrapped
from neuraphage.cli.message_text import SUPERSEDED_MARK, blocks_of
from neuraphage.decide.attachments import label

INDENT = 2


def show_conversation(entries: Iterable[Mapping[str, Any]]) -> None:
    """Every entry, oldest first; nothing is left out.

    Args:
        entries: as `message_text.marked` gives them.
    """
    for entry in entries:
        for block in blocks_of(entry):
            _show(f"{entry.get('role', '?')}{SUPERSEDED_MARK if entry.get('superseded') else ''}", block)


def show_markdown(text: str) -> None:
    """A text of a model: rendered on a terminal, as it is in a pipe. No control character of it gets through."""
    plain = harmless(text).plain
    if not out.is_terminal:
        out.print(Text(" " * INDENT) + harmless(text, indent=" " * INDENT))
        return
    from rich.markdown import Markdown  # noqa: PLC0415 - it takes long to import, and only a terminal needs it

    out.print(_inset(Markdown(plain, hyperlinks=False)), soft_wrap=False)


def _inset(shown: RenderableType) -> Padding:
    return Padding(shown, (0, 0, 0, INDENT))


def _show(role: str, block: Mapping[str, Any]) -> None:
    lead = " " * INDENT
    match block.get("type"):
        case "text":
            out.print(harmless(f"{role}:", "bold"))
            show_markdown(str(block.get("text", "")))
        case "thinking":
            out.print(harmless(f"{role} thinks:", "bold"))
            print_wrapped(harmless(f"{lead}{block.get('thinking', '')}", "italic dim", indent=lead), lead)
        case "tool_use":
            params = block.get("input") or {}
            print_wrapped(harmless(title(str(block.get("name", "")), params), "bold", indent=lead), lead)
            for name, value in params.items():
                text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
                print_wrapped(harmless(f"{lead}{name}: {text}", indent=lead * 2), lead * 2)
        case "tool_result":
            style = "red" if block.get("is_error") else "dim"
            print_wrapped(harmless(f"{lead}{_plain(block.get('content', ''))}", style, indent=lead), lead)
        case "image" | "document":
            out.print(harmless(f"{role}: {label(block)}", "dim"))
        case kind:
            out.print(harmless(f"{role}: ({kind})", "dim"))


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(str(part.get("text", label(part))) for part in content)

"""What the command line writes with: one console for answers, one for errors, text from outside made harmless."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def harmless(text: str, style: str = "") -> Text:
    """Text of a model, a tool or a person, without control codes and without markup."""
    shown = "".join(c if c == "\n" or (c.isprintable() and c != "\x7f") else "\N{REPLACEMENT CHARACTER}" for c in text)
    return Text(shown, style=style)


def print_json(value: Any) -> None:
    """One JSON document, never wrapped or coloured."""
    out.print(json.dumps(value, indent=2, ensure_ascii=False, default=str), markup=False, soft_wrap=True)


def local_time(at_ms: int | None) -> str:
    """A server time in this machine's zone, with its offset."""
    if not at_ms:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def dollars(cost_microusd: int) -> str:
    """Money for people."""
    return f"${cost_microusd / 1_000_000:.4f}"

"""When a task is to begin, for people."""

from __future__ import annotations

from datetime import UTC, datetime

from neuraphage.errors import BadInput


def start_text(at_ms: int) -> str:
    """A start for people: 2026-12-24 09:00:00 UTC."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def past_start(at_ms: int, now_ms: int) -> BadInput:
    """Why a task is not stored whose time is over."""
    return BadInput(
        f"the task was to begin at {start_text(at_ms)}, and the server's clock has {start_text(now_ms)}: nothing was"
        " stored; give a time to come, or none and it begins at once"
    )

"""Where a turn leaves its task."""

from __future__ import annotations

from enum import StrEnum


class SuspendTo(StrEnum):
    """Why a lease is dropped in mid-turn; journal and iteration stay."""

    WAIT = "wait"
    """Open prompts: WaitingForUser, or the outbox if an answer is there already."""
    TIMER = "timer"
    MONEY = "money"
    """Paused: a pool of money is used up."""
    ANOMALY = "anomaly"
    """Paused: it leads nowhere. The outbox instead where a person has written meanwhile."""
    PAUSE = "pause"
    """Paused, or the outbox if the flag is gone."""
    SHUTDOWN = "shutdown"
    """The outbox at once; counts no crash."""
    BLOCKED = "blocked"
    """Waits for a resource, with a fallback poll."""
    SUBTASKS = "subtasks"
    """Children are made or awaited: Blocked while one is awaited that is not over, else the outbox."""
    POISONED = "poisoned"
    """Failed: stored state breaks its rules; nothing was changed in the conversation."""


class FinishTo(StrEnum):
    """How a turn ends."""

    NEXT = "next"
    """Iteration + 1 and the outbox."""
    WAIT = "wait"
    """Iteration + 1 and WaitingForUser (conversational)."""
    COMPLETED = "completed"
    FAILED = "failed"
    LIMITED = "limited"
    """Failed at a limit; if a person has raised it since the claim, back to the outbox with the same iteration."""

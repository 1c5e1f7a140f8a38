"""Locks on resources, as stored: who holds what, and who waits for it."""

from __future__ import annotations

from enum import StrEnum

from neuraphage.model.base import Frozen


class LockClass(StrEnum):
    """What is locked: the first word of a resource's name, as in `file:/home/me/shop/basket.py`."""

    FILE = "file"
    WORKSPACE = "workspace"
    """A directory that commands work in."""
    REPOSITORY = "repository"
    HOST = "host"


class LockMode(StrEnum):
    """Who else may hold the same resource."""

    EXCLUSIVE = "exclusive"
    """Nobody."""
    SHARED = "shared"
    """Others that share it."""


class LockState(StrEnum):
    """How a task stands to the locks that its record names."""

    HOLDS = "holds"
    WAITING = "waiting"
    LATE = "late"
    """It has waited as long as a call waits, and holds nothing."""


class LockNeed(Frozen):
    """One resource that a call needs."""

    resource: str
    mode: LockMode


class TaskLocks(Frozen):
    """What a task's record says of its locks.

    Args:
        state: whether it holds them, waits for them, or has waited too long.
        needs: what it holds or waits for, by the names of the resources.
        call: waits, late: tool_use id of the call that needs them.
        since_ms: waits, late: since when, server time.
        due_ms: waits, late: when the call gets an error instead, server time.
        resource: waits, late: the first resource that it could not have.
        holder_task: waits, late: the task that had it, or waits for it since longer.
    """

    state: LockState
    needs: tuple[LockNeed, ...] = ()
    call: str = ""
    since_ms: int = 0
    due_ms: int = 0
    resource: str = ""
    holder_task: str = ""


class LockLine(Frozen):
    """One task that holds a resource or waits for it.

    Args:
        task_id: the task.
        state: holds or waits.
        mode: whether others may hold it too.
        since_ms: server time.
    """

    task_id: str
    state: LockState
    mode: LockMode
    since_ms: int


class HeldResource(Frozen):
    """A resource that somebody holds or waits for: holders first, then those who wait, in their order."""

    resource: str
    lines: tuple[LockLine, ...]

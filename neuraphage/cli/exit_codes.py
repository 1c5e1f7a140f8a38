"""Exit codes of commands that follow a task; `main` has the others."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from neuraphage.model.task import Status

WAITING_EXIT = 3
INTERRUPTED_EXIT = 130


def exit_code(status: Status) -> int:
    """0 for a task that is completed, 3 for one that waits for a person, else 1."""
    codes = {"Completed": 0, "WaitingForUser": WAITING_EXIT, "Paused": WAITING_EXIT}
    return codes.get(status.value, 1)

"""Exit codes of commands that follow a task; `main` has the others."""

from __future__ import annotations

from neuraphage.model.task import Status

WAITING_EXIT = 3
INTERRUPTED_EXIT = 130


def exit_code(status: Status) -> int:
    """0 for a task that is completed, 3 for one that waits for a person, else 1."""
    codes = {Status.COMPLETED: 0, Status.WAITING_FOR_USER: WAITING_EXIT, Status.PAUSED: WAITING_EXIT}
    return codes.get(status, 1)

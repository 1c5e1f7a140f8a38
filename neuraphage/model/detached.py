"""Work that outlives the process which started it, as values: commands, and whatever else is begun by an effect id."""

from __future__ import annotations

from enum import StrEnum


class DetachedState(StrEnum):
    """What is known of one piece of detached work."""

    ABSENT = "absent"
    """No record: it was never started here, or its record is gone by age."""
    SEALED = "sealed"
    """Known not to have run, and it never will under this effect id."""
    RUNNING = "running"
    DONE = "done"
    LOST = "lost"
    """It was started, its process is gone, and nothing tells how it ended: the outcome is unknown."""

"""The seam to schedules: what people change, and what the sweep makes of their times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from neuraphage.model.schedule import Schedule, ScheduleChange, ScheduleDefinition, ScheduleVerdict


@dataclass(frozen=True, slots=True)
class DueSchedule:
    """A schedule whose time has come.

    Args:
        name: its name.
        due_ms: the time.
        stored: its definition as stored; another one by then is left alone.
    """

    name: str
    due_ms: int
    stored: bytes


class ScheduleStore(Protocol):
    """What people read and change of schedules. Every write is one atomic script."""

    def now_ms(self) -> int:
        """Server time, milliseconds."""
        ...

    def schedules(self) -> Sequence[Schedule]:
        """Every schedule, by name.

        Raises:
            CorruptRecord: one cannot be read.
        """
        ...

    def add(self, definition: ScheduleDefinition, next_ms: int) -> ScheduleVerdict:
        """Store a new schedule with its first time."""
        ...

    def change(self, name: str, change: ScheduleChange, next_ms: int = 0) -> ScheduleVerdict:
        """Pause, resume (from which time on) or remove one."""
        ...

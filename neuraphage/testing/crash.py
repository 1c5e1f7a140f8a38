"""Dies at a chosen call of a port: just before its effect, or just after it and before anyone knows.

Run the code once with a Recorder, then once for each side of each recorded call:

    injector = CrashInjector(CrashPoint("TurnStore.commit", 3, Side.AFTER), die=lambda: os._exit(86))
    store = injector.turn_store(store)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from neuraphage.testing.recorder import Call, Recorder

ANY_CALL = "*"
"""As the name of a crash point: its occurrence then counts the calls of every name."""


class Side(StrEnum):
    """Which side of the call."""

    BEFORE = "before"
    """Nothing of the call has happened."""
    AFTER = "after"
    """All of it has happened (or it has raised), and the caller does not know."""


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """One instant in the life of a process.

    Args:
        call: name of the recorded call (see Call.name), or ANY_CALL.
        occurrence: which of the calls of this name, from 1.
        side: before or after.
    """

    call: str
    occurrence: int
    side: Side

    def __str__(self) -> str:
        return f"{self.call}#{self.occurrence}.{self.side.value}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read what `str` writes.

        Raises:
            ValueError: it is not of the form name#occurrence.before or .after.
        """
        head, _, side = text.rpartition(".")
        call, _, occurrence = head.rpartition("#")
        counted = occurrence.isascii() and occurrence.isdigit() and int(occurrence) > 0
        if not call or not counted or side not in {one.value for one in Side}:
            raise ValueError(f"crash point {text!r} is not of the form TurnStore.commit#3.after")
        return cls(call, int(occurrence), Side(side))


def crash_points(calls: Iterable[Call]) -> list[CrashPoint]:
    """Both sides of every call, in order."""
    return [CrashPoint(call.name, call.occurrence, side) for call in calls for side in Side]


class CrashInjector(Recorder):
    """A recorder that ends the process at one point.

    Args:
        point: where; None for nowhere.
        die: ends the process, as `os._exit` in a child. One that returns lets the call go on, so a test can also
            stop a process at a point, let others act, and let it go on.
    """

    def __init__(self, point: CrashPoint | None, die: Callable[[], object]) -> None:
        super().__init__()
        self._point = point
        self._die = die

    def entering(self, call: Call) -> None:
        """See Recorder."""
        self._die_at(call, Side.BEFORE)

    def leaving(self, call: Call) -> None:
        """See Recorder."""
        self._die_at(call, Side.AFTER)

    def _die_at(self, call: Call, side: Side) -> None:
        point = self._point
        if point is None or point.side is not side:
            return
        number = call.number if point.call == ANY_CALL else call.occurrence
        if point.call in (ANY_CALL, call.name) and point.occurrence == number:
            self._die()

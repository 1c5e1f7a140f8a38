"""A clock that stands still until a test moves it."""

from __future__ import annotations

import math
import threading

START_WALL_MS = 1_700_000_000_000
"""A fixed moment, so that no test depends on today."""


class ManualClock:
    """Implements ports.Clock by hand. Thread-safe.

    Server time is not its business: that comes from the store.

    Args:
        boottime_s: seconds since boot at the start.
        wall_ms: Unix milliseconds at the start.
    """

    def __init__(self, boottime_s: float = 1_000.0, wall_ms: int = START_WALL_MS) -> None:
        self._lock = threading.Lock()
        self._boottime_s = boottime_s
        self._wall_ms = wall_ms

    def boottime_s(self) -> float:
        """See ports.Clock."""
        with self._lock:
            return self._boottime_s

    def wall_ms(self) -> int:
        """See ports.Clock."""
        with self._lock:
            return self._wall_ms

    def advance(self, seconds_s: float) -> None:
        """Let time pass.

        Args:
            seconds_s: how much, in seconds.

        Raises:
            ValueError: it is negative or no finite number; boot time never goes back.
        """
        if not 0 <= seconds_s < math.inf:
            raise ValueError(f"advance by {seconds_s} s: boot time never goes back; move wall time with set_wall_ms")
        with self._lock:
            self._boottime_s += seconds_s
            self._wall_ms += round(seconds_s * 1000)

    def set_wall_ms(self, wall_ms: int) -> None:
        """Set the wall clock alone, forwards or back, as an administrator would.

        Args:
            wall_ms: Unix milliseconds.
        """
        with self._lock:
            self._wall_ms = wall_ms

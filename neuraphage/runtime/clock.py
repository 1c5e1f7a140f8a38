"""Local time."""

from __future__ import annotations

import sys
import time

_BOOTTIME = time.CLOCK_BOOTTIME if sys.platform == "linux" else time.CLOCK_MONOTONIC
"""On macOS CLOCK_MONOTONIC goes on while the machine sleeps; on Linux only CLOCK_BOOTTIME does."""


class SystemClock:
    """Implements ports.Clock by the operating system."""

    def boottime_s(self) -> float:
        """See ports.Clock."""
        return time.clock_gettime(_BOOTTIME)

    def wall_ms(self) -> int:
        """See ports.Clock."""
        return time.time_ns() // 1_000_000

"""Ctrl-C as two steps: the first is noted and acted on when it suits, the second leaves at once."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any, Self


class Interrupts:
    """Counts Ctrl-C while it is entered, in the main thread."""

    def __init__(self) -> None:
        self.count = 0
        self._before: Any = None

    def __enter__(self) -> Self:
        self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt

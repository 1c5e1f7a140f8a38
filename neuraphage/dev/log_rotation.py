"""Keeps the logs of a local stack from growing without limit while it runs."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from neuraphage.dev.process import size_bytes
from neuraphage.log_files import copy_aside

LOOK_AGAIN_S = 5.0
_log = logging.getLogger(__name__)


class LogRotation:
    """Looks at logs from time to time, in a thread, and sets large ones aside.

    The processes hold their outputs open, so each is copied and cut, not moved away.

    Args:
        logs: names the logs that there are now; all of them opened for appending.
        max_bytes: size from which a log is set aside.
        keep: how many files that were set aside are kept of each.
        look_again_s: time between two looks.
    """

    def __init__(
        self, logs: Callable[[], Iterable[Path]], max_bytes: int, keep: int, look_again_s: float = LOOK_AGAIN_S
    ) -> None:
        self._logs = logs
        self._max_bytes = max_bytes
        self._keep = keep
        self._look_again_s = look_again_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="log-rotation", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def look(self) -> None:
        """Set aside each log that is too large; one that cannot be is told of and left."""
        for log in self._logs():
            try:
                if size_bytes(log) > self._max_bytes:
                    copy_aside(log, self._keep)
            except OSError as error:
                _log.warning("%s is too large, and cannot be set aside: %s", log, error)

    def _run(self) -> None:
        while not self._stop.wait(self._look_again_s):
            self.look()

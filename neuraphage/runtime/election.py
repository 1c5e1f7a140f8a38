"""Which process of a host is its watcher: one at a time, and never nobody.

The lock is a kernel's file lock, so it is free the moment its holder dies. A holder that is frozen or stuck keeps
it; then the others take its turns. That may put two watchers to work at once, which costs looks and nothing else:
all they do is decided by scripts that let one of any number win.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from neuraphage.private_files import open_private, private_folder
from neuraphage.runtime.host import host_file

SILENT_S = 1.0
"""A holder shows itself four times in this; one that has not for so long is stood in for."""


class HostElection:
    """At most one watcher a host and namespace, while that one works.

    Args:
        folder: of the lock files; containers may share it, and each has its own watcher.
        host: identity of this host.
    """

    def __init__(self, folder: Path, host: str) -> None:
        self._path = folder / f"{host_file(host)}.lock"
        self._fd: int | None = None
        self._shown_s = -SILENT_S

    def won(self) -> bool:
        """Whether this process holds the lock; tries to take it each time it does not.

        Raises:
            OSError: the folder cannot be made, or the file not be opened.
        """
        if self._fd is not None:
            return True
        private_folder(self._path.parent)
        fd = open_private(self._path, os.O_RDWR)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(fd)
            return False
        self._fd = fd
        return True

    def leads(self) -> bool:
        """Whether the next look is this process's: it holds the lock, or the holder is silent.

        A yes is seen by the others for SILENT_S, so one of them at most stands in within that time.

        Raises:
            OSError: as `won`, or the file cannot be touched.
        """
        if self.won():
            self._show()
            return True
        # the file's time is the wall clock's: after a step of it one look too many is made, which sets the time right
        if abs(time.time() - self._path.stat().st_mtime) < SILENT_S:
            return False
        os.utime(self._path)
        return True

    def resign(self) -> None:
        """Give the lock back."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _show(self) -> None:
        now_s = time.monotonic()
        if self._fd is not None and now_s - self._shown_s >= SILENT_S / 4:
            self._shown_s = now_s
            os.utime(self._fd)

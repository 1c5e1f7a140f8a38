"""Log files that do not grow without limit: large ones are set aside as `name.1`, `name.2`, ..., the oldest go."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from io import TextIOWrapper
from logging import LogRecord
from logging.handlers import WatchedFileHandler
from pathlib import Path

from neuraphage.private_files import make_private


def aside(log: Path, number: int) -> Path:
    """Name of the file that is `number` rotations old."""
    return log.with_name(f"{log.name}.{number}")


def make_room(log: Path, keep: int) -> None:
    """Move each file that was set aside on by one, so that `name.1` is free.

    Args:
        log: the log.
        keep: how many are kept, the one that comes now included.
    """
    aside(log, keep).unlink(missing_ok=True)
    for number in range(keep - 1, 0, -1):
        if aside(log, number).exists():
            aside(log, number).replace(aside(log, number + 1))


def copy_aside(log: Path, keep: int) -> None:
    """Set aside a log that another process holds open for appending, and goes on writing to.

    What it writes in the instant between the last copied byte and the cut is lost.

    Args:
        log: the log.
        keep: how many files that were set aside are kept.

    Raises:
        OSError: it cannot be copied; nothing is cut.
    """
    copied = log.with_name(f"{log.name}.copy")
    try:
        copied.unlink(missing_ok=True)
        target = make_private(copied, os.O_WRONLY)
        with log.open("rb") as source, os.fdopen(target, "wb") as copy:
            shutil.copyfileobj(source, copy)
        make_room(log, keep)  # now, so that a full disk, tried again and again, does not push the former files out
        copied.replace(aside(log, 1))
    except OSError:
        copied.unlink(missing_ok=True)
        raise
    os.truncate(log, 0)


class RotatingLogFile(WatchedFileHandler):
    """A log file that several processes may write to (a prefork worker and its children).

    Whoever finds it large sets it aside, one at a time by a lock of the file; the others see that and open the new
    one. It is also opened again when something else, such as logrotate, has moved it away.

    Args:
        path: of the file; private to this user.
        max_bytes: size from which it is set aside.
        keep: how many files that were set aside are kept.
    """

    def __init__(self, path: str, max_bytes: int, keep: int) -> None:
        self._max_bytes = max_bytes
        self._keep = keep
        super().__init__(path, encoding="utf-8")

    def emit(self, record: LogRecord) -> None:
        """Write a record."""
        try:
            self._set_aside_if_large()
        except OSError:
            self.handleError(record)  # the line is written all the same
        super().emit(record)

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        with contextlib.suppress(FileExistsError):
            return os.fdopen(make_private(Path(self.baseFilename), flags), "a", encoding="utf-8")
        # whatever the person has named, a pipe or a terminal, too
        return os.fdopen(os.open(self.baseFilename, flags | os.O_CREAT, 0o600), "a", encoding="utf-8")

    def _set_aside_if_large(self) -> None:
        if self.stream is None or os.fstat(self.stream.fileno()).st_size < self._max_bytes:
            return
        log = Path(self.baseFilename)
        # Opened for the lock alone: forked processes share their parent's stream, and so would share a lock of it.
        with contextlib.suppress(FileNotFoundError), log.open("rb") as found:
            fcntl.flock(found, fcntl.LOCK_EX)
            is_ours = os.path.samestat(os.fstat(found.fileno()), os.fstat(self.stream.fileno()))
            if is_ours and log.exists() and os.path.samestat(log.stat(), os.fstat(found.fileno())):
                make_room(log, self._keep)
                log.replace(aside(log, 1))

"""What the spool keeps and for how long. Only this file deletes entries, and only entries that are over."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.spool import records
from neuraphage.spool.entry import Entry

_OVER = frozenset({DetachedState.DONE, DetachedState.SEALED, DetachedState.LOST})
_ABANDONED_S = 600.0
"""Age past which an entry that was made but never decided has no starter any more."""
_TRASH = "trash."
_MEASURED_FOR_S = 5.0
"""The size of the spool is looked at again after so long: a look reads every entry."""


class Quota:
    """How much a spool may hold before no new command starts.

    Args:
        root: folder of the entries.
        limit_bytes: the quota.
    """

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root = root
        self._limit_bytes = limit_bytes
        self._held_bytes = 0
        self._measured_s = -_MEASURED_FOR_S

    def check(self) -> None:
        """Refuse a new command while the spool holds too much.

        Raises:
            SpoolError: it does.
        """
        if time.monotonic() - self._measured_s >= _MEASURED_FOR_S:
            self._held_bytes = total_bytes(self._root)
            self._measured_s = time.monotonic()
        if self._held_bytes > self._limit_bytes:
            raise SpoolError(
                f"the spool {self._root} holds {self._held_bytes} bytes, over its quota of {self._limit_bytes}"
                " (spool_quota_bytes): no new command starts until the output of ended ones has been removed, which"
                " happens exec_retention_s after their end; raise the quota, or shorten that time"
            )


def expire(entries: Iterator[Entry], older_than_s: float) -> int:
    """Delete entries that are over and at least this old.

    An entry whose starter died before anything was decided is sealed first, and goes at a later visit.

    Args:
        entries: all entries.
        older_than_s: age in seconds since the entry's last change.

    Returns:
        How many were deleted.
    """
    count = 0
    for entry in entries:
        try:
            count += _visit(entry, older_than_s)
        except (OSError, SpoolError):
            continue  # deleted meanwhile, unreadable, or no room for its seal: the others still get their visit
    return count


def _visit(entry: Entry, older_than_s: float) -> bool:
    """Delete or seal one entry if it is time; returns whether it was deleted."""
    age_s = time.time() - entry.path.stat().st_mtime  # a file last came to, left or got its name then
    since_start_s = entry.since_start_s()
    if since_start_s is not None:
        age_s = min(age_s, since_start_s)  # the clock may have been set: a record that goes too early lets it run again
    if age_s < older_than_s:
        return False
    if entry.state() in _OVER and not entry.is_alive():
        return _delete(entry.path)
    if age_s > _ABANDONED_S:
        with entry.opened() as directory:
            records.decide(directory, records.SEALED)  # nothing, where it was decided
    return False


def empty_trash(root: Path) -> None:
    """Delete what an interrupted `expire` had set aside."""
    for path in root.glob(f"{_TRASH}*"):
        shutil.rmtree(path, ignore_errors=True)


def total_bytes(root: Path) -> int:
    """Size of all files in the spool, in bytes."""
    total = 0
    for folder, _, names in os.walk(root):
        for name in names:
            try:
                total += (Path(folder) / name).lstat().st_size
            except FileNotFoundError:
                continue  # deleted meanwhile
    return total


def _delete(path: Path) -> bool:
    """Delete an entry; it disappears at once, so that nobody meets a half-deleted one."""
    trash = path.with_name(f"{_TRASH}{path.name}.{os.urandom(4).hex()}")
    try:
        path.rename(trash)
    except FileNotFoundError:
        return False  # another process was faster
    shutil.rmtree(trash, ignore_errors=True)
    return True

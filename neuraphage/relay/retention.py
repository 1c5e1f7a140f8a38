"""What is kept of calls goes after a while, and the oldest goes first when it is too much."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Container
from contextlib import suppress
from pathlib import Path

from neuraphage.relay.entry import CallEntry, entries_in

_HALF_MADE = ".made-"


def expire(calls: Path, retention_s: float, quota_bytes: int, running: Container[str]) -> int:
    """Delete calls that are over for so long, and the oldest of them while all take more than the quota.

    Args:
        calls: the folder of all.
        retention_s: in seconds.
        quota_bytes: of all.
        running: ids of calls that are under way here.

    Returns:
        Bytes that are left.
    """
    now_s = time.time()
    kept: list[tuple[float, int, CallEntry]] = []
    total_bytes = 0
    for entry in entries_in(calls):
        since_s, size_bytes = _measured(entry)
        if entry.path.name in running:
            total_bytes += size_bytes
        elif now_s - since_s > retention_s:
            entry.remove()
        else:
            kept.append((since_s, size_bytes, entry))
            total_bytes += size_bytes
    for _, size_bytes, entry in sorted(kept, key=lambda item: item[0]):
        if total_bytes <= quota_bytes:
            break
        entry.remove()
        total_bytes -= size_bytes
    _sweep_half_made(calls, now_s - retention_s)
    return total_bytes


def _measured(entry: CallEntry) -> tuple[float, int]:
    """When it was written last, and its size."""
    since_s, size_bytes = 0.0, 0
    with suppress(OSError), os.scandir(entry.path) as files:
        for file in files:
            found = file.stat(follow_symlinks=False)
            since_s, size_bytes = max(since_s, found.st_mtime), size_bytes + found.st_size
    return since_s, size_bytes


def _sweep_half_made(calls: Path, before_s: float) -> None:
    with suppress(OSError):
        for path in calls.glob(f"{_HALF_MADE}*"):
            if path.lstat().st_mtime < before_s:
                shutil.rmtree(path, ignore_errors=True)

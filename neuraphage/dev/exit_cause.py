"""Name the cause of a server's or worker's exit from the last lines it wrote. Pure but for reading the file."""

from __future__ import annotations

import re
from pathlib import Path

TAIL_BYTES = 16_384

_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        # A server that syncs always reports a full disk only as a short write.
        "disk full",
        re.compile(r"No space left on device|Disk quota exceeded|Short write while writing to the AOF", re.IGNORECASE),
    ),
    ("port in use", re.compile(r"Address already in use", re.IGNORECASE)),
    (
        "append-only file is damaged",
        re.compile(
            r"Bad file format reading the append only file|Invalid AOF manifest|Unexpected end of file reading",
            re.IGNORECASE,
        ),
    ),
    ("no permission", re.compile(r"Permission denied|Operation not permitted", re.IGNORECASE)),
    ("read-only disk", re.compile(r"Read-only file system", re.IGNORECASE)),
    ("out of memory", re.compile(r"Out Of Memory|Cannot allocate memory|MemoryError", re.IGNORECASE)),
    ("bad configuration", re.compile(r"FATAL CONFIG FILE ERROR", re.IGNORECASE)),
)


ADVICE = {
    "disk full": "free some space",
    "port in use": "another program took its port; stop this stack and start it again to take another one",
    "append-only file is damaged": "copy the folder appendonlydir beside the log to a safe place, then run"
    " valkey-check-aof --fix on the .aof file named in the log",
    "no permission": "let this user write to the data folder, or choose another NEURAPHAGE_DATA_DIR",
    "read-only disk": "choose another NEURAPHAGE_DATA_DIR",
    "out of memory": "end other programs, or take fewer workers",
}
"""What a person can do, by the cause."""


def cause_of_exit(log_tail: str) -> str | None:
    """Name the cause that the last lines of a log tell.

    Args:
        log_tail: what the process wrote last.

    Returns:
        A few words (`disk full`, `port in use`, ...), or None when no known cause is told.
    """
    return next((cause for cause, pattern in _CAUSES if pattern.search(log_tail)), None)


def read_tail(path: Path, start_bytes: int = 0, max_bytes: int = TAIL_BYTES) -> str:
    """Read the end of a log.

    Args:
        path: the log.
        start_bytes: skip what stood there before.
        max_bytes: read at most this much, from the end.

    Returns:
        The text; empty when there is no such file.
    """
    try:
        with path.open("rb") as log:
            size_bytes = log.seek(0, 2)
            if size_bytes < start_bytes:
                start_bytes = 0  # it was set aside meanwhile
            log.seek(max(start_bytes, size_bytes - max_bytes))
            return log.read(max_bytes).decode("utf-8", errors="replace")
    except OSError:
        return ""


def last_lines(tail: str, count: int = 5) -> str:
    """Shorten a tail to its last lines that say anything."""
    return "\n".join([line for line in tail.splitlines() if line.strip()][-count:])

"""Name the cause of a server's or worker's exit from the last lines it wrote. Pure but for reading the file."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

TAIL_BYTES = 16_384

_DAMAGED = "append-only file is damaged"
_CAUSES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        # A server that syncs always reports a full disk only as a short write.
        "disk full",
        re.compile(r"No space left on device|Disk quota exceeded|Short write while writing to the AOF", re.IGNORECASE),
    ),
    ("port in use", re.compile(r"Address already in use", re.IGNORECASE)),
    (
        # The base begins with the name and version of its writer. The checker takes it for damaged, and would empty it.
        "data of another server",
        re.compile(
            r"Bad file format reading the append only file \S*\.base\.rdb|Can't handle RDB format version"
            r"|Wrong signature trying to load DB",
            re.IGNORECASE,
        ),
    ),
    (
        "base of the append-only file is damaged",
        re.compile(r"Internal error in RDB reading|Short read or OOM loading DB", re.IGNORECASE),
    ),
    (
        _DAMAGED,
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


_ADVICE = {
    "disk full": "free some space",
    "port in use": "another program took its port; stop this stack and start it again to take another one",
    "data of another server": "a newer release than this one wrote it, or a server of another kind; use that one again"
    " (most likely: pip install 'neuraphage[embedded]'), and repair nothing: a repair would empty it",
    "base of the append-only file is damaged": "it cannot be repaired; put a backup of the folder appendonlydir, which"
    " is beside the log, in its place, or move that away to begin without any task",
    "no permission": "let this user write to the data folder, or choose another NEURAPHAGE_DATA_DIR",
    "read-only disk": "choose another NEURAPHAGE_DATA_DIR",
    "out of memory": "end other programs, or take fewer workers",
}


def advice_for(cause: str | None, program: str) -> str | None:
    """Say what a person can do.

    Args:
        cause: see `cause_of_exit`.
        program: what ended. A server's program is its checker too, when it is called by that one's name.
    """
    if cause == _DAMAGED:
        checker = Path(program).name.replace("-server", "-check-aof")
        return (
            "copy the folder appendonlydir, which is beside the log, to a safe place; then run in bash, inside it:"
            f" (exec -a {checker} {shlex.quote(program)} --fix FILE), where FILE is the .aof file that the log names;"
            " what was written after the damage is lost"
        )
    return None if cause is None else _ADVICE.get(cause)


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

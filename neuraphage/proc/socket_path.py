"""A path that a unix socket has room for, wherever its folder is."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MOST_BYTES = 100
"""A socket's path has room for 104 bytes (macOS) or 108."""
_OPEN_FOLDERS = Path("/proc/self/fd")
"""By it a folder has a short path, wherever it is (Linux)."""


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A path of a socket for as long as this is entered: its own, or a shorter one by its opened folder.

    Raises:
        OSError: the folder cannot be opened.
    """
    if len(os.fsencode(path)) <= MOST_BYTES or not _OPEN_FOLDERS.is_dir():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield str(_OPEN_FOLDERS / str(folder) / path.name)
    finally:
        os.close(folder)

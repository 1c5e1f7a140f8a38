"""The data folder of this host: what neuraphage keeps in it, how large that is, and whether it may be removed.

A mark in it says that neuraphage made it. Without the mark nothing of it is ever removed: it was somebody's folder
before, and a `logs` in it may be theirs.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.filesize import decimal

from neuraphage.settings import Settings

MARK = ".neuraphage"
_MARK_TEXT = "neuraphage made this folder and keeps its data here; `neuraphage purge` removes it.\n"
SPOOL = "spool"
SERVER = "server"
CONTENTS = {
    SERVER: "tasks, conversations and history of the local stack",
    SPOOL: "commands and their output",
    "logs": "logs of the local stack",
    "beat": "what beat sent last",
    "health": "beats of worker processes",
    "watcher": "locks of watchers",
    "flower": "login of Flower",
    "stack.json": "where the running stack is",
    "stack.new": "where the running stack is",
    "stack.use": "lock of who uses the stack",
    "stack.start": "lock of who starts the stack",
}
"""Everything that neuraphage makes in the folder, and what it holds."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing in the data folder.

    Args:
        path: where it is.
        what: what it holds.
        size_bytes: of all its files.
    """

    path: Path
    what: str
    size_bytes: int


def make_data_folder(path: Path) -> None:
    """Make the folder, private to this user, and mark it; one that held something before gets no mark.

    Raises:
        OSError: it cannot be made.
    """
    try:
        path.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if any(path.iterdir()):
            return
    (path / MARK).write_text(_MARK_TEXT, encoding="utf-8")


def is_ours(path: Path) -> bool:
    """Whether neuraphage made the folder."""
    return (path / MARK).is_file()


def kept_in(path: Path) -> list[Kept]:
    """What neuraphage has made in the folder. A link in place of it is somebody else's, and not followed.

    Args:
        path: the folder, which need not exist.
    """
    found = [(path / name, what) for name, what in CONTENTS.items()]
    return [Kept(p, what, size_bytes(p)) for p, what in found if p.exists() and not p.is_symlink()]


def size_bytes(path: Path) -> int:
    """Size of a file, or of all files below a folder; what vanishes meanwhile or may not be read counts nothing."""
    if not path.is_dir() or path.is_symlink():
        return _file_bytes(path)
    return sum(_file_bytes(Path(folder) / name) for folder, _, names in os.walk(path) for name in names)


def free_bytes(path: Path) -> int:
    """Space that this user may still fill where a folder lies, or will lie.

    Raises:
        OSError: it cannot be told.
    """
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free


def quota_warnings(settings: Settings) -> list[str]:
    """A sentence for each quota of the data folder that is exceeded."""
    quotas = {
        "the spool": (settings.data_dir / SPOOL, "spool_quota_bytes", "no new command starts"),
        "the data folder": (settings.data_dir, "data_quota_bytes", "free some space, or raise it"),
    }
    sizes = [(what, size_bytes(path), name, then) for what, (path, name, then) in quotas.items()]
    return [
        f"{what} holds {decimal(size)}, over its quota of {decimal(getattr(settings, name))} ({name}): {then}"
        for what, size, name, then in sizes
        if size > getattr(settings, name)
    ]


def _file_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0

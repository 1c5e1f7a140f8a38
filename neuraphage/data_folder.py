"""The data folder of this host: what neuraphage keeps in it, how large that is, and whether it may be removed.

A mark in it says that neuraphage made it. Without the mark nothing of it is ever removed: it was somebody's folder
before, and a `logs` in it may be theirs.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from rich.filesize import decimal

from neuraphage.private_files import complaint_about, private_folder, replace_private
from neuraphage.settings import Settings

MARK = ".neuraphage"
_MARK_TEXT = "neuraphage made this folder and keeps its data here; `neuraphage purge` removes it.\n"
SPOOL = "spool"
SANDBOX = "sandbox"
WAYS = "ways"
RELAY = "relay"
HEALTH = "health"
MEASURED = "measured.json"
KEPT_S = 600.0
"""A health check measures the folder again after so long."""
MAX_FILES = 50_000
"""So many are looked at in about half a second."""
SERVER = "server"
CONTENTS = {
    SERVER: "tasks, conversations and history of the local stack",
    SPOOL: "commands and their output",
    SANDBOX: "temporary files of commands",
    WAYS: "hosts that commands reach, and were refused",
    RELAY: "model replies that no task has stored yet",
    "logs": "logs of the local stack",
    "beat": "ticks of beat",
    HEALTH: "beats of worker processes",
    "watcher": "locks of watchers",
    "flower": "login of Flower",
    "stack.json": "where the running stack is",
    "stack.new": "where the running stack is",
    "stack.use": "lock of who uses the stack",
    "stack.start": "lock of who starts the stack",
}
"""Everything that neuraphage makes in the folder, and what it holds."""


@dataclass(frozen=True, slots=True)
class KeptItem:
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

    A link of this user's, or of root's, to a folder of this user's is followed: so a large disk is used.

    Raises:
        OSError: it cannot be made, or one that is there is not this user's alone (see private_folder).
    """
    if path.is_symlink() and path.lstat().st_uid not in (0, os.geteuid()):
        raise PermissionError(0, f"{path} is a link that another user made", str(path))
    folder = path.resolve()
    was_made = private_folder(folder, narrow=is_ours(folder))
    if was_made or not any(folder.iterdir()):
        replace_private(folder / MARK, _MARK_TEXT)


def note_user(path: Path) -> None:
    """Show that this process uses the folder, as long as it lives: it holds a lock on the mark, if there is one.

    A process that hides its memory tells nobody which folder its environment names.
    """
    try:
        fd = os.open(path / MARK, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)  # never given back: the kernel does that
    except OSError:  # no folder of ours, or a file system without locks
        return


def noted_users(path: Path) -> set[int]:
    """Ids of the processes that hold the mark (Linux)."""
    try:
        inode = (path / MARK).stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return set()
    fields = [line.split() for line in locks]
    return {int(f[4]) for f in fields if f[1] == "FLOCK" and f[5].rpartition(":")[2] == str(inode)}


def folder_problem(path: Path) -> str | None:
    """Why a data folder that is there would be refused, with what to do; None when it would not, or there is none."""
    try:
        found = [complaint_about(path.resolve())]
        found += [complaint_about(path / name) for name in CONTENTS if os.path.lexists(path / name)]
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return next((complaint for complaint in found if complaint is not None), None)


def is_ours(path: Path) -> bool:
    """Whether neuraphage made the folder."""
    return (path / MARK).is_file()


def kept_in(path: Path) -> list[KeptItem]:
    """What neuraphage has made in the folder. A link in place of it is somebody else's, and not followed.

    Args:
        path: the folder, which need not exist.
    """
    found = [(path / name, what) for name, what in CONTENTS.items()]
    return [KeptItem(p, what, size_bytes(p)) for p, what in found if p.exists() and not p.is_symlink()]


def data_bytes(path: Path, max_files: int | None = None) -> int:
    """Size of what neuraphage keeps in the folder; other files in it, which may be a whole disk's, are not looked at.

    Args:
        path: the folder, which need not exist.
        max_files: look at so many files of each thing at most; None for all.
    """
    return sum(size_bytes(path / name, max_files) for name in (MARK, *CONTENTS) if not (path / name).is_symlink())


def size_bytes(path: Path, max_files: int | None = None) -> int:
    """Size of a file, or of all files below a folder; what vanishes meanwhile or may not be read counts nothing.

    Args:
        path: the file or folder.
        max_files: look at so many files at most; None for all.
    """
    if not path.is_dir() or path.is_symlink():
        return _file_bytes(path)
    files = (Path(folder) / name for folder, _, names in os.walk(path) for name in names)
    return sum(map(_file_bytes, islice(files, max_files)))


def free_bytes(path: Path) -> int:
    """Space that this user may still fill where a folder lies, or will lie.

    Raises:
        OSError: it cannot be told.
    """
    return shutil.disk_usage(next(p for p in (path, *path.parents) if p.exists())).free


def quota_warnings(settings: Settings) -> list[str]:
    """A sentence for each quota of the data folder that is exceeded. Looks at every file."""
    return _exceeded(settings, _sizes(settings, None))


def recent_quota_warnings(settings: Settings) -> list[str]:
    """As `quota_warnings`, for a check that is repeated every few seconds.

    Sizes are measured once in KEPT_S, with MAX_FILES at most, and kept in the folder in between; a larger folder may
    be over its quota without a warning here, and `quota_warnings` knows.
    """
    kept = settings.data_dir / HEALTH / MEASURED
    sizes = _kept_sizes(kept)
    if sizes is None:
        sizes = _sizes(settings, MAX_FILES)
        _keep(kept, sizes)
    return _exceeded(settings, sizes)


def _sizes(settings: Settings, max_files: int | None) -> dict[str, int]:
    """Size of what each quota is about, by its name, in bytes."""
    return {
        "spool_quota_bytes": size_bytes(settings.data_dir / SPOOL, max_files),
        "data_quota_bytes": data_bytes(settings.data_dir, max_files),
    }


def _exceeded(settings: Settings, sizes: dict[str, int]) -> list[str]:
    quotas = {
        "spool_quota_bytes": ("the spool", "no new command starts"),
        "data_quota_bytes": ("the data folder", "free some space, or raise it"),
    }
    return [
        f"{what} holds {decimal(sizes[name])}, over its quota of {decimal(getattr(settings, name))} ({name}): {then}"
        for name, (what, then) in quotas.items()
        if sizes[name] > getattr(settings, name)
    ]


def _kept_sizes(kept: Path) -> dict[str, int] | None:
    """What was measured last; None when that is too long ago, or was not written by us."""
    try:
        age_s = time.time() - kept.stat().st_mtime
        sizes = json.loads(kept.read_text(encoding="utf-8"))
        if not 0 <= age_s < KEPT_S:  # a clock that was set back makes it look like one of the future
            return None
        return {name: int(sizes[name]) for name in ("spool_quota_bytes", "data_quota_bytes")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(kept: Path, sizes: dict[str, int]) -> None:
    """Note what was measured, where a data folder is; whoever may not write measures again."""
    try:
        if kept.parent.parent.is_dir():
            private_folder(kept.parent)
            replace_private(kept, json.dumps(sizes))
    except OSError:
        return


def _file_bytes(path: Path) -> int:
    try:
        return path.lstat().st_size
    except OSError:
        return 0

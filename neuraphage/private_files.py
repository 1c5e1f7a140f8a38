"""Folders and files that only this user may touch, whatever the umask; those of others are not believed.

What is in the data folder is trusted: where the server is, its password, what a command has put out. So a folder that
somebody else owns, or may write to, is refused and not made right: nobody knows what was put into it.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def private_folder(path: Path, *, narrow: bool = True) -> bool:
    """Make a folder, and those above it that are missing, for this user alone; check one that is there.

    Args:
        path: of the folder. A link in its place is refused.
        narrow: take from others the right to read one that is there.

    Returns:
        Whether it was made now.

    Raises:
        OSError: it cannot be made; a PermissionError says in words why one that is there is not believed.
    """
    was_made = _make(path)
    if stat.S_ISREG(path.lstat().st_mode):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    complaint = complaint_about(path)
    if complaint is not None:
        raise PermissionError(0, complaint, str(path))
    if narrow and stat.S_IMODE(path.lstat().st_mode) & 0o777 != FOLDER_MODE:
        path.chmod(FOLDER_MODE)
    return was_made


def complaint_about(path: Path) -> str | None:
    """Why a folder or file that is there is not believed, and what to do; None when nothing is wrong with it.

    Raises:
        OSError: it is not there, or cannot be looked at.
    """
    found = path.lstat()
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        return f"{path} is a link or no folder; remove it, or name the folder itself"
    if found.st_uid != os.geteuid():
        return f"{path} belongs to user {found.st_uid}, and this process is user {os.geteuid()}; use a place of its own"
    if found.st_mode & _OTHERS_MAY_WRITE:
        mode = stat.S_IMODE(found.st_mode)
        return f"{path} can be written by others (mode {mode:04o}); look at what is in it, then chmod go-w it"
    return None


def open_private(path: Path, flags: int) -> int:
    """Open a file of ours, made for this user alone if it is not there. A link in its place is not followed.

    Args:
        path: of the file.
        flags: as for os.open, without O_CREAT.

    Raises:
        OSError: it cannot be opened; a PermissionError says in words why one that is there is not believed.
    """
    try:
        return make_private(path, flags)
    except FileExistsError:
        complaint = complaint_about(path)
        if complaint is not None:
            raise PermissionError(0, complaint, str(path)) from None
        return os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC)


def make_private(path: Path, flags: int) -> int:
    """Make a new file for this user alone.

    Raises:
        FileExistsError: there is one.
        OSError: it cannot be made.
    """
    file = os.open(path, flags | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    os.fchmod(file, FILE_MODE)  # the umask may have taken even that away
    return file


def write_new_private(path: Path, data: bytes) -> None:
    """Write a new small file for this user alone; what could not be written whole is for the caller to remove.

    Raises:
        FileExistsError: there is one.
        OSError: it could not be written.
    """
    with os.fdopen(make_private(path, os.O_WRONLY), "wb") as file:
        file.write(data)


def replace_private(path: Path, text: str) -> None:
    """Replace a small file as a whole; nobody else may read it at any moment.

    Raises:
        OSError: it could not be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with os.fdopen(make_private(part, os.O_WRONLY), "w", encoding="utf-8") as file:
            file.write(text)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def _make(path: Path) -> bool:
    if not path.parent.exists():
        _make(path.parent)
    try:
        path.mkdir(mode=FOLDER_MODE)
    except FileExistsError:
        return False
    path.chmod(FOLDER_MODE)  # before anything is put into it
    return True

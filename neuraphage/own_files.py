"""Files beside a person's own settings that say what may run: who is believed, and how one is changed.

A change replaces a file as a whole, one writer at a time, of all processes of this host.
"""

from __future__ import annotations

import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuraphage.errors import SettingsError
from neuraphage.private_files import open_private, private_folder, replace_private

LOCK_WAIT_S = 5.0
_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def refuse_of_others(path: Path) -> None:
    """See that nobody else may have written a file: whoever may write to it decides what runs.

    Raises:
        SettingsError: somebody may, or it is not there.
    """
    try:
        found = path.stat()
    except OSError as error:  # it went behind the read
        raise SettingsError(f"{path}: rules cannot be read from it ({error.strerror})") from None
    if found.st_uid not in (os.geteuid(), 0):
        raise SettingsError(
            f"{path} belongs to user {found.st_uid}, so its rules are not believed; take it over, or move it"
        )
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise SettingsError(f"{path} can be written by others, so its rules are not believed; chmod go-w it")


def stamp_of(path: Path) -> object:
    """What differs when a file was written; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """One writer at a time, of all processes of this host.

    Raises:
        SettingsError: the folder or the lock cannot be had.
    """
    try:
        private_folder(path.parent, narrow=False)
        file = open_private(path.with_name(f"{path.name}.lock"), os.O_RDWR)
    except OSError as error:
        raise SettingsError(f"{path}: rules cannot be written ({error.strerror or error})") from None
    try:
        _lock(file, path)
        yield
    finally:
        os.close(file)


def _lock(file: int, path: Path) -> None:
    until_s = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until_s:
                raise SettingsError(f"{path}: another process writes to it for {LOCK_WAIT_S:g} s; try again") from None
            time.sleep(0.02)
        else:
            return


def write(path: Path, text: str) -> None:
    """Replace a file; within `writing`.

    Raises:
        SettingsError: it cannot be written.
    """
    try:
        replace_private(path.resolve(), text)  # a link stays one
    except OSError as error:
        raise SettingsError(f"{path}: rules cannot be written ({error.strerror or error})") from None


def quoted(text: str) -> str:
    """A TOML string: JSON escapes what TOML does, but for one control character."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")

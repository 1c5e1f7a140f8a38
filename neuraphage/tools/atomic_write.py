"""Replace a file in one step, so that a crash at any instant leaves the old bytes or the new, never a mixture.

The new bytes go to a hidden file beside the target, are flushed to disk, and take the target's name; then the
directory is flushed. The hidden file's name is derived from the effect id, so a crashed write leaves at most
one, and the next try or probe of the same effect removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from contextlib import suppress
from pathlib import Path

from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import RawFile, read_raw_or_none
from neuraphage.tools.paths import ResolvedPath

_PLAIN_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
# File systems without hard links say so with one of these.
_NO_HARD_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
# File systems that cannot flush a directory say so with one of these.
_NO_DIRECTORY_FLUSH = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EBADF})


# Attributes that say something of the bytes: they do not hold for others.
_BOUND_TO_CONTENT = frozenset({"security.capability", "security.ima", "security.evm"})


class FlushError(Exception):
    """The new bytes are in place, but the directory could not be flushed: a power cut may undo the write."""


class ChangedMeanwhileError(Exception):
    """Another process wrote the target in the meantime: its bytes are kept, and nothing of ours was written."""


def temp_path(target: Path, effect_id: str) -> Path:
    """Where the bytes of this effect wait beside their target."""
    plain = effect_id if _PLAIN_ID.fullmatch(effect_id) else hashlib.sha256(effect_id.encode()).hexdigest()
    return target.parent / f".np-{plain}.tmp"


def discard_leftover(target: Path, effect_id: str) -> None:
    """Remove what a crashed write of this effect left behind, if anything."""
    with suppress(OSError):  # it is hidden and harmless; a failure here must not hide the real outcome
        temp_path(target, effect_id).unlink(missing_ok=True)


def replace_file(place: ResolvedPath, data: bytes, effect_id: str, before: RawFile | None) -> None:
    """Give a file the bytes `data`; parents are made.

    Args:
        place: the file (not a link).
        data: the whole new content.
        effect_id: names the temporary file.
        before: the file to be replaced, as it was read; its mode, owner and attributes are kept. None for a new one.

    Raises:
        OSError: it failed, and the target is unchanged.
        ChangedMeanwhileError: the target is not as it was read, and stays so.
        FlushError: the target has the new bytes, but they may not outlive a power cut.
    """
    target = place.path
    make_parents(target.parent)
    discard_leftover(target, effect_id)
    temp = temp_path(target, effect_id)
    fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if before is None else 0o600)
    try:
        try:
            _write_all(fd, data)
            if before is not None:
                _copy_owner_and_mode(fd, target, before.info)
            os.fsync(fd)
            _require_same_file(fd, temp)
        finally:
            os.close(fd)
        if before is None:
            _put_new(temp, target)
        else:
            _require_unchanged(place, before)
            temp.replace(target)
    except (OSError, ChangedMeanwhileError):
        discard_leftover(target, effect_id)
        raise
    try:
        flush_directory(target.parent)
    except OSError as error:
        raise FlushError(error.strerror or str(error)) from error


def make_parents(directory: Path) -> None:
    """Make a directory and what is missing above it, each flushed into its parent.

    Raises:
        OSError: one could not be made.
    """
    missing = []
    while not directory.exists():
        missing.append(directory)
        directory = directory.parent
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
        flush_directory(one.parent)


def flush_directory(directory: Path) -> None:
    """Make the names in a directory outlive a power cut, where the file system can.

    Raises:
        OSError: the flush failed.
    """
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_DIRECTORY_FLUSH:
            raise
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _copy_owner_and_mode(fd: int, target: Path, before: os.stat_result) -> None:
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # only root may give files away; the content matters more
            os.fchown(fd, before.st_uid, before.st_gid)
    _copy_attributes(fd, target)
    # after the owner, since a change of owner clears mode bits; other bytes must never run as somebody else
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _copy_attributes(fd: int, target: Path) -> None:
    """Copy the access list and other extended attributes, as far as the file system keeps any.

    With a list, the group's bits of the mode stand for something else: the mode alone would give the group more.
    """
    if sys.platform != "linux":
        return
    for name in _names_of(fd):
        with suppress(OSError):
            os.removexattr(fd, name)  # from the directory's default list
    for name in _names_of(target):
        with suppress(OSError):
            os.setxattr(fd, name, os.getxattr(target, name))


def _names_of(file: int | Path) -> list[str]:
    if sys.platform != "linux":
        return []
    with suppress(OSError):
        return [name for name in os.listxattr(file) if name not in _BOUND_TO_CONTENT]
    return []


def _put_new(temp: Path, target: Path) -> None:
    """Move a new file into place in one step that no file of somebody else can get under."""
    try:
        os.link(temp, target, follow_symlinks=False)
    except FileExistsError as error:
        raise ChangedMeanwhileError from error
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if os.path.lexists(target):
            raise ChangedMeanwhileError from error
        temp.replace(target)
    else:
        temp.unlink()


def _require_unchanged(place: ResolvedPath, before: RawFile) -> None:
    """Refuse to replace what another process has written since it was read.

    The content decides: a write may leave size and time as they were. Between this look and the rename lie some
    microseconds; no file system does both in one step.
    """
    try:
        now = read_raw_or_none(place)
    except ToolCallError as error:
        raise ChangedMeanwhileError from error
    if now is None or now.data != before.data:
        raise ChangedMeanwhileError


def _require_same_file(fd: int, temp: Path) -> None:
    """Refuse to rename what another process put under our name: a frozen worker that wakes up after its
    successor began the same effect must not move the successor's half written file into place."""
    mine, named = os.fstat(fd), temp.lstat()
    if (mine.st_dev, mine.st_ino) != (named.st_dev, named.st_ino):
        raise FileNotFoundError(errno.ENOENT, "another process took over this write")

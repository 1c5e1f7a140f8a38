"""Replace a file in one step, so that a crash at any instant leaves the old bytes or the new, never a mixture.

The new bytes go to a hidden file beside the target, are flushed to disk, and take the target's name; then the
directory is flushed. All of it happens in one directory that is held open, wherever its path leads meanwhile. The
hidden file's name is derived from the effect id, so a crashed write leaves at most one, and the next try or probe
of the same effect removes it.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import sys
from contextlib import suppress

from neuraphage.tools import beneath
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.files import READ_FLAGS, RawFile, read_in
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


def temp_name(effect_id: str) -> str:
    """The name under which the bytes of this effect wait beside their target."""
    plain = effect_id if _PLAIN_ID.fullmatch(effect_id) else hashlib.sha256(effect_id.encode()).hexdigest()
    return f".np-{plain}.tmp"


def discard_leftover(place: ResolvedPath, effect_id: str) -> None:
    """Remove what a crashed write of this effect left behind, if anything."""
    with suppress(OSError), place.holder() as (fd, _):
        _discard(fd, temp_name(effect_id))


def _discard(directory_fd: int, name: str) -> None:
    with suppress(OSError):  # it is hidden and harmless; a failure here must not hide the real outcome
        os.unlink(name, dir_fd=directory_fd)


def replace_file(place: ResolvedPath, data: bytes, effect_id: str, before: RawFile | None) -> None:
    """Give a file the bytes `data`; parents are made, each flushed into its own.

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
    with place.holder(made=flush_directory) as (fd, name):
        # A rename would get past the file's own write protection, so it is asked here.
        if before is not None and not os.access(name, os.W_OK, dir_fd=fd):
            raise PermissionError(errno.EACCES, "write protected")
        _put(place, fd, name, data, temp_name(effect_id), before)
        try:
            flush_directory(fd)
        except OSError as error:
            raise FlushError(error.strerror or str(error)) from error


def _put(place: ResolvedPath, fd: int, name: str, data: bytes, temp: str, before: RawFile | None) -> None:
    """Write the bytes beside the target and give them its name, all in the one directory that is open as `fd`."""
    _discard(fd, temp)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    file = os.open(temp, flags, 0o666 if before is None else 0o600, dir_fd=fd)
    try:
        try:
            _write_all(file, data)
            if before is not None:
                _copy_owner_and_mode(file, fd, name, before.info)
            os.fsync(file)
            _require_same_file(file, fd, temp)
        finally:
            os.close(file)
        beneath.require_in_place(place.pin, place.parts[:-1], fd)
        if before is None:
            _put_new(fd, temp, name)
        else:
            _require_unchanged(place, fd, name, before)
            os.replace(temp, name, src_dir_fd=fd, dst_dir_fd=fd)
    except (OSError, ChangedMeanwhileError):
        _discard(fd, temp)
        raise


def flush_directory(fd: int) -> None:
    """Make the names in a directory outlive a power cut, where the file system can.

    Raises:
        OSError: the flush failed.
    """
    with beneath.readable(fd) as opened:
        try:
            os.fsync(opened)
        except OSError as error:
            if error.errno not in _NO_DIRECTORY_FLUSH:
                raise


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _copy_owner_and_mode(fd: int, directory_fd: int, target: str, before: os.stat_result) -> None:
    now = os.fstat(fd)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(PermissionError):  # only root may give files away; the content matters more
            os.fchown(fd, before.st_uid, before.st_gid)
    _copy_attributes(fd, directory_fd, target)
    # after the owner, since a change of owner clears mode bits; other bytes must never run as somebody else
    os.fchmod(fd, stat.S_IMODE(before.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _copy_attributes(fd: int, directory_fd: int, target: str) -> None:
    """Copy the access list and other extended attributes, as far as the file system keeps any.

    With a list, the group's bits of the mode stand for something else: the mode alone would give the group more.
    """
    if sys.platform != "linux":
        return
    for name in _names_of(fd):
        with suppress(OSError):
            os.removexattr(fd, name)  # from the directory's default list
    with suppress(OSError):
        old = os.open(target, READ_FLAGS, dir_fd=directory_fd)
        try:
            for name in _names_of(old):
                with suppress(OSError):
                    os.setxattr(fd, name, os.getxattr(old, name))
        finally:
            os.close(old)


def _names_of(fd: int) -> list[str]:
    if sys.platform != "linux":
        return []
    with suppress(OSError):
        return [name for name in os.listxattr(fd) if name not in _BOUND_TO_CONTENT]
    return []


def _put_new(fd: int, temp: str, name: str) -> None:
    """Move a new file into place in one step that no file of somebody else can get under."""
    try:
        os.link(temp, name, src_dir_fd=fd, dst_dir_fd=fd, follow_symlinks=False)
    except FileExistsError as error:
        raise ChangedMeanwhileError from error
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        if _info_or_none(fd, name) is not None:
            raise ChangedMeanwhileError from error
        os.replace(temp, name, src_dir_fd=fd, dst_dir_fd=fd)
    else:
        os.unlink(temp, dir_fd=fd)


def _info_or_none(fd: int, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=fd, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _require_unchanged(place: ResolvedPath, fd: int, name: str, before: RawFile) -> None:
    """Refuse to replace what another process has written since it was read.

    The content decides: a write may leave size and time as they were. Between this look and the rename lie some
    microseconds; no file system does both in one step.
    """
    try:
        now = read_in(fd, name, place, "read")
    except (ToolCallError, OSError) as error:
        raise ChangedMeanwhileError from error
    if now.data != before.data:
        raise ChangedMeanwhileError


def _require_same_file(file: int, fd: int, temp: str) -> None:
    """Refuse to rename what another process put under our name: a frozen worker that wakes up after its
    successor began the same effect must not move the successor's half written file into place."""
    mine, named = os.fstat(file), os.stat(temp, dir_fd=fd, follow_symlinks=False)
    if (mine.st_dev, mine.st_ino) != (named.st_dev, named.st_ino):
        raise FileNotFoundError(errno.ENOENT, "another process took over this write")

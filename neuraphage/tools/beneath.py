"""Open what lies below a directory, and nothing else, whatever another process exchanges meanwhile.

A path is resolved first (see `paths`), links inside included. Each use of it then begins at the root, which must have
the device and inode that it had when the path was resolved, and goes down by handles, directory by directory; a link
that was put into the way since is not followed. Standard library only, see search_child.py.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

EXCHANGED = errno.EXDEV
"""The error number for a link, or another directory, that was put into the way. openat2 answers the same."""

# A handle that only leads on needs no right to read. Where there is none (macOS), the directory is opened to be read.
_ON_THE_WAY = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@dataclass(frozen=True, slots=True)
class Pin:
    """A directory that is to stay the same one.

    Args:
        path: where it is, links followed.
        device: its device.
        inode: its number there.
    """

    path: str
    device: int
    inode: int


def pinned(path: str) -> Pin:
    """Pin a directory as it is now.

    Raises:
        OSError: there is none.
    """
    info = os.stat(path)  # noqa: PTH116 - no pathlib here: a search starts in milliseconds
    return Pin(path, info.st_dev, info.st_ino)


@contextmanager
def directory(pin: Pin, parts: Sequence[str], made: Callable[[int], None] | None = None) -> Iterator[int]:
    """A handle of a directory, to be used as `dir_fd`. It may not be fit to be read, see `readable`.

    Args:
        pin: the root.
        parts: the names on the way from the root, none of them `..`.
        made: called with the handle of its parent for each directory that was made. Without it none is made.

    Raises:
        OSError: it cannot be reached; EXCHANGED when a link or another root is in the way.
    """
    fd = _root(pin)
    try:
        for part in parts:
            below = _below(fd, part, made)
            os.close(fd)
            fd = below
        yield fd
    finally:
        os.close(fd)


@contextmanager
def readable(fd: int, name: str = ".") -> Iterator[int]:
    """A handle of the same directory, or of one in it, that can be listed and flushed.

    Raises:
        OSError: it cannot be opened, or is a link.
    """
    opened = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        yield opened
    finally:
        os.close(opened)


def require_in_place(pin: Pin, parts: Sequence[str], fd: int) -> None:
    """Require that a handle is still that of the directory at its path: it may have been moved away meanwhile.

    Raises:
        OSError: EXCHANGED when it is not.
    """
    with directory(pin, parts) as now:
        if not os.path.sameopenfile(now, fd):
            raise _exchanged("/".join(parts))


def is_there(pin: Pin, parts: Sequence[str]) -> bool:
    """Whether something has this name, a dangling link included.

    Raises:
        OSError: nobody can tell.
    """
    if not parts:
        return True
    try:
        with directory(pin, parts[:-1]) as fd:
            os.stat(parts[-1], dir_fd=fd, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _root(pin: Pin) -> int:
    fd = os.open(pin.path, _ON_THE_WAY & ~os.O_NOFOLLOW)  # a link at its place leads to another directory, or to it
    info = os.fstat(fd)
    if (info.st_dev, info.st_ino) != (pin.device, pin.inode):
        os.close(fd)
        raise _exchanged(pin.path)
    return fd


def _below(fd: int, name: str, made: Callable[[int], None] | None) -> int:
    try:
        return os.open(name, _ON_THE_WAY, dir_fd=fd)
    except FileNotFoundError:
        if made is None:
            raise
    except OSError as error:
        if is_link(fd, name):
            raise _exchanged(name) from error
        raise
    try:
        os.mkdir(name, dir_fd=fd)
    except FileExistsError:
        pass  # somebody else has made it this very moment
    else:
        made(fd)
    return _below(fd, name, None)


def is_link(fd: int, name: str) -> bool:
    """Whether a name in a directory is a link; False where nobody can tell."""
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except OSError:
        return False


def _exchanged(name: str) -> OSError:
    return OSError(EXCHANGED, "replaced meanwhile", name)

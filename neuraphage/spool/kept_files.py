"""Files that are after a command what they were before it. Standard library only, see runner.py.

Their folders are opened before the command starts, so that nothing it puts in the place of one is followed; one that
it moved is moved back. What differs afterwards is renamed, not removed: nobody can tell whether the command or a
person has changed it.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False  # type checkers know this name; importing typing would double the start of a runner
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
_LARGE_BYTES = 1024 * 1024
_MOST_ENTRIES = 500
_ASIDE = "put-aside"


class KeptFiles:
    """What there is now at some paths.

    Args:
        paths: absolute; of each the folder has to be there, or it is left out. Files above 1 MiB and what is no
            file, folder or link are only looked at.
        inside: folder whose folders the command may move.
    """

    def __init__(self, paths: Iterable[bytes], inside: bytes) -> None:
        self._inside = inside.rstrip(b"/") + b"/"
        self._folders: dict[bytes, int] = {}
        self._above: dict[bytes, int] = {}
        self._found: list[tuple[int, bytes, Any]] = []
        for path in paths:
            above, name = os.path.split(path)
            try:
                if above not in self._folders:
                    self._above[above] = os.open(os.path.dirname(above), _FOLDER)  # noqa: PTH120 - no pathlib here
                    self._folders[above] = os.open(above, _FOLDER)
                self._found.append((self._folders[above], name, _look(self._folders[above], name)))
            except OSError:
                continue

    def put_back(self) -> str:
        """Put back what has changed.

        Returns:
            What was changed, as a phrase for people; empty for nothing. It names only what it was given.
        """
        changed, lost = [], []
        for path in sorted(one for one in self._folders if one.startswith(self._inside)):
            name = os.path.basename(path)  # noqa: PTH119 - no pathlib here
            try:
                if _move_back(self._above[path], name, self._folders[path]):
                    changed.append(name)
            except OSError:
                lost.append(name)
        for folder, name, before in self._found:
            try:
                if _look(folder, name) == before:
                    continue
                if _is_there(folder, name):
                    _put_aside(folder, name)
                _make(folder, name, before)
                changed.append(name)
            except OSError:
                lost.append(name)
        told = []
        if changed:
            told.append(
                f"what git obeys was changed and put back: {_names(changed)}; the other is there as *.{_ASIDE}-*"
            )
        if lost:
            told.append(f"what git obeys was changed and could not be put back: {_names(lost)}")
        return "; ".join(told)


def _move_back(above: int, name: bytes, folder: int) -> bool:
    """Put an opened folder back to where it was, if it has been moved away; what took its place goes aside.

    Returns:
        Whether it had to be.

    Raises:
        OSError: it is nowhere any more.
    """
    own = os.fstat(folder)
    try:
        now = os.lstat(name, dir_fd=above)
    except FileNotFoundError:
        now = None
    if now is not None and (now.st_dev, now.st_ino) == (own.st_dev, own.st_ino):
        return False
    place = os.readlink(f"/proc/self/fd/{folder}")  # noqa: PTH115 - no pathlib here
    found = os.lstat(place)
    if (found.st_dev, found.st_ino) != (own.st_dev, own.st_ino):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place)
    if now is not None:
        _put_aside(above, name)
    os.rename(place, name, dst_dir_fd=above)
    return True


def _put_aside(folder: int, name: bytes) -> None:
    aside = b"%s.%s-%s" % (name, _ASIDE.encode(), os.urandom(4).hex().encode())
    os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=folder)


def _look(folder: int, name: bytes, budget: list[int] | None = None) -> Any:
    """What is at a name, so that it can be compared, and made again; None for nothing."""
    budget = [_MOST_ENTRIES] if budget is None else budget
    budget[0] -= 1
    try:
        found = os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return None
    mode = stat.S_IMODE(found.st_mode)
    if stat.S_ISLNK(found.st_mode):
        return ("link", os.readlink(name, dir_fd=folder))
    if stat.S_ISREG(found.st_mode) and found.st_size <= _LARGE_BYTES:
        file = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            return ("file", mode, os.read(file, _LARGE_BYTES + 1))
        finally:
            os.close(file)
    if stat.S_ISDIR(found.st_mode) and budget[0] > 0:
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            names = sorted(os.fsencode(one) for one in os.listdir(inner))  # noqa: PTH208 - no pathlib here
            return ("folder", mode, [(one, _look(inner, one, budget)) for one in names])
        finally:
            os.close(inner)
    return ("other", found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _make(folder: int, name: bytes, before: Any) -> None:
    """Make again what `_look` has found.

    Raises:
        OSError: it cannot be made.
    """
    if before is None:
        return
    if before[0] == "link":
        os.symlink(before[1], name, dir_fd=folder)
    elif before[0] == "file":
        file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=folder)
        try:
            os.write(file, before[2])
            os.fchmod(file, before[1])
        finally:
            os.close(file)
    elif before[0] == "folder":
        os.mkdir(name, 0o700, dir_fd=folder)
        inner = os.open(name, _FOLDER, dir_fd=folder)
        try:
            for one, content in before[2]:
                _make(inner, one, content)
            os.fchmod(inner, before[1])
        finally:
            os.close(inner)
    else:
        raise OSError("too large to be remembered")


def _is_there(folder: int, name: bytes) -> bool:
    try:
        os.lstat(name, dir_fd=folder)
    except FileNotFoundError:
        return False
    return True


def _names(names: list[bytes]) -> str:
    """For a record that nothing escapes."""
    plain = (os.fsdecode(name) for name in dict.fromkeys(names))
    return ", ".join(name for name in plain if name.replace(".", "").replace("-", "").isalnum() and name.isascii())

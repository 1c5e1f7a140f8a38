"""What a command may do with files where Landlock is all there is: rules made from what it is to see. Pure.

A rule of Landlock allows something below a path, and nothing forbids what another rule allows. So what is hidden or
guarded is left out: along the way to it, all that is beside it is allowed, entry by entry, as it is when the command
starts. What comes of that:

* A folder on the way to something hidden cannot be listed, if that is a folder; and what is made in it later cannot be
  read.
* In a folder on the way to something guarded, nothing can be made, removed or renamed; its other entries can be
  changed. `closed_folders` names these folders.

And what Landlock does not do at all, whatever the rules:

* There is no namespace: other processes are seen (their memory, files and environment are not: the kernel lets a
  restricted process trace none but its own), and before ABI 6 they can be sent signals.
* /tmp is that of the machine, to be read; /dev/shm and terminals are not to be had at all.
* Rights, owners, times and attributes of files, also of hidden ones, can be looked at and changed wherever the user
  may: the kernel does not ask Landlock about these.
* Connections to sockets in the file system are not its matter: the filter of system calls forbids to make sockets.

Standard library only: landlock_exec.py loads this file by its folder.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # type checkers know this name; importing typing would lengthen the start of landlock_exec.py
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    class _View(Protocol):
        """model.sandbox.SandboxView, or what landlock_exec.py has in its place."""

        @property
        def working_dir(self) -> str: ...
        @property
        def guarded(self) -> tuple[str, ...]: ...
        @property
        def hidden(self) -> tuple[str, ...]: ...
        @property
        def shown(self) -> tuple[str, ...]: ...


EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE = 1 << 4 | 1 << 5
_MAKE_DEVICE = 1 << 6 | 1 << 11
_MAKE = 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 12
_REFER, TRUNCATE, _IOCTL_DEVICE = 1 << 13, 1 << 14, 1 << 15

READ = EXECUTE | READ_FILE | READ_DIR
WRITE = WRITE_FILE | TRUNCATE | _REMOVE | _MAKE | _REFER
OF_FILES = EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | _IOCTL_DEVICE
"""What can be allowed of something that is no folder."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

LEAST_ABI = 3
"""Before it, a file could be emptied whatever the rules say."""
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "landlock_exec.py")  # noqa: PTH100, PTH118, PTH120 - no pathlib here


class Folders:
    """What is in the file system, as far as the rules have to know it; tests have one of their own."""

    def names(self, path: str) -> list[str]:
        """Entries of a folder that are no links; none of one that cannot be read.

        A link needs no rule: what it leads to is judged by its own place.
        """
        try:
            with os.scandir(path) as found:
                return sorted(entry.name for entry in found if not entry.is_symlink())
        except OSError:
            return []

    def is_folder(self, path: str) -> bool:
        """Whether a path is that of a folder."""
        return os.path.isdir(path)  # noqa: PTH112 - pathlib would lengthen the start


def handled(abi: int) -> tuple[int, int, int]:
    """What of files, of TCP and of scopes is refused unless a rule allows it: all that the kernel can.

    Args:
        abi: version of Landlock that the kernel has.
    """
    files = READ | WRITE | _MAKE_DEVICE | (_IOCTL_DEVICE if abi >= 5 else 0)
    return files, 0b11 if abi >= 4 else 0, 0b11 if abi >= 6 else 0


def rules(view: _View, tmp_dir: str, folders: Folders, *, keep_guarded: bool = True) -> dict[str, int]:
    """What is allowed, by path.

    Args:
        view: of the command.
        tmp_dir: folder for its temporary files, which it may change.
        folders: what is in the file system.
        keep_guarded: see `landlocked`.
    """
    found: dict[str, int] = {}

    def allow(path: str, access: int) -> None:
        found[path] = found.get(path, 0) | access

    def read_on_the_way(path: str) -> None:
        if not any(_is_below(one, path) and folders.is_folder(one) for one in view.hidden):
            allow(path, READ_DIR)

    shown = (*view.shown, view.working_dir, tmp_dir)
    _walk("/", True, {"/dev", *view.hidden}, set(shown), folders, lambda path: allow(path, READ), read_on_the_way)
    closed = {*view.hidden, *_guarded(view, keep_guarded)}
    for path in (view.working_dir, tmp_dir):
        if path not in closed:
            _walk(path, True, closed, set(), folders, lambda path: allow(path, WRITE), lambda _: None)
    allow("/dev", READ_DIR)
    for path in DEVICES:
        allow(path, OF_FILES)
    return found


def closed_folders(view: _View, *, keep_guarded: bool = True) -> tuple[str, ...]:
    """Folders in which a command can make and remove nothing, though they are below its working directory.

    Args:
        view: of the command.
        keep_guarded: see `landlocked`.
    """
    closed = (*_guarded(view, keep_guarded), *view.hidden)
    inside = [path for path in closed if _is_below(path, view.working_dir)]
    return tuple(sorted({above for path in inside for above in _above(path, view.working_dir)}))


def landlocked(argv: Sequence[str], view: _View, tmp_dir: str, *, keep_guarded: bool = True) -> list[str]:
    """A command with the program before it that restricts it. It needs no rights.

    Args:
        argv: of the command.
        view: of the command; its proxy's socket is not used: in this way there is no network at all.
        tmp_dir: an existing folder of its own for temporary files, absolute and resolved; name it by TMPDIR.
        keep_guarded: False lets it change what is guarded, so that it can make files in the folders above.
    """
    named = {
        "--working-dir": (view.working_dir,),
        "--tmp": (tmp_dir,),
        "--guarded": _guarded(view, keep_guarded),
        "--hidden": view.hidden,
        "--shown": view.shown,
    }
    options = [word for option, paths in named.items() for path in paths for word in (option, path)]
    return [sys.executable, "-I", "-S", _PROGRAM, *options, "--", *argv]


def _guarded(view: _View, keep_guarded: bool) -> tuple[str, ...]:
    return view.guarded if keep_guarded else ()


def _walk(
    path: str,
    is_open: bool,
    closed: set[str],
    opened: set[str],
    folders: Folders,
    allow: Callable[[str], None],
    pass_through: Callable[[str], None],
) -> None:
    """Go down as far as there is something to leave out or to let in.

    Args:
        path: to begin with.
        is_open: whether what is at the path is allowed, unless it is named.
        closed: paths that are not, with what is below.
        opened: paths below those that are.
        folders: what is in the file system.
        allow: told each path that is allowed with all that is below.
        pass_through: told each path that is allowed, but not all that is below.
    """
    is_open = (is_open or path in opened) and path not in closed
    named = [one for one in (closed if is_open else opened) if _is_below(one, path)]
    if is_open and not named:
        allow(path)
        return
    if is_open:
        pass_through(path)
    names = folders.names(path) if is_open else _next_names(path, named)
    for name in names:
        _walk(f"{path.rstrip('/')}/{name}", is_open, closed, opened, folders, allow, pass_through)


def _next_names(path: str, named: Iterable[str]) -> list[str]:
    """Names of the entries of a folder that the way to some paths goes through."""
    start = len(path.rstrip("/")) + 1
    return sorted({one[start:].partition("/")[0] for one in named})


def _is_below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/") and path != folder


def _above(path: str, folder: str) -> list[str]:
    """The folders between a path and one above it, which counts as one of them."""
    found = []
    while _is_below(path, folder):
        path = path.rpartition("/")[0] or "/"
        found.append(path)
    return found

"""Paths resolve inside the working directory, links followed; what leads outside is refused.

What is resolved is used by handles alone (see `beneath`), so a link that is exchanged afterwards leads nowhere.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from neuraphage.decide.shorten import printable, shorten
from neuraphage.tools import beneath
from neuraphage.tools.base import ToolCallError
from neuraphage.tools.near import difference, near_path
from neuraphage.tools.working_dir import WHAT_TO_DO, working_dir_report

_MAX_SHOWN_CHARS = 300
_SHELL_WORD = re.compile(r"~\Z|(?:~[\w.-]*|\$HOME|\$\{HOME\}|\$PWD|\$\{PWD\})/")

_FOUND: dict[int, str] = {
    errno.ENOENT: "it does not exist (or has just vanished). Look with list_directory or glob for the right path",
    errno.ENOTDIR: "a part of the path is a file, not a directory. Look with list_directory for the right path",
    beneath.EXCHANGED: "a directory on the way to it was replaced meanwhile, or became a link. Nothing outside of the"
    " working directory was touched. Look with list_directory at what is there now, then decide",
    errno.EISDIR: "it is a directory, not a file. Use list_directory to see what is in it, and name a file",
    errno.ELOOP: "its symbolic links form a loop. Name the real file, or repair the links",
    errno.ENAMETOOLONG: "the name is too long for the file system. Use a shorter name",
    errno.EACCES: "permission denied. Choose another path, or ask the user to change the permissions",
    errno.EPERM: "the operation is not permitted. Choose another path, or ask the user to change the permissions",
    errno.EROFS: "the file system is read-only. Choose a path on another file system, or ask the user",
    errno.ENOSPC: "the disk is full. Free some space (or ask the user to), then try again",
    errno.EDQUOT: "the disk quota is used up. Free some space (or ask the user to), then try again",
}


@dataclass(frozen=True, slots=True)
class ResolvedPath:
    """A path that was found to lie inside the working directory.

    Args:
        root: the working directory, resolved.
        path: the place itself, resolved; it need not exist. A name: what is there is reached through `holder`.
        shown: the path relative to the root, fit to be shown.
        pin: what the root was when the path was resolved.
    """

    root: Path
    path: Path
    shown: str
    pin: beneath.Pin

    @property
    def parts(self) -> tuple[str, ...]:
        """The names on the way from the root; none for the root itself."""
        return self.path.relative_to(self.root).parts

    @contextmanager
    def holder(self, made: Callable[[int], None] | None = None) -> Iterator[tuple[int, str]]:
        """A handle of the directory that holds the place, and its name there. See `beneath.directory`."""
        parts = self.parts
        with beneath.directory(self.pin, parts[:-1], made) as fd:
            yield fd, parts[-1] if parts else "."


def os_failure(
    action: str, shown: str, error: OSError, after: str = "", place: ResolvedPath | None = None
) -> ToolCallError:
    """Say what was tried, what the system answered and what to do next.

    Args:
        action: a verb, such as "read".
        shown: the path.
        error: the system's answer.
        after: a last sentence, such as what was left unchanged.
        place: where nothing is, to look for what only seems to be the same.
    """
    found = _FOUND.get(error.errno or 0)
    if found is None:
        found = f"{error.strerror or type(error).__name__}. Try again, or ask the user to look at the machine"
    near = _near(place) if place is not None and error.errno in {errno.ENOENT, errno.ENOTDIR} else ""
    return ToolCallError(f"Could not {action} {shown}: {found}.{near}{' ' if after else ''}{after}")


def _near(place: ResolvedPath) -> str:
    found = near_path(place.pin, place.parts)
    if found is None:
        return ""
    what = difference(found, "/".join(place.parts))
    return f" There is {found!a}, which differs by {what} alone: did you mean that?"


def working_root(working_dir: str | None) -> Path:
    """Resolve the working directory.

    Raises:
        ToolCallError: the task has none, or it cannot be used.
    """
    if working_dir is None:
        raise ToolCallError(
            "This task has no working directory, so it has no files. Finish without them, or fail the task."
        )
    report = working_dir_report(working_dir)
    if report is not None:
        raise ToolCallError(report)
    try:
        return Path(os.path.realpath(working_dir, strict=True))
    except OSError as error:  # it went this very moment
        raise ToolCallError(working_dir_report(working_dir) or WHAT_TO_DO) from error


def resolve(path: str, working_dir: str | None) -> ResolvedPath:
    """Resolve a path of a call against the working directory.

    Raises:
        ToolCallError: no working directory, a loop of links, or a place outside.
    """
    root = working_root(working_dir)
    pin = _pinned(root)
    named = root / path
    _refuse_shell_words(path, root)
    try:
        found = Path(os.path.realpath(named, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        # Not there yet: what exists of it is resolved, the rest is taken as it is spelt.
        found = Path(os.path.realpath(named))
    except RecursionError as error:  # each link to a link is a call of realpath
        raise os_failure("resolve", shown_path(path), OSError(errno.ELOOP, "")) from error
    except OSError as error:
        raise os_failure("resolve", shown_path(path), error) from error
    except ValueError as error:
        raise ToolCallError(f"Could not use {shown_path(path)}: {error}. Send a path without that.") from error
    if not found.is_relative_to(root):
        raise ToolCallError(
            f"Could not use {shown_path(path)}: it leads outside the working directory. Use a path inside"
            f" {printable(str(root))}."
        )
    return ResolvedPath(root, found, printable(found.relative_to(root).as_posix()), pin)


def _pinned(root: Path) -> beneath.Pin:
    try:
        return beneath.pinned(str(root))
    except OSError as error:  # it went this very moment
        raise ToolCallError(working_dir_report(str(root)) or WHAT_TO_DO) from error


def _refuse_shell_words(path: str, root: Path) -> None:
    """Refuse what only a shell would replace, where it would make a directory called `~`."""
    found = _SHELL_WORD.match(path)
    if found is not None and not os.path.lexists(root / found[0].rstrip("/")):
        raise ToolCallError(
            f"Could not use {shown_path(path)}: {found[0].rstrip('/')} is not replaced here, as a shell would do, and"
            f" there is nothing of that name. Use a path inside {printable(str(root))}."
        )


def shown_path(path: str) -> str:
    """A path of a call fit to be shown: any byte is printable, and it is never very long.

    Only for what a call names, which was redacted before it was stored. A path that was found on the disk may have a
    secret in it that the cut would halve; the file system bounds its length.
    """
    return shorten(printable(path), _MAX_SHOWN_CHARS)

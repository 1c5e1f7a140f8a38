"""Files below a directory as a search sees them: by name, without what git ignores, within limits.

Standard library only, see search_child.py.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or __package__:
    from neuraphage.tools import beneath
    from neuraphage.tools.search_patterns import Rule, ignore_rules, is_ignored
else:
    import beneath
    from search_patterns import Rule, ignore_rules, is_ignored  # by search_child.py, which is run by path

MAX_DEPTH = 25
MAX_VISITS = 500_000
MAX_FILE_BYTES = 10 * 1024 * 1024


class Stopped(Exception):
    """A limit was reached; what was found so far is the answer."""


def read_regular(path: str, limit_bytes: int, dir_fd: int | None = None) -> bytes | str:
    """Bytes of a regular file, or one word why not (link, special, large, unreadable). Never blocks.

    Args:
        path: the file; with `dir_fd` its name in that directory.
        limit_bytes: most bytes.
        dir_fd: handle of a directory.
    """
    try:
        # first, for to open a device can do something; the flags are against a swap
        mode = os.stat(path, dir_fd=dir_fd, follow_symlinks=False).st_mode
        if not stat.S_ISREG(mode):
            return "link" if stat.S_ISLNK(mode) else "special"
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY
        with os.fdopen(os.open(path, flags, dir_fd=dir_fd), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return "special"
            data: bytes | None = file.read(limit_bytes + 1)
    except OSError:
        return "unreadable"
    if data is None:  # a file of the kernel that has nothing yet, such as /proc/kmsg
        return "unreadable"
    return data if len(data) <= limit_bytes else "large"


class Walk:
    """Files below a directory, by name, without .git and what git's rules name; links are not followed.

    What is found is reached by handles from the root on (see `beneath`). Rules count from the top of the repository on,
    which may lie above the root; without a repository, from the root on. They are read by their paths: all that they
    can do is to leave something out.
    """

    def __init__(self, root: beneath.Pin, base: str, levels: int = MAX_DEPTH) -> None:
        self.root = root.path
        self.pin = root
        self.base = base
        self.directory_fd = -1
        """Handle of the directory of the path that `files` has just given; good until it is asked for the next one."""
        self.levels = levels
        self.visits = 0
        self.too_deep = False
        self.unreadable = 0
        self.ignored_files = 0
        self.ignored_directories = 0
        above = [Path(root.path), *Path(root.path).parents]
        top = str(next((one for one in above if os.path.lexists(one / ".git")), above[0]))
        self.to_root = "" if top == self.root else os.path.relpath(self.root, top) + "/"
        self.top = top

    def limits(self, stopped: str) -> dict[str, Any]:
        """What of the tree was left out, and why."""
        return {
            "stopped": stopped,
            "too_deep": self.too_deep,
            "unreadable": self.unreadable,
            "ignored": [self.ignored_files, self.ignored_directories],
        }

    def files(self) -> Iterator[str]:
        """Paths relative to the root.

        Raises:
            OSError: the base was replaced meanwhile.
        """
        below = "/".join(parts_below(self.root, self.base))
        parts = Path(self.to_root + below).parts
        rules: list[Rule] = []
        for depth in range(len(parts)):  # those above the base count too
            rules = self._with_rules("/".join(parts[:depth]), rules)
        with beneath.directory(self.pin, parts_below(self.root, self.base)) as fd:
            yield from self._below(fd, ".", below, 0, rules)

    def _with_rules(self, from_top: str, rules: list[Rule]) -> list[Rule]:
        """The rules that hold in a directory, which is named from the top; another repository begins anew."""
        directory = f"{self.top}/{from_top}" if from_top else self.top
        prefix = as_bytes(from_top) + "/" if from_top else ""
        if os.path.lexists(f"{directory}/.git"):
            rules = self._read(f"{git_folder(directory)}/info/exclude", prefix)
        return rules + self._read(f"{directory}/.gitignore", prefix)

    def _read(self, path: str, prefix: str) -> list[Rule]:
        data = read_regular(path, MAX_FILE_BYTES)
        return [] if isinstance(data, str) else ignore_rules(data, prefix)

    def _below(self, above_fd: int, name: str, relative: str, depth: int, rules: list[Rule]) -> Iterator[str]:
        try:
            fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above_fd)
        except OSError:
            self.unreadable += 1
            return
        try:
            yield from self._in(fd, relative, depth, rules)
        finally:
            os.close(fd)

    def _in(self, fd: int, relative: str, depth: int, rules: list[Rule]) -> Iterator[str]:
        try:
            with os.scandir(fd) as found:
                entries = sorted((entry.name, entry.is_dir(follow_symlinks=False)) for entry in found)
        except OSError:
            self.unreadable += 1
            return
        rules = self._with_rules((self.to_root + relative).rstrip("/"), rules)
        for name, is_directory in entries:
            self.visits += 1
            if self.visits > MAX_VISITS:
                raise Stopped(f"more than {MAX_VISITS} files were visited")
            inside = f"{relative}/{name}" if relative else name
            if name == ".git":
                continue
            if is_ignored(as_bytes(self.to_root + inside), is_directory, rules):
                self.ignored_files += not is_directory
                self.ignored_directories += is_directory
            elif not is_directory:
                self.directory_fd = fd
                yield inside
            elif depth + 1 < min(self.levels, MAX_DEPTH):
                yield from self._below(fd, name, inside, depth + 1, rules)
            else:
                self.too_deep = self.levels >= MAX_DEPTH


def parts_below(root: str, base: str) -> tuple[str, ...]:
    """The names on the way from the root to the base."""
    return Path(base).relative_to(root).parts


def as_bytes(path: str) -> str:
    """A path with one character a byte, as rules are matched."""
    return os.fsencode(path).decode("latin-1")


def git_folder(directory: str) -> str:
    """Where a repository keeps info/exclude: its .git, or for a worktree or a submodule the folder that one names."""
    folder = f"{directory}/.git"
    named = read_regular(folder, 4_096)
    if isinstance(named, bytes) and named.startswith(b"gitdir: "):
        folder = os.path.join(directory, os.fsdecode(named[8:].rstrip(b"\r\n")))  # noqa: PTH118 - absolute or not
        common = read_regular(f"{folder}/commondir", 4_096)
        if isinstance(common, bytes):
            folder = os.path.join(folder, os.fsdecode(common.rstrip(b"\r\n")))  # noqa: PTH118 - likewise
    return folder

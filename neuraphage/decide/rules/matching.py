"""Which commands and paths a pattern is about. Pure.

A word of a command's pattern is matched with `*`, `?` and `[...]`; a `*` at the end stands for all further words. In a
path `*` stays within a directory and `**` does not.
"""

from __future__ import annotations

import posixpath
import re
from fnmatch import fnmatchcase
from functools import lru_cache

from neuraphage.model.shell import SimpleCommand


def fits_certainly(pattern: str, command: SimpleCommand) -> bool:
    """Whether a command is one of those that a pattern allows, whatever the shell makes of its words."""
    return _fits(pattern.split(), command, certainly=True)


def fits_as_written(pattern: str, command: SimpleCommand) -> bool:
    """Whether a command is one of those that a pattern forbids, by whatever path it is called."""
    return not _hides(pattern, command) and _fits(pattern.split(), command, certainly=False)


def fits_possibly(pattern: str, command: SimpleCommand) -> bool:
    """Whether a command may be one of those, by what the shell makes of its words."""
    return _fits(pattern.split(), command, certainly=False)


def _hides(pattern: str, command: SimpleCommand) -> bool:
    """Whether a word that the pattern speaks of is not certain."""
    return any(not word.texts for word in command.words[: len(pattern.split())])


def _fits(wanted: list[str], command: SimpleCommand, *, certainly: bool) -> bool:
    words = command.words
    takes_rest = wanted[-1] == "*" and len(wanted) > 1
    wanted = wanted[:-1] if takes_rest else wanted
    if len(words) < len(wanted) or (len(words) > len(wanted) and not takes_rest):
        return False
    for at, pattern in enumerate(wanted):
        texts = words[at].texts
        if certainly:
            if not texts or words[at].is_pattern or not all(fnmatchcase(text, pattern) for text in texts):
                return False
        elif texts:  # a program may be called by its path too
            named = (*texts, *(text.rpartition("/")[2] for text in texts)) if at == 0 else texts
            if not any(fnmatchcase(text, pattern) for text in named):
                return False
    return True


def fits_path(pattern: str, path: str, working_dir: str | None) -> bool:
    """Whether a path is one of those that a pattern is about.

    Args:
        pattern: below the working directory, or absolute.
        path: as it was given.
        working_dir: of the task.
    """
    whole = posixpath.normpath(posixpath.join(working_dir or "/", path))
    if not pattern.startswith("/"):
        root = posixpath.normpath(working_dir or "/")
        if whole != root and not whole.startswith(root.rstrip("/") + "/"):
            return False
        whole = posixpath.relpath(whole, root)
    return _expression(pattern.removeprefix("./")).fullmatch(whole) is not None


@lru_cache(maxsize=16)
def any_path(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for paths that fit any of these patterns."""
    return re.compile("|".join(_expression(pattern).pattern for pattern in patterns), re.DOTALL)


@lru_cache(maxsize=256)
def _expression(pattern: str) -> re.Pattern[str]:
    made = []
    for part in re.split(r"(/\*\*/|^\*\*/|/\*\*$|\*\*|\*|\?)", pattern):
        match part:
            case "/**/":
                made.append("/(?:.*/)?")
            case "**/":
                made.append("(?:.*/)?")
            case "/**":
                made.append("/.*")
            case "**":
                made.append(".*")
            case "*":
                made.append("[^/]*")
            case "?":
                made.append("[^/]")
            case _:
                made.append(re.escape(part))
    return re.compile("".join(made), re.DOTALL)

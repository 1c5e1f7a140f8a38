"""The forms that never run: they would destroy the machine, a home directory or a disk. Pure.

They are judged by the commands that a line runs, so a text that only speaks of one of them is none. Other deletes are
asked about like any command.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise

from neuraphage.model.shell import HOME, ShellLine, ShellWord, SimpleCommand

_SYSTEM = frozenset({
    "Applications", "Library", "System", "Users", "bin", "boot", "dev", "etc", "home", "lib", "lib32", "lib64", "nix",
    "opt", "private", "proc", "root", "run", "sbin", "srv", "sys", "usr", "var",
})  # fmt: skip
"""Directories right below `/` without which no machine goes on."""
_HOMES = frozenset({"home", "Users"})
"""Directories whose entries are homes."""
_DISK = re.compile(r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk|dm-|mapper/|md\d)")
_ALL_ENTRIES = frozenset({"*", ".*", ".[!.]*", ".??*"})
_NARROWING = frozenset({
    "-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-newer", "-mtime", "-mmin", "-atime",
    "-amin", "-ctime", "-cmin", "-size", "-user", "-group", "-perm", "-empty", "-inum", "-samefile",
})  # fmt: skip
"""Tests of `find` that leave out nearly all."""
_WIDENING = frozenset({"!", "-not", "-o", "-or", ","})
"""With these a test may leave out next to nothing."""


def is_catastrophe(line: ShellLine) -> bool:
    """Whether a line has a form that never runs."""
    if line.is_fork_bomb:
        return True
    if any(one.writes and _is_disk(one.target) for one in line.redirects):
        return True
    place: str | None = None
    for command in line.commands:
        if command.name in ("cd", "pushd"):
            place = changed_to(command, place)
            continue
        judge = _JUDGES.get((command.name or "").partition(".")[0])
        if judge is not None and judge(command, place):
            return True
    return False


def changed_to(command: SimpleCommand, place: str | None) -> str | None:
    """Where a `cd` leads; None where that is not certain.

    Args:
        command: the `cd`.
        place: where the line was before; None for the place that it began in.
    """
    text = next((word.text for word in _operands(command.words)), HOME)
    if text is None or text == "-" or _is_absolute(text):
        return None if text == "-" else text
    return f"{place}/{text}" if place is not None else None


# --- places --------------------------------------------------------------------------------------------


def _is_root(word: ShellWord, place: str | None) -> bool:
    """Whether a word names `/`, a home, or a directory of the system: itself, or all that is in it.

    Args:
        word: of a command.
        place: the directory that the line has changed to before; None for the one that it began in.
    """
    return any(_is_root_path(text if place is None or _is_absolute(text) else f"{place}/{text}") for text in word.texts)


def _is_absolute(text: str) -> bool:
    return text.startswith(("/", HOME))


def _is_root_path(text: str) -> bool:
    if not _is_absolute(text):
        return False
    names: list[str] = []
    for name in text.removeprefix(HOME).split("/"):
        if name == ".." and not (names and names[-1] != ".."):
            if text.startswith(HOME):
                return True  # above a home
        elif name == "..":
            names.pop()
        elif name not in ("", "."):
            names.append(name)
    if names and names[-1] in _ALL_ENTRIES:
        names.pop()
    if text.startswith(HOME) or not names:
        return not names
    is_top = len(names) == 1 and (names[0] in _SYSTEM or bool(set(names[0]) & set("*?[")))
    return is_top or (len(names) == 2 and names[0] in _HOMES)


def _is_disk(word: ShellWord) -> bool:
    return any(map(_is_disk_path, word.texts))


def _is_disk_path(text: str) -> bool:
    return _DISK.match(re.sub(r"/(?:\./|/)*", "/", text)) is not None


# --- programs ------------------------------------------------------------------------------------------


def _operands(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """The words that are no options; GNU's programs take both in any order."""
    only_operands = False
    for word in words[1:]:
        text = word.text or ""
        if text == "--" and not only_operands:
            only_operands = True
        elif only_operands or not text.startswith("-") or text == "-":
            yield word


def _has_option(words: Sequence[ShellWord], letters: str, long: str) -> bool:
    """Whether an option is given, by one of its letters or by its long name, which may be shortened."""
    for word in words[1:]:
        text = word.text or ""
        if text == "--":
            return False
        if text.startswith("--"):
            if len(text) > 2 and long.startswith(text):
                return True
        elif text.startswith("-") and set(text[1:]) & set(letters):
            return True
    return False


def _removes_root(command: SimpleCommand, place: str | None) -> bool:
    recursive = _has_option(command.words, "rR", "--recursive")
    return recursive and any(_is_root(word, place) for word in _operands(command.words))


def _changes_root(command: SimpleCommand, place: str | None) -> bool:
    recursive = _has_option(command.words, "R", "--recursive")
    return recursive and any(_is_root(word, place) for word in _operands(command.words))


def _moves_root(command: SimpleCommand, place: str | None) -> bool:
    operands = list(_operands(command.words))
    return any(_is_root(word, place) for word in operands[:-1]) or any(map(_is_disk, operands[-1:]))


def _finds_and_deletes(command: SimpleCommand, place: str | None) -> bool:
    texts = [word.text or "" for word in command.words[1:]]
    starts = []
    for word in command.words[1:]:
        if (word.text or "").startswith(("-", "(", "!")):
            break
        starts.append(word)
    removes = "-delete" in texts or any(
        text in ("-exec", "-execdir") and after.rpartition("/")[2] in ("rm", "shred", "unlink")
        for text, after in pairwise(texts)
    )
    narrows = _NARROWING & set(texts) and not _WIDENING & set(texts)
    return removes and not narrows and any(_is_root(word, place) for word in starts)


def _writes_disk(command: SimpleCommand, _: str | None) -> bool:
    return any(map(_is_disk, _operands(command.words)))


def _copies_to_disk(command: SimpleCommand, _: str | None) -> bool:
    return any(map(_is_disk, list(_operands(command.words))[-1:]))


def _dd_to_disk(command: SimpleCommand, _: str | None) -> bool:
    texts = (text for word in command.words for text in word.texts)
    return any(_is_disk_path(text.removeprefix("of=")) for text in texts if text.startswith("of="))


def _makes_file_system(command: SimpleCommand, _: str | None) -> bool:
    return any(text.startswith("/dev/") for word in command.words[1:] for text in word.texts)


_JUDGES: Mapping[str, Callable[[SimpleCommand, str | None], bool]] = {
    "blkdiscard": _writes_disk,
    "chgrp": _changes_root,
    "chmod": _changes_root,
    "chown": _changes_root,
    "cp": _copies_to_disk,
    "dd": _dd_to_disk,
    "find": _finds_and_deletes,
    "install": _copies_to_disk,
    "mkfs": _makes_file_system,
    "mkswap": _makes_file_system,
    "mv": _moves_root,
    "pvcreate": _writes_disk,
    "rm": _removes_root,
    "shred": _writes_disk,
    "tee": _writes_disk,
    "truncate": _writes_disk,
    "wipefs": _writes_disk,
}
"""By the program's name, without what stands behind a dot (`mkfs.ext4`)."""

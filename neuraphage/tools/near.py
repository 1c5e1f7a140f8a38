"""Texts and names that look the same and are not: which one is there instead, and what makes the difference.

Standard library only, see search_child.py.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING or __package__:
    from neuraphage.tools import beneath
else:
    import beneath  # by search_child.py, which is run by path

_LOOKALIKE = str.maketrans(
    {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″", '"'), **dict.fromkeys("‐‑‒–—―−", "-"), "…": "..."}
    | dict.fromkeys("\u200b\u200c\u200d\u2060\ufeff\u00ad", "")
)
_MAX_NAMES = 20_000
_MAX_NAMED = 4
_MAX_TEXT_CHARS = 2_000_000
_SPELLED_CONTROL = re.compile(r"\\(?:x|u00)([01][0-9a-fA-F]|7f)|\\(0[0-3][0-7])")
_NUMBERS = re.compile(r"(?m)^ *\d+\t")


def _form(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def plain_looks(text: str) -> str:
    """A text with one character for all that look the same."""
    return unicodedata.normalize("NFKC", text).translate(_LOOKALIKE)


def _spaces(text: str) -> str:
    return re.sub(r"[^\S\n]+", " ", re.sub(r"[^\S\n]*(\n|\Z)[^\S\n]*", r"\1", text)).strip(" ")


FORM = "its Unicode form (composed or decomposed letters)"
LOOKS = "characters that look alike (quotes, dashes, spaces, invisible ones)"
SPACES = "white space (tabs, spaces at the start or end of lines)"
CASE = "upper and lower case"
_LEVELS: list[tuple[str, Callable[[str], str]]] = [
    (FORM, _form),
    (LOOKS, plain_looks),
    (SPACES, _spaces),
    ("white space and characters that look alike", lambda text: _spaces(plain_looks(text))),
    (CASE, lambda text: text.casefold()),
    ("case, white space and characters that look alike", lambda text: _spaces(plain_looks(text)).casefold()),
]


def near_text(text: str, wanted: str) -> str | None:
    """Where a text holds something that only looks like what is wanted.

    Returns:
        A sentence that names line and difference, or None.
    """
    if len(text) > _MAX_TEXT_CHARS:
        return None
    for what, changed in (
        ("the line numbers of read_file", _NUMBERS.sub("", wanted)),
        *_unescaped(wanted),
        ("the line breaks at its start or end", wanted.strip("\r\n")),
    ):
        if changed != wanted and changed.strip() and changed in text:
            line = text.count("\n", 0, text.find(changed)) + 1
            return f"Line {line} has it without {what}: send old_string without them."
    for what, key in _LEVELS:
        needle = key(wanted).strip("\n")
        if not needle.strip():
            continue
        haystack = key(text)
        at = haystack.find(needle)
        if at < 0:
            continue
        number = haystack.count("\n", 0, at) + 1
        more = haystack.count(needle) - 1
        others = f" (and in {more} more places)" if more else ""
        return f"Line {number} has it{others}, but for {what}. {_both(text.split(chr(10)), number, wanted)}"
    return None


def _unescaped(wanted: str) -> list[tuple[str, str]]:
    plain = wanted.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    controls = _SPELLED_CONTROL.sub(lambda found: chr(int(found[1] or found[2], 16 if found[1] else 8)), wanted)
    controls = controls.replace("\\e", "\x1b").replace("^[", "\x1b").replace("\\r", "\r")
    return [
        ("backslashes before n, t or quotes", plain),
        ("spelling out a control character (JSON has \\u001b for it, with one backslash)", controls),
    ]


def _both(lines: list[str], number: int, wanted: str) -> str:
    """The characters that one has and the other has not, by name: whole lines could hold what must not be shown."""
    sent = wanted.strip("\n").split("\n")
    for offset, line in enumerate(sent):
        there = lines[number - 1 + offset] if number - 1 + offset < len(lines) else ""
        if line not in there:
            only_there, only_sent = named_characters(set(there) - set(line)), named_characters(set(line) - set(there))
            has = [f"the file has {only_there}"] * bool(only_there) + [f"old_string has {only_sent}"] * bool(only_sent)
            what = ", ".join(has) or "the same characters, but not in the same number or order"
            return f"On line {number + offset}: {what}. Read that line again and copy it."
    return "Read that line again and copy it."


def named_characters(characters: set[str]) -> str:
    """The odd ones of some characters by number and name; the first few."""
    odd = sorted(one for one in characters if not one.isalnum() or not one.isascii())[:_MAX_NAMED]
    return ", ".join(f"U+{ord(one):04X} {unicodedata.name(one, 'TAB' if one == chr(9) else '')}".strip() for one in odd)


def near_path(root: beneath.Pin, wanted: Sequence[str]) -> str | None:
    """A path below the root that exists and only looks different from one that does not; relative to the root."""
    found: list[str] = []
    for part in wanted:
        name = part if _is_there(root, [*found, part]) else _near_name(root, found, part)
        if name is None:
            return None
        found.append(name)
    return None if found == list(wanted) else "/".join(found)


def look_alike(root: beneath.Pin, wanted: Sequence[str]) -> str | None:
    """What is there beside a path that does not exist, and differs from it by its looks alone; relative to the root.

    It may be a directory on the way: `src`, where `Src/new.py` is not there yet.
    """
    for depth, part in enumerate(wanted):
        above = wanted[:depth]
        if not _is_there(root, [*above, part]):
            name = _near_name(root, above, part)
            return None if name is None else "/".join([*above, name])
    return None


def _is_there(root: beneath.Pin, parts: Sequence[str]) -> bool:
    try:
        return beneath.is_there(root, parts)
    except OSError:
        return False


def _near_name(root: beneath.Pin, above: Sequence[str], name: str) -> str | None:
    key = _LEVELS[-1][1]
    try:
        with beneath.directory(root, above) as fd, beneath.readable(fd) as opened, os.scandir(opened) as entries:
            names = sorted(entry.name for _, entry in zip(range(_MAX_NAMES), entries, strict=False))
    except OSError:
        return None
    return next((one for one in names if key(one) == key(name.strip())), None)


def difference(found: str, wanted: str) -> str:
    """What makes two names differ that look the same."""
    return next((what for what, key in _LEVELS if key(found) == key(wanted)), "white space")

"""Words of a shell command: from the parts that a parser found to the texts they come to. Pure.

A text is put together of characters that know whether they were quoted: only unquoted ones are a pattern, a brace or a
tilde.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from neuraphage.model.shell import HOME, ShellWord

MOST_TEXTS = 64
"""Of a word with braces; one with more is left to the shell."""
_ESCAPED_IN_QUOTES = frozenset('$`"\\')
_PATTERN = frozenset("*?[")
_OPERATIONS = frozenset({"Excl", "Length", "Width", "Index", "Slice", "Repl", "Names"})
"""Fields of a parameter that is not taken as it is; `${HOME:?}` and `${HOME%/}` are home, or above it."""

Char = tuple[str, bool]
"""A character, and whether it was quoted."""


def read_word(node: Mapping[str, Any], source: bytes) -> ShellWord:
    """One word.

    Args:
        node: of the parser's tree.
        source: the whole command line.
    """
    written = source[node["Pos"]["Offset"] : node["End"]["Offset"]].decode("utf-8", "replace")
    chars: list[Char] = []
    for part in node.get("Parts", ()):
        more = _chars_of(part)
        if more is None:
            return ShellWord(written, ())
        chars += more
    if chars[:1] == [("~", False)]:
        after = next((at for at, (char, _) in enumerate(chars) if char == "/"), len(chars))
        chars = [(HOME, True), *chars[after:]]  # ~name is somebody's home too
    is_pattern = any(char in _PATTERN and not quoted for char, quoted in chars)
    expanded = _expanded(chars)
    return ShellWord(written, () if expanded is None else expanded, is_pattern)


def _chars_of(part: Mapping[str, Any]) -> list[Char] | None:
    """Characters of one part; None where only the shell can tell."""
    match part.get("Type"):
        case "Lit":
            return _unescaped(part["Value"])
        case "SglQuoted" if not part.get("Dollar"):
            return [(char, True) for char in part.get("Value", "")]
        case "DblQuoted" if not part.get("Dollar"):
            return _of_quoted(part.get("Parts", ()))
        case "ParamExp" if _is_home(part):
            return [(HOME, True)]
        case _:
            return None


def _of_quoted(parts: Sequence[Mapping[str, Any]]) -> list[Char] | None:
    chars: list[Char] = []
    for part in parts:
        if part.get("Type") == "Lit":
            chars += [(char, True) for char in _unescaped_in_quotes(part["Value"])]
        elif part.get("Type") == "ParamExp" and _is_home(part):
            chars.append((HOME, True))
        else:
            return None
    return chars


def _is_home(part: Mapping[str, Any]) -> bool:
    return not part.keys() & _OPERATIONS and part.get("Param", {}).get("Value") == "HOME"


def _unescaped(text: str) -> list[Char]:
    chars: list[Char] = []
    escaped = False
    for char in text:
        if escaped:
            if char != "\n":
                chars.append((char, True))
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            chars.append((char, False))
    return chars


def _unescaped_in_quotes(text: str) -> str:
    if "\\" not in text:
        return text
    made, at = [], 0
    while at < len(text):
        pair = text[at : at + 2]
        if pair[0] == "\\" and pair[1:] == "\n":
            at += 2
        elif pair[0] == "\\" and pair[1:] in _ESCAPED_IN_QUOTES:
            made.append(pair[1:])
            at += 2
        else:
            made.append(text[at])
            at += 1
    return "".join(made)


def _expanded(chars: list[Char]) -> tuple[str, ...] | None:
    """The texts of a word with all alternatives in braces; None where there are too many, or one that counts up."""
    if ("{", False) not in chars:
        return ("".join(char for char, _ in chars),)
    waiting: list[list[Char]] = [chars]
    texts: list[str] = []
    while waiting:
        if len(waiting) + len(texts) > MOST_TEXTS:
            return None
        word = waiting.pop(0)
        group = _innermost(word)
        if group is None:
            texts.append("".join(char for char, _ in word))
            continue
        first, last, commas = group
        inner = word[first + 1 : last]
        if not commas:
            if any(inner[at : at + 2] == [(".", False), (".", False)] for at in range(len(inner))):
                return None
            waiting.append([*word[:first], ("{", True), *inner, ("}", True), *word[last + 1 :]])  # no alternatives
            continue
        borders = [first, *commas, last]
        for left, right in pairwise(borders):
            waiting.append([*word[:first], *word[left + 1 : right], *word[last + 1 :]])
    return tuple(texts)


def _innermost(word: list[Char]) -> tuple[int, int, list[int]] | None:
    """Where the first unquoted group without another one in it begins and ends, and its commas."""
    first: int | None = None
    commas: list[int] = []
    for at, (char, quoted) in enumerate(word):
        if quoted:
            continue
        if char == "{":
            first, commas = at, []
        elif char == "," and first is not None:
            commas.append(at)
        elif char == "}" and first is not None:
            return first, at, commas
    return None

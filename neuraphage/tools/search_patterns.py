"""Globs and the lines of a .gitignore as regular expressions. Standard library only, see search_child.py.

A .gitignore is matched as git does it (its wildmatch.c and dir.c), which works on bytes: patterns and paths are given
as text with one character a byte. pathspec is no help here (ARCHITECTURE.md has the patterns): it answers for whole
paths, and a walk needs to know of each directory whether it may be left out.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "blank": " \\t", "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9",
    "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": " \\t\\n\\r", "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_NAMED = re.compile(r"\[:([^\]]*):\]")
_WORD = re.compile(r"\[[\w.-]{4,}\]")
"""What is rather the name of a directory than a class with a range that is upside down."""
_NEVER = "(?!)"
_BOM = "\xef\xbb\xbf"


class Rule(NamedTuple):
    """One line of a .gitignore: `prefix` is its directory relative to the top of the walk, with a slash (or empty)."""

    prefix: str
    pattern: re.Pattern[str]
    negated: bool
    directories_only: bool
    by_name: bool


def glob_regex(pattern: str, *, braces: bool = True) -> str:
    """Translate a glob: `*` and `?` stay in one name, `**` crosses directories, `{a,b}` is a choice.

    Without braces it is git's language exactly: a class that is not closed fits nothing. With them it is that of the
    glob tool: such a class stands for itself, every class also fits its own text, and a range that is upside down is an
    error.
    """
    out, at, depth = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**", at) and (special := _double_star(pattern, at)):
            regex, at = special
            out += regex
        elif char == "*":
            while pattern.startswith("*", at):
                at += 1
            piece, end = _up_to_next_star(pattern, at, braces=braces)
            out, at = out + (f"(?>[^/]*?{piece})" if piece else "[^/]*"), end
        elif char == "{" and braces and "}" in pattern[at:]:
            out, depth, at = out + "(?:", depth + 1, at + 1
        elif char in ",}" and depth:
            out, depth, at = (out + "|", depth, at + 1) if char == "," else (out + ")", depth - 1, at + 1)
        else:
            regex, at = _one(pattern, at, braces=braces)
            out += regex
    return out


def _double_star(pattern: str, at: int) -> tuple[str, int] | None:
    """Two stars and more that are a whole part of a path, and where they end; None where they are but one star."""
    end = at
    while pattern.startswith("*", end):
        end += 1
    if at > 0 and pattern[at - 1] != "/":
        return None
    if end == len(pattern):
        return ".*", end
    if pattern[end] != "/":
        return None
    end += 1
    while follow := re.match(r"\*\*+/", pattern[end:]):  # a second one says no more, and takes long
        end += follow.end()
    return "(?:.*/)?", end


def _one(pattern: str, at: int, *, braces: bool) -> tuple[str, int]:
    """What stands for one character at a place, and where it ends."""
    char = pattern[at]
    if char == "?":
        return "[^/]", at + 1
    if char == "\\":
        if at + 1 < len(pattern):
            return re.escape(pattern[at + 1]), at + 2
        return (re.escape(char) if braces else _NEVER), at + 1
    if char == "[":
        found = _class_or_itself(pattern, at) if braces else _bracket(pattern, at + 1, strict=False)
        if found is not None:
            return found
        if not braces:
            return _NEVER, len(pattern)
    return re.escape(char), at + 1


def _class_or_itself(pattern: str, at: int) -> tuple[str, int] | None:
    """A class of characters that begins at a place; also fits its own text, as in `app/[id]/page.tsx`.

    Directories of such names are common, and who writes one means it. `[post-id]`, which is no class, is itself alone.
    """
    word = _WORD.match(pattern, at)
    try:
        found = _bracket(pattern, at + 1, strict=True)
    except re.error:
        if word is None:
            raise
        return re.escape(word[0]), word.end()
    if found is None:
        return None
    regex, end = found
    return f"(?:{re.escape(pattern[at:end])}|{regex})", end


def _up_to_next_star(pattern: str, at: int, *, braces: bool) -> tuple[str, int]:
    """What stands between two stars of one name: its first place is as good as any other.

    So it needs no second try, and many stars stay fast.
    """
    out, end = "", at
    while end < len(pattern) and pattern[end] != "*":
        if pattern[end] == "/" or (braces and pattern[end] in "{},"):
            return "", at
        piece, end = _one(pattern, end, braces=braces)
        out += piece
    return (out, end) if end < len(pattern) else ("", at)


def _bracket(pattern: str, at: int, *, strict: bool) -> tuple[str, int] | None:
    """A class of characters whose `[` stands before `at`, and where it ends; None for one that git cannot read."""
    negated = pattern[at : at + 1] in {"!", "^"}
    start = at = at + negated
    parts: list[str] = []
    before = ""  # what a range may begin with
    while at < len(pattern):
        if pattern[at] == "]" and at > start:
            inner = "".join(parts)
            # a class stands for one letter of a name: `[!a]` and `[!-~]` fit no slash
            return (
                (f"[^/{inner}]" if negated else f"(?!/)[{inner}]") if inner else "[^/]" if negated else _NEVER
            ), at + 1
        if pattern[at] == "-" and before and pattern[at + 1 : at + 2] not in {"", "]"}:
            last, at = _escaped(pattern, at + 1)
            if before > last and strict:
                raise re.error(f"bad character range {before}-{last}")
            if before <= last:
                parts.append(f"{re.escape(before)}-{re.escape(last)}")
            before = ""
        elif found := _NAMED.match(pattern, at):
            if found[1] not in _CLASSES:
                return None
            parts.append(_CLASSES[found[1]])
            before, at = "", found.end()
        elif pattern.startswith("[:", at) and pattern.find("]", at) < 0:
            return None
        else:
            before, at = _escaped(pattern, at)
            parts.append(re.escape(before))
    return None


def _escaped(pattern: str, at: int) -> tuple[str, int]:
    """The character at a place, or the one behind a backslash there, and where it ends."""
    if pattern[at] == "\\" and at + 1 < len(pattern):
        at += 1
    return pattern[at], at + 1


def ignore_rules(data: bytes, prefix: str) -> list[Rule]:
    """Parse a .gitignore. Only LF ends a line, as for git.

    Args:
        data: its bytes.
        prefix: its directory, one character a byte, relative to the top of the walk, with a slash (or empty).
    """
    rules = []
    for raw in data.decode("latin-1").removeprefix(_BOM).split("\n"):
        line = raw.removesuffix("\r").partition("\0")[0]
        if not line or line.startswith("#"):
            continue
        line = _without_spaces(line)
        negated = line.startswith("!")
        line = line[1:] if negated else line
        body = line.removesuffix("/")
        regex = glob_regex(body.removeprefix("/"), braces=False)
        rules.append(Rule(prefix, re.compile(regex, re.DOTALL), negated, line.endswith("/"), "/" not in body))
    return rules


def _without_spaces(line: str) -> str:
    r"""Drop spaces at the end, but none behind a backslash. Tabs stay, as for git."""
    end = at = 0
    while at < len(line):
        if line[at] == "\\":
            at += 1
            if at == len(line):
                return line
        elif line[at] == " ":
            at += 1
            continue
        at += 1
        end = at
    return line[:end]


def is_ignored(relative: str, is_directory: bool, rules: list[Rule]) -> bool:
    """The last rule that fits decides.

    Args:
        relative: path relative to the top of the walk, one character a byte.
        is_directory: whether it is one; a link to one is none.
        rules: of all files that count, the nearest last.
    """
    name = relative[relative.rfind("/") + 1 :]
    for rule in reversed(rules):
        if (rule.directories_only and not is_directory) or not relative.startswith(rule.prefix):
            continue
        if rule.pattern.fullmatch(name if rule.by_name else relative[len(rule.prefix) :]):
            return not rule.negated
    return False

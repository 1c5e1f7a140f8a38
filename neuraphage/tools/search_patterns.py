"""Globs and the lines of a .gitignore as regular expressions. Standard library only, see search_child.py."""

from __future__ import annotations

import contextlib
import re
from typing import NamedTuple


class Rule(NamedTuple):
    """One line of a .gitignore: `prefix` is its directory relative to the root, with a slash (or empty)."""

    prefix: str
    pattern: re.Pattern[str]
    negated: bool
    directories_only: bool


def glob_regex(pattern: str, *, braces: bool = True) -> str:
    """Translate a glob: `*` and `?` stay in one name, `**` crosses directories, `{a,b}` is a choice."""
    out, at, depth = "", 0, 0
    while at < len(pattern):
        char = pattern[at]
        at += 1
        if pattern.startswith("**/", at - 1) and (at == 1 or pattern[at - 2] == "/"):
            out, at = out + "(?:[^/]+/)*", at + 2
            while pattern.startswith("**/", at):  # a second one says no more, and takes long
                at += 3
        elif pattern.startswith("**", at - 1):
            out, at = out + ".*", at + 1
        elif char == "*":
            piece = _up_to_next_star(pattern, at)
            out, at = out + (f"(?>[^/]*?{_plain(piece)})" if piece else "[^/]*"), at + len(piece)
        elif char == "?":
            out += "[^/]"
        elif char == "[" and (end := pattern.find("]", at + 2 if pattern[at : at + 1] in {"!", "^"} else at + 1)) > 0:
            inner = pattern[at:end].replace("\\", "\\\\").replace("[", "\\[")
            # a class stands for one letter of a name: `[!a]` fits no slash
            out, at = out + "(?!/)[" + ("^" + inner[1:] if inner[0] in "!^" else inner) + "]", end + 1
        elif char == "{" and braces and "}" in pattern[at:]:
            out, depth = out + "(?:", depth + 1
        elif char in ",}" and depth:
            out, depth = (out + "|", depth) if char == "," else (out + ")", depth - 1)
        elif char == "\\" and at < len(pattern):
            out, at = out + re.escape(pattern[at]), at + 1
        else:
            out += re.escape(char)
    return out


def _up_to_next_star(pattern: str, at: int) -> str:
    """What stands between two stars of one name, if that is letters alone: its first place is as good as any other.

    So it needs no second try, and many stars stay fast.
    """
    end = pattern.find("*", at)
    piece = pattern[at:end] if end > at and not pattern.startswith("**", end) else ""
    return "" if set(piece) & set("/[]{},\\") else piece


def _plain(piece: str) -> str:
    return "".join("[^/]" if char == "?" else re.escape(char) for char in piece)


def ignore_rules(text: str, prefix: str) -> list[Rule]:
    """Parse a .gitignore; a line that makes no sense is skipped."""
    rules = []
    for raw in text.splitlines():
        line = raw.rstrip() if not raw.endswith("\\ ") else raw
        if not line or line.startswith("#"):
            continue
        negated = line.startswith("!")
        line = line[1:] if negated else line
        body = line.rstrip("/")
        anywhere = "/" not in body
        with contextlib.suppress(re.error):
            regex = ("(?:.*/)?" if anywhere else "") + glob_regex(body.lstrip("/"), braces=False)
            rules.append(Rule(prefix, re.compile(regex, re.DOTALL), negated, line.endswith("/")))
    return rules


def is_ignored(relative: str, is_directory: bool, rules: list[Rule]) -> bool:
    """The last rule that fits decides."""
    for rule in reversed(rules):
        if rule.directories_only and not is_directory:
            continue
        if relative.startswith(rule.prefix) and rule.pattern.fullmatch(relative[len(rule.prefix) :]):
            return not rule.negated
    return False

"""Regular expressions of other dialects: what is meant by what Python would read as something else."""

from __future__ import annotations

import re

_POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "word": r"\w", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip
_BASIC = {
    r"\|": "|",
    r"\(": "(",
    r"\)": ")",
    r"\{": "{",
    r"\}": "}",
    r"\+": "+",
    r"\?": "?",
    r"\<": r"\b",
    r"\>": r"\b",
}
_OTHER = {r"\h": r"[ \t]", r"\R": r"\n", r"\z": r"\Z", r"\K": "", r"\Q": "", r"\E": "", "(?<": "(?P<"}
_SIGN = re.compile(r"\[:(\w+):\]|\(\?<(?=\w)|\\p\{\w+\}|\\x\{[0-9A-Fa-f]+\}|\\.", re.DOTALL)
_MEANT = {
    "|": "an alternative", "(": "a group", ")": "a group", "{": "a number of repeats", "}": "a number of repeats",
    "+": "one or more", "?": "one or none", r"\b": "the edge of a word",
}  # fmt: skip


def dialect_hint(pattern: str) -> str | None:
    """Say which parts of a pattern are of another dialect and how Python spells it; None for one that is not.

    Args:
        pattern: one that found nothing, or that could not be read. `\\(` and its like also stand for the characters
            themselves, so nothing is said of a pattern that found what it was meant to.
    """
    signs: list[str] = []

    def translated(found: re.Match[str]) -> str:
        sign = found[0]
        if found[1]:
            new = _POSIX.get(found[1])
            signs.append(f"{sign} is not known here")
            return new or sign
        if sign in _BASIC:
            new = _BASIC[sign]
            signs.append(f"{sign} stands for the character {sign[1]} ({_MEANT[new]} is written {new})")
            return new
        if sign in _OTHER or sign.startswith((r"\p{", r"\x{")):
            signs.append(f"{sign} is not known here")
            if sign.startswith(r"\x{"):
                return re.escape(chr(min(int(sign[3:-1], 16), 0x10FFFF)))
            return _OTHER.get(sign, r"\w")
        return sign

    spelling = _SIGN.sub(translated, pattern)
    try:
        re.compile(spelling)
    except (re.error, OverflowError, RecursionError):
        return None
    if not signs or spelling == pattern:
        return None
    told = "; ".join(dict.fromkeys(signs))
    return (
        f"The pattern is read as a Python regular expression: {told}. If you meant it so, the spelling is: {spelling}"
    )

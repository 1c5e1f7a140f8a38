"""Letters that pass for others: what a person reads as Latin and a shell, a file system or a host does not. Pure."""

from __future__ import annotations

import re

_CYRILLIC = "\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f"
_GREEK = "\u0370-\u03ff\u1f00-\u1fff"
_OTHERS = "\u0530-\u058f\u13a0-\u13ff\u2c80-\u2cff\uab70-\uabbf"
"""Armenian, Cherokee and Coptic: they have letters in the shape of Latin ones too."""
_LATIN = re.compile("[A-Za-z\u00aa\u00ba\u00c0-\u024f\u1e00-\u1eff\u2c60-\u2c7f\ua720-\ua7ff]")
_FOREIGN = re.compile(f"[{_CYRILLIC}{_GREEK}{_OTHERS}]")
_WORD = re.compile(r"\w+")
_TWINS = frozenset(
    "\u0430\u0441\u0435\u043e\u0440\u0445\u0443\u0456\u0458\u0455\u04bb\u0501\u051b\u051d\u04cf\u0475\u0433"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0423\u0406\u0408\u0405\u051a\u051c\u04ae"
    "\u03bf\u03bd\u03c1\u03c5\u03b9\u03ba\u03b1\u03b3\u03c7\u03f2\u03f3"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7\u03f9"
)
"""Cyrillic and Greek letters in the shape of a Latin one."""
_FORMS = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff"  # wide letters and digits, those of mathematics
    "\u037e\u02d0\ua789\u2236\u2010\u2011\u2212\u2024\u2044\u2215\u29f8\u2571\u2216\u29f5\u29f9\ufe68\ufe6f"
    "\u2223\u01c0\u01c3\u223c\u02dc\u2217\u02b9\u02bc\u02c8]"  # ; : : : - - - . / / / / \ \ \ \ \ | | ! ~ ~ * ' ' '
)
"""Characters in the shape of an ASCII one, in whatever word they stand."""


def number(character: str) -> str:
    """A character by its number."""
    return f"<U+{ord(character):04X}>"


def without_lookalikes(line: str) -> str:
    """A line in which no letter passes for one of another alphabet: such a one stands as its number.

    They are: letters of another alphabet in a word that has Latin ones too; a word of nothing but letters in the shape
    of Latin ones, where the line has no other word that shows the alphabet; and other forms of ASCII characters.

    Args:
        line: one line.
    """
    if line.isascii():
        return line
    if _FOREIGN.search(line):
        shows = any(c not in _TWINS for c in _FOREIGN.findall(line))
        line = _WORD.sub(lambda found: _spelled(found[0], shows=shows), line)
    return _FORMS.sub(lambda found: number(found[0]), line)


def _spelled(word: str, *, shows: bool) -> str:
    foreign = _FOREIGN.findall(word)
    if not foreign or not (_LATIN.search(word) or (not shows and all(c in _TWINS for c in foreign))):
        return word
    return _FOREIGN.sub(lambda found: number(found[0]), word)

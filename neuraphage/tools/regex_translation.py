r"""Signs of other dialects of regular expressions (grep, PCRE, JavaScript, vim, Emacs), and Python's for each. Pure.

A sign that Python refuses is an error anyway; the others are the ones that matter, since they silently mean something
else: `\|` is a bar, `\v` a vertical tab.
"""

from __future__ import annotations

import re

POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t", "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9A-Fa-f", "word": r"\w", "print": " -~", "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
}  # fmt: skip
_BASIC = {
    r"\|": ("|", "parts alternatives"),
    r"\(": ("(", "begins a group"),
    r"\)": (")", "ends a group"),
    r"\+": ("+", "is one or more"),
    r"\?": ("?", "is one or none"),
    r"\=": ("?", "is one or none"),
}
_EDGES = {r"\<": "<", r"\>": ">", r"\_<": "_<", r"\_>": "_>"}
_OTHER = {
    r"\h": r"[ \t]", r"\H": r"[^ \t]", r"\z": r"\Z", r"\K": "", r"\G": "", r"\e": r"\x1b", r"\X": ".", r"\N": ".",
    r"\zs": "", r"\ze": "", r"\l": "[a-z]", r"\y": r"\b", r"\m": r"\b", r"\M": r"\b", "[[:<:]]": r"\b",
    "[[:>:]]": r"\b",
}  # fmt: skip
_MEANT = {
    r"\%(": ("(?:", "is not known here, and a group that is not kept is written (?:"),
    r"\s-": (r"\s", r"is white space and a hyphen, and white space alone is \s"),
    "[^]": (".", "is no whole class, and any character is written ."),
    r"\a": ("[A-Za-z]", "is the bell character, and letters are [A-Za-z]"),
}
_IN_CLASS = {r"\h": r" \t", r"\e": r"\x1b", r"\l": "a-z", r"\R": r"\r\n"}
_PROPERTIES = {
    "l": r"[^\W\d_]", "letter": r"[^\W\d_]", "alpha": r"[^\W\d_]", "alphabetic": r"[^\W\d_]",
    "alnum": r"[^\W_]", "n": r"\d", "nd": r"\d", "digit": r"\d", "z": r"\s", "zs": r"\s", "space": r"\s",
    "white_space": r"\s", "p": r"[^\w\s]", "punct": r"[^\w\s]", "w": r"\w", "word": r"\w",
    "han": "[\u3400-\u9fff]", "script=han": "[\u3400-\u9fff]", "hiragana": "[\u3041-\u309f]",
    "katakana": "[\u30a0-\u30ff]", "cyrillic": "[\u0400-\u052f]", "greek": "[\u0370-\u03ff]",
}  # fmt: skip
"""Those that Python can say, or nearly; `\\p{Lu}` it cannot."""

_SIGN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)"
    r"|\\(?:[xu]\{|N\{U\+|(?P<bare>\{(?=[0-9a-f]*[a-f])(?=[a-f]*[0-9])))(?P<hex>[0-9A-Fa-f]{1,6})\}"
    r"|\\(?P<p>[pP])(?:\{(?P<not>\^?)(?P<long>[\w=]+)\}|(?P<short>[A-Z]))"
    r"|\\k(?:<(?P<k1>\w+)>|\{(?P<k2>\w+)\}|'(?P<k3>\w+)')|\\g\{?(?P<number>\d+)\}?"
    r"|\(\?(?:<(?P<name>[A-Za-z_]\w*)>|'(?P<name2>[A-Za-z_]\w*)')"
    r"|\\%\(|\\_[<>]|\\s-|\\z[se]|\\\{(?P<lazy>-?)(?P<count>\d+,?\d*|,\d+|)\\?\}"
    r"|\[\[:[<>]:\]\]|\[\^\](?=[^\]]*\Z)"
    r"|(?P<class>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])"
    r"|\\.|[(){}|+?]",
    re.DOTALL,
)
_IN_CLASS_SIGN = re.compile(
    r"\[:(?P<posix>\w+):\]|\\[xu]\{(?P<hex>[0-9A-Fa-f]{1,6})\}|\\p(?:\{(?P<long>\w+)\}|(?P<short>[A-Z]))|\\.", re.DOTALL
)


class Untranslatable(Exception):
    """A sign was understood, and Python has nothing for it."""


class Translation:
    """A pattern in Python's spelling, and the signs that were another dialect's.

    Args:
        pattern: as it was given.
        basic: whether bare `( ) { } + ? |` are characters, as they are where `\\(` begins a group.
    """

    def __init__(self, pattern: str, *, basic: bool = False) -> None:
        self.signs: list[str] = []
        self.bare_specials = False
        self.is_basic = False
        self._basic = basic
        self.spelling = _SIGN.sub(self._translated, pattern)

    def _say(self, sign: str, what: str) -> None:
        self.signs.append(f"{sign} {what}")

    def _translated(self, found: re.Match[str]) -> str:
        sign = found[0]
        if sign in "(){}|+?":
            self.bare_specials = True
            return "\\" + sign if self._basic else sign
        if found["class"]:
            return self._class(sign)
        if sign in _BASIC:
            self.is_basic = True
            new, meaning = _BASIC[sign]
            self._say(sign, f"is the character {sign[1]}, and a bare {new} {meaning}")
            return new
        if sign in _EDGES:
            self._say(sign, rf"is the text {_EDGES[sign]}, and the edge of a word is written \b")
            return r"\b"
        if sign in _OTHER:
            self._say(sign, "is not known here")
            return _OTHER[sign]
        return self._with_argument(sign, found)

    def _with_argument(self, sign: str, found: re.Match[str]) -> str:
        if found["count"] is not None:
            return self._repeat(sign, found["lazy"], found["count"])
        if sign in _MEANT:
            new, what = _MEANT[sign]
            self._say(sign, what)
            return new
        if found["quoted"] is not None:
            self._say(r"\Q...\E", "is not known here")
            return re.escape(found["quoted"])
        if found["hex"]:
            what = f"is the text {sign[1:]}" if found["bare"] else "is not known here"
            self._say(sign, what)
            return _character(found["hex"])
        if found["p"]:
            return self._property(sign, found)
        return self._group(sign, found)

    def _group(self, sign: str, found: re.Match[str]) -> str:
        if name := found["name"] or found["name2"]:
            self._say(sign, f"is not known here, and a group with a name is written (?P<{name}>")
            return f"(?P<{name}>"
        kept = found["k1"] or found["k2"] or found["k3"]
        if not kept and not found["number"]:
            return sign
        self._say(sign, "is not known here")
        return f"(?P={kept})" if kept else f"(?:\\{found['number']})"

    def _repeat(self, sign: str, lazy: str, count: str) -> str:
        if not count and not lazy:
            return sign  # `\{\}` is rather the two characters
        self.is_basic = True
        new = (f"{{{count}}}" if count else "*") + ("?" if lazy else "")
        self._say(sign, f"is the text {sign.replace(chr(92), '')}, and a number of repeats is written {new}")
        return new

    def _property(self, sign: str, found: re.Match[str]) -> str:
        self._say(sign, "is not known here")
        new = _PROPERTIES.get((found["long"] or found["short"]).lower())
        if new is None:
            raise Untranslatable(self.signs[-1])
        if (found["p"] == "P") == bool(found["not"]):
            return new
        return f"(?:(?!{new}).)"

    def _class(self, text: str) -> str:
        if (named := re.fullmatch(r"\[:(\w+):\]", text)) and named[1] in POSIX:
            self._say(text, f"is a set of these very characters, and the class is written [{POSIX[named[1]]}]")
            return f"[{POSIX[named[1]]}]"
        return "[" + _IN_CLASS_SIGN.sub(self._in_class, text[1:-1]) + "]"

    def _in_class(self, found: re.Match[str]) -> str:
        sign = found[0]
        new = _IN_CLASS.get(sign)
        if found["posix"]:
            new = POSIX.get(found["posix"])
        elif found["hex"]:
            new = _character(found["hex"])
        elif found["long"] or found["short"]:
            known = _PROPERTIES.get((found["long"] or found["short"]).lower(), "[^")
            new = known if len(known) == 2 else None if known.startswith("[^") else known[1:-1]
        elif new is None:
            return sign
        self._say(sign, "is not known here")
        if new is None:
            raise Untranslatable(self.signs[-1])
        return new


def _character(digits: str) -> str:
    return re.escape(chr(min(int(digits, 16), 0x10FFFF)))

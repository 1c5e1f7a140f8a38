"""Globs that were given for regular expressions, and the other way round. Pure."""

from __future__ import annotations

import re

_GLOB = re.compile(r"[\w./*?{},~-]*")
_GLOB_SIGN = re.compile(r"(?:\A|/)\*{1,2}(?=[./]|\Z)|\*\.\{?\w|/\*(?=[/.]|\Z)")
_REGEX_SIGN = re.compile(r"\\[.wdsSWDbB]|(?:\A|/)\.\*(?=[^/{])|\.\+|\.\*(?=[\\$(\[])|\A\^|\$\Z|\||\)\Z|\(\?|[\])}]\+")
_PIECE = re.compile(
    r"(?P<any>\.[*+]\??)|\[\^/\][*+]|\\[wSd]\+|\\(?P<escaped>[./_-])|(?P<dot>\.)|(?P<word>[\w/ -]+)"
    r"|(?P<class>\[\w[\w-]*\])|(?P<open>\((?:\?:)?)|(?P<bar>\|)|(?P<close>\))"
)


def looks_like_glob(pattern: str) -> bool:
    """Whether a regular expression is rather a glob, such as `*.py`, `src/**/*.ts` or `test_*.py`."""
    return ".*" not in pattern and _GLOB.fullmatch(pattern) is not None and _GLOB_SIGN.search(pattern) is not None


def regex_of_glob(pattern: str) -> str:
    """A regular expression that finds, in a line, a text that a glob would fit; what stands at its ends may be more."""
    out = ""
    depth = 0
    for piece in re.findall(r"\*\*/|\*+|.", pattern):
        if piece == "**/":
            out += "(?:.*/)?"
        elif piece.startswith("*"):
            out += "[^/]*" if len(piece) == 1 else ".*"
        elif piece == "{":
            out, depth = out + "(?:", depth + 1
        elif piece == "}" and depth:
            out, depth = out + ")", depth - 1
        elif piece == "," and depth:
            out += "|"
        else:
            out += "." if piece == "?" else re.escape(piece)
    while (bare := re.sub(r"\A(?:\(\?:\.\*/\)\?|\[\^/\]\*|\.\*)(?=.)", "", out)) != out:
        out = bare
    return (out + ")" * depth).removesuffix("[^/]*") or out


def regex_in_glob_hint(pattern: str) -> str | None:
    """Say that a glob is rather a regular expression, and its spelling as a glob; None for one that is a glob."""
    if _REGEX_SIGN.search(pattern) is None:
        return None
    told = (
        "The pattern is a glob, not a regular expression: `*` is any part of a name, `?` one character, `**` crosses"
        " directories, `{a,b}` is a choice."
    )
    spelling = glob_of_regex(pattern)
    return told if spelling is None else f"{told} If you meant a regular expression, the spelling is: {spelling}"


def glob_of_regex(pattern: str) -> str | None:
    """A glob for the paths that a simple regular expression finds; None for one that is not simple."""
    body = pattern.removeprefix("^")
    is_open_start = body == pattern
    is_anchored = body.endswith("$") and not body.endswith(r"\$")
    body = body[:-1] if is_anchored else body
    is_open_end = not is_anchored and re.search(r"\\\.\w+\Z", body) is None  # an ending is meant as one
    out = _pieces_of_glob(body)
    if out is None:
        return None
    if is_open_start and not out.startswith("**/"):
        out = "**/" + ("" if out.startswith("*") else "*") + out
    if is_open_end and not out.endswith("*"):
        out += "*"
    return out


def _pieces_of_glob(body: str) -> str | None:
    out, at, depth = "", 0, 0
    while at < len(body):
        found = _PIECE.match(body, at)
        if found is None or (found["bar"] and not depth):
            return None
        at = found.end()
        literal = found["escaped"] or found["word"] or found["class"]
        if literal and body[at : at + 1] in set("*+?"):
            return None
        depth += bool(found["open"]) - bool(found["close"])
        if found["any"]:
            out += "**/*" if not out or out.endswith("/") else "*"
        else:
            signs = {"dot": "?", "open": "{", "close": "}", "bar": ","}
            out += literal or next((sign for name, sign in signs.items() if found[name]), "*")
    return None if depth else out

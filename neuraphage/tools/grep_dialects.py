"""Regular expressions of other dialects: what is meant by what Python would read as something else. Pure."""

from __future__ import annotations

import re

from neuraphage.tools.glob_dialects import looks_like_glob, regex_of_glob
from neuraphage.tools.regex_translation import Translation, Untranslatable
from neuraphage.tools.vim_patterns import without_vim_modes

_DELIMITED = re.compile(
    r"(?P<mark>m?/|s/|[#~@](?=.*[#~@][imsux]+\Z))(?P<body>(?:\\.|[^\\])+?)(?P<end>[/#~@])(?P<rest>.*)"
)
_LITERAL = re.compile(r"[rR](?P<quote>[\"'])(?P<body>.+)(?P=quote)")
_FLAGS = re.compile(r"[dgimsuvxyI]{0,5}")
_LATE_FLAGS = re.compile(r"(?<!\\)\(\?([aimsux]+)\)")
_LINE_END = re.compile(r"\\r\\n|\\r\?\\n|\\R|\\n|\\r|\r?\n|\r")
_ACROSS = re.compile(r"\(\?[aimux]*s[aimux]*[):]|\[\\s\\S\]|\[\\S\\s\]|\[\\w\\W\]|\[\\d\\D\]")


def dialect_hint(pattern: str) -> str | None:
    """Say which parts of a pattern are of another dialect and how Python spells it; None for one that is not.

    The last line ends with a spelling, where there is one.

    Args:
        pattern: one that found nothing, or that could not be read. `\\(` and its like also stand for the characters
            themselves, so nothing is said of a pattern that found what it was meant to.
    """
    if looks_like_glob(pattern):
        return (
            "The pattern of grep is a Python regular expression for lines of text, and this one looks like a glob for"
            " names of files: for those use the tool glob, or the parameter glob beside a pattern. For a text of this"
            f" form, the spelling is: {regex_of_glob(pattern)}"
        )
    signs: list[str] = []
    try:
        spellings = [one for one in _spellings(pattern, signs) if one != pattern and _is_valid(one)]
    except Untranslatable as sign:
        return f"The pattern is read as a Python regular expression: {sign}, and Python has no spelling for it."
    if not signs or not spellings:
        return _line_hint(pattern)
    told = "; ".join(dict.fromkeys(signs))
    hint = f"The pattern is read as a Python regular expression: {told}. If you meant it so, the spelling is: "
    other = "\nOr, if bare ( ) { } + ? | are meant as characters, it is: "
    return hint + other.join(spellings)


def _spellings(pattern: str, signs: list[str]) -> list[str]:
    """How Python spells a pattern, the likely one first; the signs that were found are added to `signs`.

    Raises:
        Untranslatable: Python has nothing for one of the signs.
    """
    flags = ""
    if found := _LITERAL.fullmatch(pattern):
        signs.append(f"{pattern[:2]} and {found['quote']} are characters, not the marks of a string")
        pattern = found["body"]
    elif (delimited := _delimited(pattern)) is not None:
        mark, pattern, flags = delimited
        signs.append(f"{mark} and what follows the last {mark[-1]} are characters, not the marks of a pattern")
    pattern, ignores_case, is_done = without_vim_modes(pattern, signs)
    late = next((found for found in _LATE_FLAGS.finditer(pattern) if found.start() > 0), None)
    if late is not None:
        signs.append(f"{late[0]} stands at the beginning")
        flags += late[1]
        pattern = pattern[: late.start()] + pattern[late.end() :]
    chosen = "".join(flag for flag in "ix" if flag in flags.lower() + "i" * ignores_case)
    before = f"(?{chosen})" if chosen else ""
    if is_done:
        return [before + pattern]
    plain = _all_parts(pattern, basic=False)
    signs += plain.signs
    strict = [_all_parts(pattern, basic=True)] if plain.is_basic and plain.bare_specials else []
    return list(dict.fromkeys(before + one.spelling for one in [plain, *strict]))


def _delimited(pattern: str) -> tuple[str, str, str] | None:
    """Mark, body and flags of `/body/i`, `m/body/`, `s/body/new/g` and the like."""
    found = _DELIMITED.fullmatch(pattern)
    if found is None or found["end"] != found["mark"][-1]:
        return None
    mark, body, rest = found["mark"], found["body"], found["rest"]
    if mark.startswith("s"):
        new, end, rest = rest.rpartition("/")
        if not end or "/" in new.replace(r"\/", ""):
            return None
    return (mark, body, rest) if _FLAGS.fullmatch(rest) else None


def _all_parts(pattern: str, *, basic: bool) -> Translation:
    r"""The translation, with vim's `\&` as what it means: the parts before it fit at the same place."""
    parts = re.split(r"(?<!\\)\\&", pattern)
    last = Translation(parts[-1], basic=basic)
    if len(parts) > 1:
        ahead = [Translation(part, basic=basic) for part in parts[:-1]]
        last.spelling = "".join(f"(?={part.spelling})" for part in ahead) + last.spelling
        last.signs = [
            r"\& is the character &, and a part that must fit at the same place is written (?=part)",
            *(sign for part in ahead for sign in part.signs),
            *last.signs,
        ]
    return last


def _line_hint(pattern: str) -> str | None:
    """Say that no line holds its own end; None for a pattern that asks for none."""
    outside = re.sub(r"\\\\|\[\^?\]?(?:\\.|[^\]\\])*\]", lambda found: "x" * len(found[0]), pattern)
    ends = [found for found in _LINE_END.finditer(outside) if outside[found.end() : found.end() + 1] not in {"?", "*"}]
    if not ends:
        if _ACROSS.search(pattern) is None:
            return None
        return "Each line is matched by itself, so nothing fits across lines: search for a part that is in one line."
    first, last = ends[0], ends[-1]
    start = first.end() if first.start() == 0 else 0
    end = last.start() if pattern[last.end() :] in {"", "$"} else len(pattern)
    middle = [found for found in ends if start <= found.start() < end]
    told = "Each line is matched by itself and without its line end, so a line end fits nothing"
    if middle or not pattern[start:end]:
        return f"{told}: search for a part that is in one line, with context_lines for those around it."
    spelling = "^" * (start > 0) + pattern[start:end] + "$" * (end < len(pattern))
    return f"{told}; the spelling is: {spelling}" if _is_valid(spelling) else None


def _is_valid(spelling: str) -> bool:
    try:
        re.compile(spelling)
    except (re.error, OverflowError, RecursionError):
        return False
    return True

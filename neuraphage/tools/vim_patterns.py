r"""Vim's modes of a pattern: `\v`, `\V`, `\m`, `\c`, `\C`. Pure."""

from __future__ import annotations

import re

from neuraphage.tools.regex_translation import Untranslatable

_VERY_MAGIC = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<keep>\(\?[:=!<])|%\(|\{-(?P<count>\d*,?\d*)\}|\\z[se]|z[se](?=\b|[(<>])"
    r"|(?P<head>\\h)|\\.|[<>=]|(?P<none>@[=!>]|@<[=!]|%[\[^$#\dduUxoCV]|[&~@])"
)


def without_vim_modes(pattern: str, signs: list[str]) -> tuple[str, bool, bool]:
    r"""The pattern without these signs, in Python's spelling where `\v` or `\V` change what the rest means.

    Args:
        pattern: as it was given.
        signs: what is found is added to it.

    Returns:
        The pattern, whether it ignores case, and whether it is Python's already.

    Raises:
        Untranslatable: it holds a sign of `\v` that Python has nothing for.
    """
    ignores_case = False
    for mode in (r"\c", r"\C"):
        bare = pattern.removeprefix(mode)
        if bare == pattern and pattern.endswith(mode) and not pattern.endswith("\\" + mode):
            bare = pattern.removesuffix(mode)
        if bare != pattern and bare:
            signs.append(f"{mode} is not known here" + (", and case is ignored by (?i)" if mode == r"\c" else ""))
            pattern, ignores_case = bare, ignores_case or mode == r"\c"
    if pattern.startswith(r"\v") and len(pattern) > 2:
        signs.append(r"\v is a vertical tab, not a mode of the pattern")
        return _VERY_MAGIC.sub(_plain, pattern[2:]), ignores_case, True
    if pattern.startswith(r"\V") and "\\" not in pattern[2:]:
        signs.append(r"\V is not known here, and each sign is written with a backslash")
        return re.escape(pattern[2:]), ignores_case, True
    if pattern.startswith((r"\m", r"\M")) and r"\M" not in pattern[2:]:
        signs.append(f"{pattern[:2]} is not known here")
        if pattern[1] == "M":
            raise Untranslatable(signs[-1])
        return pattern[2:], ignores_case, False
    return pattern, ignores_case, False


def _plain(found: re.Match[str]) -> str:
    sign = found[0]
    if found["class"] or found["keep"]:
        return sign
    if found["none"]:
        raise Untranslatable(rf"\v is a vertical tab, not a mode of the pattern; {sign} is not known here")
    if found["head"]:
        return "[A-Za-z_]"
    if found["count"] is not None:
        return f"{{{found['count']}}}?" if found["count"] else "*?"
    if sign.endswith(("zs", "ze")):
        return ""
    return {"<": r"\b", ">": r"\b", "=": "?", "%(": "(?:", r"\<": "<", r"\>": ">", r"\=": "="}.get(sign, sign)

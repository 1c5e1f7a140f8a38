"""Where a secret may begin: where a word does, and behind a letter or digit that only ends an escape.

`"a\\nsk-..."` in JSON text has an `n` before the key, `%22sk-...` a `2`, and a colour code an `m`. Each way to look
back has a fixed width, as `re` asks for.
"""

from __future__ import annotations

_HEX = "[0-9A-Fa-f]"
_ESCAPES = (
    r"\\[abefnrtv0]",
    rf"\\x{_HEX}{{2}}",
    r"\\[0-3][0-7]{2}",
    rf"\\u{_HEX}{{4}}",
    rf"\\U{_HEX}{{8}}",
    rf"%{_HEX}{{2}}",
    rf"%25{_HEX}{{2}}",  # a URL within a URL
    r"=[0-9A-F]{2}",  # mail
    r"\^[A-Z]",  # cat -A
    # Colours end in `m`, however ESC itself is written; `[m` alone also begins a name.
    *(r"[\[;\d]\dm", r"\[\dm", r"[\x1b3eEbB]\[m"),
    *(r"\x1b\[[A-K]", r"\x1b\[\d[A-Kn]", r"\x1b\[\d\d[A-K]", r"\x1b\[\?\d\d[hl]", r"\x1b\[\?\d{4}[hl]"),
    *(r"\x1b\(B", r"\x1b[78DEHMc]"),
)


def beginning(word: str = r"\w", passed: str = "") -> str:
    """An expression that holds where a secret may begin, and takes no character.

    Args:
        word: what must not stand before it, unless it ends an escape: one character.
        passed: what of the secret stands before the expression already, of a fixed width.
    """
    behind = "|".join(f"(?<={escape}{passed})" for escape in _ESCAPES)
    return f"(?:(?<!{word}{passed})|{behind})"


BEGINNING = beginning()
"""Behind no letter, digit or `_`, but for those of an escape."""

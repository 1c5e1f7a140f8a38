"""What a command wrote as a terminal would show it, and nothing in it that could hide from a reader. Pure.

Progress bars write each frame over the last one. Thousands of frames would push everything else out of a result, so
they are folded first: carriage return, backspace, and the escape codes that erase or move the cursor are obeyed. All
other control characters stay, and are shown spelled out. A program that draws a screen (an editor, a monitor) draws it
below what was written before, and leaves its last picture.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from neuraphage.decide.terminal_screen import Screen

Redact = Callable[[str], str]

_OBEYED = re.compile(r"\r(?!\n)|\x08|\x1b\[[\d;]*[ABCDEFGHJKdf]")
_CODE = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z^-~]"
_PIECE = re.compile(rf"(\r*\n|\r|\x08|{_CODE})")
_UNSEEN = re.compile(rf"{_CODE}|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def holds_controls(text: str) -> bool:
    """Whether anything in the text is to be folded, so that more of it may fit."""
    return _OBEYED.search(text) is not None


def shown_output(text: str, redact: Redact | None) -> str:
    """Fold a text as a terminal would, without secrets, its other control characters spelled out.

    A secret may be whole only before the folding or only after it, or be parted by a code that a terminal does not
    show; so each is looked at.

    Args:
        text: as it was written.
        redact: takes secrets out; None takes nothing out.
    """
    if redact is None:
        return visible(fold(text))
    return visible(_without_secrets(fold(_without_secrets(text, redact)), redact))


def _without_secrets(text: str, redact: Redact) -> str:
    bare = _UNSEEN.sub("", text)
    clean = redact(bare)
    return clean if clean != bare or bare == text else redact(text)


def visible(text: str) -> str:
    r"""Spell out control characters, as `\x00` and `\x1b[1m`; line ends and tabs stay."""
    return _HIDDEN.sub(lambda found: f"\\x{ord(found[0]):02x}", text.replace("\r\n", "\n"))


def fold(text: str) -> str:
    """Write a text on an endless screen, and read what stands there.

    Codes that are not obeyed (colours, titles) stand with the character after them and take no room.
    """
    if not holds_controls(text):
        return text
    screen = Screen()
    for number, piece in enumerate(_PIECE.split(text)):
        if number % 2 == 0:
            screen.write(piece)
        else:
            screen.control(piece)
    return screen.text()

"""What a command wrote as a terminal would show it, and nothing in it that could hide from a reader. Pure.

Progress bars write each frame over the last one. Thousands of frames would push everything else out of a result, so
they are folded first: carriage return, backspace, and the escape codes that erase or move the cursor are obeyed. All
other control characters stay, and are shown spelled out.
"""

from __future__ import annotations

import re
from collections.abc import Callable

Redact = Callable[[str], str]

_OBEYED = re.compile(r"\r(?!\n)|\x08|\x1b\[[\d;]*[ABCDEFGJK]")
_CODE = r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\n]{0,500}(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z^-~]"
_PIECE = re.compile(rf"(\r*\n|\r|\x08|{_CODE})")
_MOVE = re.compile(r"\x1b\[(\d{0,4})(?:;\d{0,4})?([ABCDEFGJK])")
_UNSEEN = re.compile(rf"{_CODE}|[\x00-\x07\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_HIDDEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MAX_COLUMN = 2_000
"""A row that is longer is no progress: nothing is written over it, and so no text takes more than linear time."""
_MAX_ROWS_UP = 200


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
    screen = _Screen()
    for number, piece in enumerate(_PIECE.split(text)):
        if number % 2 == 0:
            screen.write(piece)
        else:
            screen.control(piece)
    return screen.text()


class _Screen:
    """Rows of cells. A cell is one character with the codes before it; a row that was written once is one string."""

    def __init__(self) -> None:
        self._rows: list[str | list[str]] = [""]
        self._row = 0
        self._column = 0
        self._codes = ""

    def write(self, text: str) -> None:
        if not text:
            return
        row = self._rows[self._row]
        if not row and not self._column and not self._codes:
            self._rows[self._row] = text
        else:
            cells = self._cells()
            cells.extend(" " * (self._column - len(cells)))
            written = list(text)
            written[0] = self._codes + written[0]
            self._codes = ""
            cells[self._column : self._column + len(written)] = written
        self._column += len(text)

    def control(self, control: str) -> None:
        if control.endswith("\n"):
            self._down()
        elif max(self._column, len(self._rows[self._row])) > _MAX_COLUMN:
            if control == "\r":
                self._down()
            else:
                self._codes += control
        elif control == "\r":
            self._codes, self._column = "", 0
        elif control == "\x08":
            self._codes, self._column = "", max(0, self._column - 1)
        elif move := _MOVE.fullmatch(control):
            self._codes = ""
            self._move(move[1], move[2])
        else:
            self._codes += control

    def text(self) -> str:
        self._flush()
        return "\n".join(row if isinstance(row, str) else "".join(row).rstrip(" ") for row in self._rows)

    def _move(self, digits: str, letter: str) -> None:
        count = max(1, int(digits or 1))
        match letter:
            case "A" | "F":
                self._row = max(0, self._row - min(count, _MAX_ROWS_UP))
            case "B" | "E":
                self._row = min(len(self._rows) - 1, self._row + count)
            case "C":
                self._column = min(self._column + count, max(self._column, _MAX_COLUMN))
            case "D":
                self._column = max(0, self._column - count)
            case "G":
                self._column = min(count - 1, max(len(self._rows[self._row]), _MAX_COLUMN))
            case _:
                self._erase(digits, letter)
        if letter in "EF":
            self._column = 0

    def _erase(self, digits: str, letter: str) -> None:
        cells = self._cells()
        if digits in {"", "0"}:
            del cells[self._column :]
            if letter == "J":
                del self._rows[self._row + 1 :]
        elif letter == "K":
            end = self._column + 1 if digits == "1" else len(cells)
            cells[:end] = " " * min(end, len(cells))
        else:
            self._codes += f"\x1b[{digits}J"  # to clear the whole screen would take results away

    def _down(self) -> None:
        self._flush()
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append("")

    def _flush(self) -> None:
        """Leave codes that no character has followed at the end of their row."""
        if self._codes:
            self._cells().append(self._codes)
            self._codes = ""

    def _cells(self) -> list[str]:
        row = self._rows[self._row]
        if isinstance(row, str):
            row = list(row)
            self._rows[self._row] = row
        return row

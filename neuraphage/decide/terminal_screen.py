"""The screen that output is folded on: as wide and as high as its text asks for, within bounds. Pure."""

from __future__ import annotations

import re

_MOVE = re.compile(r"\x1b\[(\d{0,4})(?:;(\d{0,4}))?([ABCDEFGHJKdf])")
_MAX_COLUMN = 2_000
"""A row that is longer is no progress: nothing is written over it, and so no text takes more than linear time."""
_MAX_ROWS_UP = 200
_MAX_PADDING_CHARS = 500_000
_SCREEN_ROWS = 24
"""Rows of a screen, as programs take it to be that find no terminal. What has left it at the top stays."""
_MAX_SCREEN_ROWS = 60
"""A row beyond that is asked for to find out how large the screen is: the last one is meant."""


class Screen:
    """Rows of cells. A cell is one character with the codes before it; a row that was written once is one string."""

    def __init__(self) -> None:
        self._rows: list[str | list[str]] = [""]
        self._row = 0
        self._column = 0
        self._codes = ""
        self._top: int | None = None  # of the screen, from the first code on that needs one
        self._drawn_from: int | None = None  # the row from which on programs have placed their text
        self._padding_left = _MAX_PADDING_CHARS

    def write(self, text: str) -> None:
        """Write text without controls at the cursor."""
        if not text:
            return
        row = self._rows[self._row]
        if not row and not self._column and not self._codes:
            self._rows[self._row] = text
        else:
            cells = self._cells()
            self._pad(cells)
            written = list(text)
            written[0] = self._codes + written[0]
            self._codes = ""
            cells[self._column : self._column + len(written)] = written
        self._column += len(text)

    def _pad(self, cells: list[str]) -> None:
        """Fill a row up to the cursor, as long as there is room: a few signs could ask for a gigabyte of spaces."""
        missing = max(0, self._column - len(cells))
        self._padding_left -= missing
        if self._padding_left < 0:
            self._column = min(self._column, len(cells))
        else:
            cells.extend(" " * missing)

    def control(self, control: str) -> None:
        """Obey one control character or escape code; one that is not obeyed stands before the next character."""
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
            if move[3] in "Hfd":
                self._place(move[1], move[2], move[3])
            else:
                self._move(move[1], move[3])
        else:
            self._codes += control

    def text(self) -> str:
        """All rows, the first one first."""
        self._flush()
        drawn = len(self._rows) if self._drawn_from is None else self._drawn_from
        return "\n".join(
            row if isinstance(row, str) and number < drawn else "".join(row).rstrip(" ")
            for number, row in enumerate(self._rows)
        )

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

    def _place(self, row: str, column: str, letter: str) -> None:
        top = self._screen_top()
        wanted = max(1, int(row or 1))
        if wanted > 1 and self._drawn_from is None:
            self._drawn_from = top
        last = len(self._rows) - top
        self._row = top + (wanted if wanted <= max(last, _MAX_SCREEN_ROWS) else last) - 1
        self._rows.extend("" for _ in range(self._row + 1 - len(self._rows)))
        if letter != "d":
            self._column = min(max(1, int(column or 1)) - 1, _MAX_COLUMN)

    def _screen_top(self) -> int:
        """The first row of the screen, which begins below what was written before there was one."""
        if self._top is None:
            if self._rows[-1]:
                self._rows.append("")
            self._top = len(self._rows) - 1
        return self._top

    def _clear(self) -> None:
        """Erase a screen that was drawn. Lines that were only written stay as results, and a new screen begins."""
        top = self._screen_top()
        if self._drawn_from is None:
            self._top = None
            self._row, self._column = self._screen_top(), 0
            return
        self._rows[top:] = [""] * (max(0, self._row - top) + 1)
        self._row = len(self._rows) - 1

    def _erase(self, digits: str, letter: str) -> None:
        if letter == "J" and (digits == "2" or (digits in {"", "0"} and (self._row, self._column) == (self._top, 0))):
            self._clear()
            return
        cells = self._cells()
        if digits in {"", "0"}:
            del cells[self._column :]
            if letter == "J":
                del self._rows[self._row + 1 :]
        elif letter == "K":
            end = self._column + 1 if digits == "1" else len(cells)
            cells[:end] = " " * min(end, len(cells))
        elif digits != "3":  # what has scrolled away stays
            self._codes += f"\x1b[{digits}J"

    def _down(self) -> None:
        self._flush()
        self._row += 1
        self._column = 0
        if self._row == len(self._rows):
            self._rows.append("")
        if self._top is not None and self._row - self._top >= _SCREEN_ROWS:
            self._top = max(self._top, len(self._rows) - _SCREEN_ROWS)

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

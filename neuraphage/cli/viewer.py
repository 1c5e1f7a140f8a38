"""Writes what a task does to a console: streaming text, lines, blocks, and one passing line about what goes on."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable

from rich.console import Console
from rich.text import Text

from neuraphage.cli.console import erase_line, fitted, harmless, wrapped
from neuraphage.cli.event_text import STYLES, event_text
from neuraphage.cli.hints import typed_here
from neuraphage.decide.seen_text import Line
from neuraphage.model.event import Event
from neuraphage.ports import Delta

BAR = "  | "
"""Stands before every line of a reply, so that none of it can pass for a line of ours."""
GOES_ON = "  : "
"""Stands before what a long line of a call goes on in: a break of ours is none of the call's."""
MAX_LINE_CHARS = 500
MAX_WORD_CHARS = 60
"""A longer run without blanks is shown as it comes."""
INDENT = "    "


class Viewer:
    """Writes to a console; on a terminal no line is wider than it, and words stay whole.

    Args:
        console: where to.
        reached: makes the commands that an event names reach the stack that the task is on.
    """

    def __init__(self, console: Console, reached: Callable[[str], str] = typed_here) -> None:
        self._console = console
        self._reached = reached
        self._column = 0  # of the open line; 0 when none is open
        self._word = ""  # its last word, until that is whole
        self._style = ""
        self._status = ""  # the passing line that is shown

    # --- whole lines ---

    def line(self, text: str, style: str = "") -> None:
        """Write a line of its own."""
        self.end_text()
        first, *more = harmless(text, style).split("\n", allow_blank=True)
        rows = wrapped(first, self._width, _hanging(text))
        for line in more:
            rows += barred(line, self._width)
        for row in rows:
            self._console.print(row)

    def block(self, lines: Iterable[Line], *, whole: bool = False) -> None:
        """Lines of a file, a diff or an output, indented.

        Args:
            lines: text and style of each.
            whole: on a terminal, long ones are broken and not cut.
        """
        self.end_text()
        for text, style in lines:
            shown = harmless(f"{INDENT}{text}", style, indent=INDENT)
            rows = wrapped(shown, self._width, INDENT, keep_blanks=True) if whole else [fitted(shown, self._width)]
            for row in rows:
                self._console.print(row)

    def quoted(self, lines: Iterable[Line]) -> None:
        """All of a call that a person is asked about: no line of it can pass for one of ours, and none is cut.

        Args:
            lines: text and style of each.
        """
        self.rows(self.quoted_rows(lines))

    def quoted_rows(self, lines: Iterable[Line]) -> list[Text]:
        """The rows of the terminal that `quoted` writes."""
        return [row for text, style in lines for row in barred(harmless(text, style), self._width, keep_blanks=True)]

    def rows(self, rows: Iterable[Text]) -> None:
        """Write rows that fit."""
        self.end_text()
        for row in rows:
            self._console.print(row)

    @property
    def console(self) -> Console:
        """Where it writes to."""
        return self._console

    @property
    def height(self) -> int:
        """Rows of the terminal."""
        return self._console.height

    def ask(self, text: str) -> None:
        """Write the beginning of a line that a person ends."""
        self.end_text()
        self._console.print(harmless(text, "bold"), end="")
        self._column = 1

    def answered(self) -> None:
        """Note that the person has ended the line."""
        self._column = 0

    # --- the streaming reply ---

    def show(self, item: Event | Delta) -> None:
        """Write a line of the history, or a piece of the reply."""
        if isinstance(item, Event):
            self.event(item)
        else:
            self.delta(item)

    def event(self, event: Event) -> None:
        """Write a line of the history."""
        text = textwrap.shorten(self._reached(event_text(event)), MAX_LINE_CHARS, placeholder=" ...")
        self.line(f"  {text}", STYLES.get(event.kind, "dim"))

    def delta(self, delta: Delta) -> None:
        """Write a piece of the streaming reply."""
        if delta.kind == "tool":
            return
        style = "italic dim" if delta.kind == "thinking" else ""
        if style != self._style:
            self.end_text()
        self._style = style
        self._clear_status()
        *whole, rest = re.split(r"(\s)", self._word + delta.text)
        for piece in whole:
            self._write(piece)
        self._word = rest
        if not self._wraps or len(rest) > MAX_WORD_CHARS:
            self._flush_word()

    def end_text(self) -> None:
        """End the open line, and take the passing one away."""
        self._clear_status()
        self._flush_word()
        if self._column:
            self._console.print()
        self._column = 0

    def interrupted(self) -> None:
        """Note that a person has pressed Ctrl-C, of which the terminal has left a mark."""
        self.end_text()
        if self._wraps:
            erase_line(self._console)

    @property
    def is_open(self) -> bool:
        """Whether a line has begun that is not ended."""
        return bool(self._column or self._word)

    # --- the passing line ---

    def status(self, text: str) -> None:
        """Say what goes on, on a line that the next one replaces; only on a terminal, and never in mid-line."""
        if not self._console.is_terminal or self._console.is_dumb_terminal or self.is_open or text == self._status:
            return
        self._clear_status()
        self._console.print(fitted(harmless(f"  {text}", "dim"), self._console.width - 1), end="")
        self._console.file.flush()
        self._status = text

    def _clear_status(self) -> None:
        if self._status:
            self._status = ""
            erase_line(self._console)

    # --- parts ---

    def _flush_word(self) -> None:
        word, self._word = self._word, ""
        self._write(word)

    def _write(self, piece: str) -> None:
        """A word or a blank; on a terminal a word that does not fit goes on the next line, behind the bar."""
        if piece == "\n":
            self._console.print("" if self._column else BAR.rstrip())
            self._column = 0
            return
        if not piece:
            return
        shown = harmless(piece, self._style)
        if self._wraps and self._column > len(BAR) and self._column + shown.cell_len > self._console.width:
            self._break()
            if piece.isspace():
                return
        room = self._console.width - len(BAR)
        while self._wraps and shown.cell_len > room > 0:  # wider than any line
            head = shown.copy()
            head.truncate(room)
            self._put(head)
            self._break()
            shown = shown[len(head.plain) :]
        self._put(shown)

    def _put(self, shown: Text) -> None:
        if not self._column:
            self._console.print(BAR, end="", style="dim")
            self._column = len(BAR)
        self._console.print(shown, end="")
        self._column += shown.cell_len

    def _break(self) -> None:
        self._console.print()
        self._column = 0

    @property
    def _wraps(self) -> bool:
        return self._console.is_terminal

    @property
    def _width(self) -> int | None:
        return self._console.width if self._wraps else None


def barred(line: Text, width: int | None, *, keep_blanks: bool = False) -> list[Text]:
    """One line of somebody else behind a bar, and what a terminal breaks off it behind another one.

    Args:
        line: without line breaks.
        width: as `wrapped`.
        keep_blanks: as `wrapped`.
    """
    rows = wrapped(line, None if width is None else max(1, width - len(BAR)), "", keep_blanks=keep_blanks)
    return [Text.assemble((GOES_ON if number else BAR, "dim"), row) for number, row in enumerate(rows)]


def _hanging(text: str) -> str:
    """Blanks for the lines that a long line goes on in: one step further in than it begins."""
    return " " * (len(text) - len(text.lstrip(" ")) + 2)

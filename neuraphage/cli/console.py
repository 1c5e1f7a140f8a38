"""What the command line writes with: one console for answers, one for errors, text from outside made harmless."""

from __future__ import annotations

import contextlib
import json
import sys
from datetime import UTC, datetime
from typing import Any, NoReturn

from rich.cells import cell_len
from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.table import Table
from rich.text import Text

from neuraphage.decide.seen_text import TAB

BROKEN_PIPE_EXIT = 141
"""As a shell reports a process that SIGPIPE ended."""
LONGEST_SENTENCE = 1_000
"""Characters of a complaint, which may repeat what somebody gave."""
LEAST_CHARS = 12
"""Of the last column of a table; a terminal that has no room for it gets each row as a text of its own."""
_BETWEEN = "  "


class PipedConsole(Console):
    """A console that ends quietly when its reader goes away (`neuraphage list | head -1`)."""

    def on_broken_pipe(self) -> NoReturn:
        """Write nothing more, and exit as SIGPIPE would."""
        with contextlib.suppress(SystemExit):
            super().on_broken_pipe()
        raise SystemExit(BROKEN_PIPE_EXIT)


def console(*, stderr: bool = False, width: int | None = None) -> PipedConsole:
    """A console that takes text as it is: no markup, no emoji names, no guessed colours, no wrapping of its own.

    Args:
        stderr: write to standard error.
        width: in characters; None for that of the terminal.
    """
    return PipedConsole(stderr=stderr, width=width, markup=False, emoji=False, highlight=False, soft_wrap=True)


out = console()
err = console(stderr=True)


def harmless(text: str, style: str = "", *, indent: str = "") -> Text:
    """Text of a model, a tool or a person, without control codes and without markup.

    Args:
        text: the text; its line breaks stay.
        style: rich style of all of it.
        indent: put before every line but the first, so that no text can pass for a line of ours.
    """
    shown = "".join(c if c == "\n" or c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in _spaced(text))
    return Text(shown.replace("\n", f"\n{indent}"), style=style)


def one_line(text: str) -> Text:
    """As harmless, on one line for ever: blanks and line breaks are one blank, and in a table its end is cut."""
    shown = harmless(" ".join(text.split()))
    shown.no_wrap, shown.overflow = True, "ellipsis"
    return shown


def wrapped(text: Text, width: int | None, indent: str, *, keep_blanks: bool = False) -> list[Text]:
    """Lines of a text that fit a terminal, broken between words where there are any.

    Args:
        text: the text; its own line breaks stay.
        width: in characters; None for a pipe, where nothing is broken.
        indent: put before what a broken line goes on with.
        keep_blanks: keep the blanks at which a line was broken (a command, a file: nothing of it may be hidden).
    """
    if width is None:
        return [text]
    rows: list[Text] = []
    for line in text.split("\n", allow_blank=True):
        rest, lead = line, ""
        while rest.cell_len > width - len(lead) > 1:
            end = _break_at(rest.plain, width - len(lead))
            rows.append(Text(lead) + rest[:end])
            rest, lead = rest[end:], indent if width > 2 * len(indent) else ""
            if not keep_blanks:
                rest = rest[len(rest.plain) - len(rest.plain.lstrip(" ")) :]
        rows.append(Text(lead) + rest)
    return rows


def _break_at(text: str, width: int) -> int:
    """How many characters of a text go on a line: up to a blank if there is one, never none."""
    cells, end = 0, 0
    for end, character in enumerate(text):  # noqa: B007 - the end is where the loop stopped
        cells += cell_len(character)
        if cells > width:
            break
    blank = text.rfind(" ", 0, end + 1)
    return blank if blank > 0 and text[:blank].strip() else max(1, end)


def fitted(text: Text, width: int | None) -> Text:
    """The text on one line that fits a terminal; its end is cut, with a mark. In a pipe nothing is cut."""
    if width is not None:
        text.truncate(max(1, width), overflow="ellipsis")
    return text


def _spaced(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\t", TAB)


def erase_line(console: Console) -> None:
    """Take away what stands on the present line of a terminal."""
    console.control(Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2)))


def complain(text: str) -> None:
    """One line about what went wrong, on standard error; on a terminal broken between words."""
    width = err.width if err.is_terminal else None
    for row in wrapped(harmless(f"neuraphage: {shortened(text)}", indent="  "), width, "  "):
        err.print(row)


def shortened(text: str) -> str:
    """A sentence that repeats what somebody gave, which may be a whole file, on no more than a screen: the middle is
    left out, so that what to do next, at its end, stays."""
    left_out = len(text) - LONGEST_SENTENCE
    if left_out <= 0:
        return text
    kept = LONGEST_SENTENCE // 2
    return f"{text[:kept]} ... ({left_out:,} characters) ... {text[-kept:]}"


def json_text(value: Any, indent: int | None = 2) -> str:
    """JSON that steers no terminal: the control codes that JSON allows as they are (DEL, C1, ...) are escaped too."""
    text = json.dumps(value, indent=indent, ensure_ascii=False, default=str)
    return "".join(c if c == "\n" or c.isprintable() else json.dumps(c)[1:-1] for c in text)


def print_json(value: Any, indent: int | None = 2) -> None:
    """One JSON document, never wrapped or coloured; on one line when indent is None."""
    out.print(json_text(value, indent))


def plain_table(*columns: str) -> Table:
    """A table without lines, for lists; only its last column (of `one_line` texts) is cut to fit a terminal."""
    table = Table(box=None, pad_edge=False, padding=(0, len(_BETWEEN), 0, 0), header_style="bold")
    for name in columns:
        table.add_column(name, no_wrap=name != columns[-1])
    return table


def print_table(table: Table) -> None:
    """A table; in a pipe with tabs between its columns, on a terminal that is too narrow row by row: nothing is cut."""
    if not out.is_terminal:
        rows = ([column.header for column in table.columns], *_rows(table))
        lines = ("\t".join(cell.plain if isinstance(cell, Text) else str(cell) for cell in cells) for cells in rows)
        try:
            out.file.write("".join(f"{line}\n" for line in lines))  # rich would make blanks of the tabs
            out.file.flush()
        except BrokenPipeError:
            out.on_broken_pipe()
    elif _has_room(table, out.width):
        out.print(table, soft_wrap=False)
    else:
        print_wrapped(Text(_BETWEEN.join(str(column.header) for column in table.columns), table.header_style), "  ")
        for cells in _rows(table):
            print_wrapped(Text(_BETWEEN).join(Text(cell) if isinstance(cell, str) else cell for cell in cells), "  ")


def _rows(table: Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.cells for column in table.columns), strict=True))


def _has_room(table: Table, width: int) -> bool:
    """Whether all columns but the last are whole on a terminal of so many characters."""
    *whole, _ = table.columns
    widths = [max(cell_len(str(cell)) for cell in (column.header, *column.cells)) for column in whole]
    return sum(widths) + len(_BETWEEN) * len(widths) + LEAST_CHARS <= width


def print_wrapped(text: Text, indent: str, to: PipedConsole | None = None) -> None:
    """Text that a terminal shows broken between words, and a pipe gets as it is.

    Args:
        text: the text; its own line breaks stay.
        indent: put before what a broken line goes on with.
        to: where to; None for standard output.
    """
    to = to or out
    for row in wrapped(text, to.width if to.is_terminal else None, indent):
        to.print(row)


def hints() -> PipedConsole:
    """Where a command says what can be done next: below its answer on a terminal, and on standard error where a pipe or
    a file takes the answer, which holds nothing else then."""
    return out if out.is_terminal else err


def hint(text: str, style: str = "") -> None:
    """One line that is no part of the answer; see `hints`."""
    print_wrapped(harmless(text, style), "  ", hints())


def local_time(at_ms: int | None) -> str:
    """A server time in this machine's zone, with its offset."""
    if not at_ms:
        return "-"
    return datetime.fromtimestamp(at_ms / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M:%S %z")


def minutes_here(at_ms: int) -> str:
    """A server time to the minute, for a table whose head has the offset: `offset_here`."""
    return datetime.fromtimestamp(at_ms / 1000, datetime.now().astimezone().tzinfo).strftime("%Y-%m-%d %H:%M")


def offset_here() -> str:
    """The present offset of this machine's zone."""
    return datetime.now().astimezone().strftime("%z")


def dollars(cost_microusd: int) -> str:
    """Money for people."""
    return f"${cost_microusd / 1_000_000:.4f}"


def short_id(task_id: str) -> str:
    """The random end of a task's id: short, and as good as the whole for every command."""
    return task_id.rpartition("-")[2]


def be_lenient() -> None:
    """Let no character that the terminal's encoding lacks end a command."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")

"""A call that is longer than the screen, shown a page at a time; what was shown stays above, as all else does."""

from __future__ import annotations

from collections.abc import Callable

from neuraphage.cli.line_reader import Left, LineReader
from neuraphage.cli.prompts import show_answers, show_question
from neuraphage.cli.viewer import Viewer
from neuraphage.model.shown import UNREADABLE, ShownPrompt

LEAST_ROWS = 5
"""Of a page, on however low a terminal."""
ROWS_OF_OURS = 3
"""Below a page: the question whether to go on, and what is typed there."""
ALL, ENOUGH = "a", "q"


class Pager:
    """Shows all of a prompt.

    Args:
        viewer: writes.
        reader: reads whether to go on.
        overtaken: whether the prompt is open no more, asked meanwhile.
    """

    def __init__(self, viewer: Viewer, reader: LineReader, overtaken: Callable[[], bool]) -> None:
        self._viewer = viewer
        self._reader = reader
        self._overtaken = overtaken

    def show(self, shown: ShownPrompt, heading: str = "") -> bool | Left:
        """All of it, page by page.

        Args:
            shown: the prompt.
            heading: stands before the question.

        Returns:
            Whether its last line was on the screen; or why the person gave no answer whether to go on.
        """
        show_question(self._viewer, shown, heading)
        rows = self._viewer.quoted_rows(shown.lines)
        page, at = max(LEAST_ROWS, self._viewer.height - ROWS_OF_OURS), 0
        if len(rows) > page:
            self._viewer.line(f"  Enter = more, {ALL} = all the rest, {ENOUGH} = enough", "dim")
        while True:
            self._viewer.rows(rows[at : at + page])
            at += page
            if at >= len(rows):
                break
            typed = self._reader.read(_question(at, len(rows)), self._overtaken)
            if isinstance(typed, Left):
                return typed
            word = typed.strip().lower()
            if word == ENOUGH:
                self._viewer.line(f"  NOT SHOWN: {len(rows) - at:,} more rows", "yellow")
                return False
            page = len(rows) if word == ALL else page
        show_answers(self._viewer, shown)
        if not shown.is_whole:
            self._viewer.line(f"  NOT SHOWN: {UNREADABLE}", "yellow")
        return shown.is_whole


def _question(at: int, count: int) -> str:
    return f"  {at:,} of {count:,} rows, more? "  # short, or a narrow terminal breaks it

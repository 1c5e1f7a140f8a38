"""Says by a terminal's bell and title that a prompt waits, for a person who looks elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

from rich.console import Console

BELL = "\x07"
KEEP_TITLE, PUT_TITLE_BACK = "\x1b[22;0t", "\x1b[23;0t"
"""Terminals that know a stack of titles have the old one again behind it; the others ignore both."""


class Attention:
    """The bell and the title of one terminal.

    Args:
        console: of the terminal; where it is none, or knows no title, nothing is written.
        is_wanted: the setting `prompt_signal`.
    """

    def __init__(self, console: Console, *, is_wanted: bool) -> None:
        self._console = console
        self._is_on = is_wanted and console.is_terminal and not console.is_dumb_terminal
        self._rung: set[str] = set()
        self._has_title = False

    def waits(self, short_task_id: str, prompt_ids: Collection[str]) -> None:
        """A task waits for its prompts: the title says so, and the bell rings once for those that are new.

        Args:
            short_task_id: no text of a model or a person goes into a title.
            prompt_ids: of what is open.
        """
        if not self._is_on or self._rung.issuperset(prompt_ids):
            return
        self._rung.update(prompt_ids)
        keep = "" if self._has_title else KEEP_TITLE
        self._has_title = True
        self._write(f"{keep}\x1b]0;neuraphage: {short_task_id} waits for you{BELL}{BELL}")

    def rests(self) -> None:
        """Nothing waits any more: the title is as before."""
        if self._has_title:
            self._has_title = False
            self._write(PUT_TITLE_BACK)

    def _write(self, codes: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # the terminal is gone
            self._console.file.write(codes)
            self._console.file.flush()

"""A real pseudo-terminal for tests: what a command writes to it, and what a person types."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pexpect
from rich.cells import cell_len

from clikit import PROCESS_LIMIT_S, SCRIPT

STYLE = re.compile(r"\x1b\[[0-9;]*m")
SIGNAL = re.compile(r"(\x1b\[22;0t)?\x1b\]0;neuraphage: [0-9a-f]+ waits for you\x07\x07|\x1b\[23;0t")
"""Title and bell for a prompt that waits: they take no room."""
ERASED = "\r\x1b[2K"
QUESTION = re.compile(r"\x1b\[\?12l\x1b\[\?25h\x1b\[\?2004h.*?(\x1b\[\?2004l|\Z)", re.DOTALL)
"""A question while it is answered: the line editor draws it again and again."""
ROWS = 50


class Terminal:
    """One command on a terminal of its own.

    Args:
        arguments: of the command.
        env: its environment.
        columns: width of the terminal.
    """

    def __init__(self, *arguments: str, env: Mapping[str, str], columns: int = 80) -> None:
        self.columns = columns
        clean = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        self._child: Any = pexpect.spawn(
            SCRIPT,
            list(arguments),
            env={**clean, "TERM": "xterm-256color", **{n: env[n] for n in ("NO_COLOR",) if n in env}},
            dimensions=(ROWS, columns),
            timeout=PROCESS_LIMIT_S,
            encoding="utf-8",
        )
        self.raw = ""
        self.pid: int = self._child.pid

    def see(self, pattern: str) -> None:
        """Wait until something is written; fails with all that was."""
        try:
            self._child.expect(pattern)
        except (pexpect.TIMEOUT, pexpect.EOF):
            raise AssertionError(f"waited for {pattern!r}, saw: {self.raw + self._child.before}") from None
        self.raw += self._child.before + self._child.after

    def type(self, line: str) -> None:
        """Type a line, and Enter."""
        self._child.send(f"{line}\r")

    def send(self, keys: str) -> None:
        """Type or paste these very characters."""
        self._child.send(keys)

    def kill(self, number: int) -> None:
        """Send the command a signal."""
        self._child.kill(number)

    def interrupt(self) -> None:
        """Press Ctrl-C: the terminal sends it to the whole process group."""
        self._child.sendintr()

    def end_input(self) -> None:
        """Press Ctrl-D."""
        self._child.sendeof()

    def ended(self) -> int:
        """Wait for its end; returns the exit code."""
        try:
            self._child.expect(pexpect.EOF)
        except pexpect.TIMEOUT:
            raise AssertionError(f"it did not end: {self.raw + self._child.before}") from None
        self.raw += self._child.before
        self._child.close()
        assert self._child.signalstatus is None, self.raw
        return int(self._child.exitstatus)

    def close(self) -> None:
        """End it whatever it does."""
        self._child.close(force=True)

    @property
    def lines(self) -> list[str]:
        """Lines that stand there, without colours and without what was erased."""
        plain = STYLE.sub("", QUESTION.sub("", SIGNAL.sub("", self.raw))).replace("\r\n", "\n")
        return [line.rpartition(ERASED)[2] for line in plain.split("\n")]

    @property
    def text(self) -> str:
        """All words that stand there, whatever lines they are on and behind whatever bars."""
        return " ".join(" ".join(line.removeprefix("  | ").removeprefix("  : ") for line in self.lines).split())

    def too_wide(self) -> list[str]:
        """Lines that were ever written, also to be erased, and do not fit."""
        plain = STYLE.sub("", QUESTION.sub("", SIGNAL.sub("", self.raw))).replace("\r\n", "\n")
        written = [piece for line in plain.split("\n") for piece in line.split(ERASED)]
        return [piece for piece in written if cell_len(piece) > self.columns]

"""A person's shell on a real terminal, in which commands are typed."""

from __future__ import annotations

import contextlib
import os
import signal
import termios
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pexpect

from clikit import SCRIPT
from patience import PATIENCE_S

READY = "shell-is-ready"
COLUMNS, ROWS = 100, 50


class Shell:
    """bash without any settings of its own.

    Args:
        folder: where it runs.
        env: its environment.
    """

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        clean = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "EDITOR", "VISUAL")}
        path = f"{Path(SCRIPT).parent}{os.pathsep}{os.environ['PATH']}"
        self._child: Any = pexpect.spawn(
            "bash",
            ["--norc", "--noprofile", "--noediting"],
            cwd=str(folder),
            env={**clean, "TERM": "xterm-256color", "PATH": path, "PS1": "", "HISTFILE": ""},
            dimensions=(ROWS, COLUMNS),
            timeout=PATIENCE_S,
            encoding="utf-8",
        )
        self.seen = ""
        self._asked = 0
        self.is_back()

    def run(self, line: str) -> None:
        """Type a command."""
        self._child.send(f"{line}\r")

    def send(self, keys: str) -> None:
        """Type or paste these very characters."""
        self._child.send(keys)

    def see(self, pattern: str) -> None:
        """Wait until something is written; fails with all that was."""
        try:
            self._child.expect(pattern)
        except (pexpect.TIMEOUT, pexpect.EOF):
            raise AssertionError(f"waited for {pattern!r}, saw: {self.seen + self._child.before}") from None
        self.seen += self._child.before + self._child.after

    def is_back(self) -> None:
        """Wait until no command runs and the shell takes the next one."""
        deadline_s = time.monotonic() + PATIENCE_S
        while os.tcgetpgrp(self._child.child_fd) != self._child.pid:
            assert time.monotonic() < deadline_s, f"the shell did not come back: {self.seen}"
            with contextlib.suppress(pexpect.TIMEOUT):
                self.seen += self._child.read_nonblocking(65_536, timeout=0.05)
        self._asked += 1
        self._child.send(f"echo {READY}-$(({self._asked}+0))\r")
        self.see(rf"{READY}-{self._asked}\b")

    def modes(self) -> list[Any]:
        """The modes of the terminal while the shell waits."""
        return termios.tcgetattr(self._child.child_fd)

    def kill(self, pid: int, number: signal.Signals) -> None:
        """Send a process of this shell a signal."""
        os.kill(pid, number)

    def close(self) -> None:
        """End it and what runs in it."""
        self._child.close(force=True)

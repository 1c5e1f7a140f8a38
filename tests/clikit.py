"""The command line for tests: in this process, as a real process, and on a terminal of our own."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from neuraphage.cli.main import app, exit_code_of
from neuraphage.client import Client
from patience import PATIENCE_S
from storekit import StoreKit

SCRIPT = str(Path(sys.executable).with_name("neuraphage"))
"""The installed command."""
EVENT_NAMES = {"event", "group", "id", "at_ms", "task_id", "iteration", "fence", "cause", "data", "schema_version"}
"""Names of a line of JSON that is an event."""
PROCESS_LIMIT_S = PATIENCE_S


@dataclass(frozen=True)
class Ran:
    """One run of the command line."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Runs commands in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        code = exit_code_of(lambda: app(list(arguments), prog_name="neuraphage", standalone_mode=False), arguments)
        shown = self._capsys.readouterr()
        return Ran(code, shown.out, shown.err)


@dataclass
class Bench:
    """A client, and the store under it to play the workers."""

    client: Client
    kit: StoreKit


def run_process(*arguments: str | bytes, env: Mapping[str, str] | None = None, stdin: bytes | None = None) -> Ran:
    """Run the installed command as a process, with its output in pipes; its input is ours, or these bytes."""
    ended = subprocess.run(
        [SCRIPT, *arguments], env=env, input=stdin, capture_output=True, timeout=PROCESS_LIMIT_S, check=False
    )
    return Ran(ended.returncode, ended.stdout.decode("utf-8"), ended.stderr.decode("utf-8"))


def run_on_terminal(*arguments: str, env: Mapping[str, str], columns: int = 80) -> str:
    """Run the installed command on a terminal; returns all that it wrote."""
    ours, theirs = pty.openpty()
    env = {**env, "COLUMNS": str(columns), "TERM": "xterm"}
    process = subprocess.Popen([SCRIPT, *arguments], env=env, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65_536):
            written += piece
    except OSError:  # Linux ends the reading of a terminal without writers like this
        pass
    os.close(ours)
    process.wait(PROCESS_LIMIT_S)
    return written.decode("utf-8")

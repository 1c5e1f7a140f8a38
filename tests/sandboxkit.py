"""Commands in a real sandbox, with a home and a data folder of their own beside the working directory."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from neuraphage.model.sandbox import CommandLimits
from neuraphage.ports import SpoolCommand, SpoolStatus
from neuraphage.sandbox.choice import bubblewrap_problem, filter_in
from neuraphage.sandbox.confinement import Bubblewrap
from neuraphage.sandbox.task_folders import TaskFolders
from neuraphage.spool import CommandSpool
from neuraphage.tools.command_tool import start_confined

LIMITS = CommandLimits(memory_bytes=4 * 1024**3, processes=500, file_bytes=8 * 1024**2)
OUTPUT_CHARS = 20_000


class Calm:
    """An interrupt that never asks to stop."""

    def check(self) -> None:
        """Go on."""

    def subscribe(self, wake: Callable[[], None]) -> Callable[[], None]:
        """Never wake."""
        return lambda: None


def find_bubblewrap() -> str:
    """The program. Where it cannot run the test is skipped; in CI it fails, or nobody would look at the sandbox."""
    path = shutil.which("bwrap")
    problem = "no bwrap on PATH; install it: apt-get install bubblewrap" if path is None else bubblewrap_problem(path)
    if path is not None and problem is None:
        return path
    if os.environ.get("CI"):
        pytest.fail(str(problem))
    pytest.skip(str(problem))


@dataclass
class SandboxedHost:
    """A host with one user: their home, a working directory in it, and neuraphage's data folder.

    Args:
        folder: all of it is made here; not below /tmp, which commands do not see.
    """

    folder: Path
    limits: CommandLimits = LIMITS
    environ: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home, self.data = self.folder / "home" / "user", self.folder / "data"
        self.work = self.home / "project"
        for made in (self.work, self.data):
            made.mkdir(parents=True)
        self.folders = TaskFolders(self.data / "sandbox")
        self.spool = CommandSpool(self.data / "spool", 1_000_000)
        self.sandbox = Bubblewrap(
            find_bubblewrap(), self.folders, self.limits, [str(self.data)], filter_in(self.folders.root)
        )

    def command(
        self, line: str, *, task_id: str = "task", timeout_s: float = 300.0, effect_id: str | None = None
    ) -> SpoolCommand:
        """A command line in the sandbox, with an id of its own."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), **self.environ}
        argv = ("/bin/bash", "-c", line)
        return self.sandbox.confined(
            SpoolCommand(effect_id or uuid.uuid4().hex, argv, str(self.work.resolve()), timeout_s, environ, task_id)
        )

    def start(
        self, line: str, confined: SpoolCommand | None = None, *, task_id: str = "task", timeout_s: float = 300.0
    ) -> SpoolCommand:
        """Start it; sockets of other tests come and go meanwhile.

        Args:
            line: the command line.
            confined: it in the sandbox, where the test has that already.
            task_id: whose command it is.
            timeout_s: its limit.
        """
        first = confined or self.command(line, task_id=task_id, timeout_s=timeout_s)
        effect_id = first.effect_id
        start_confined(
            self.spool,
            first,
            lambda: self.command(line, task_id=task_id, timeout_s=timeout_s, effect_id=effect_id),
        )
        return first

    def run(self, line: str, *, task_id: str = "task", timeout_s: float = 300.0) -> SpoolStatus:
        """Run it to its end."""
        command = self.command(line, task_id=task_id, timeout_s=timeout_s)
        with self.sandbox.served(command.effect_id):
            self.start(line, command, task_id=task_id, timeout_s=timeout_s)
            return self.spool.wait(command.effect_id, OUTPUT_CHARS, Calm())

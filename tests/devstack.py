"""`neuraphage dev` as a real process, for tests."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from clikit import SCRIPT, Ran, run_process
from neuraphage.client import Client
from neuraphage.settings import Settings
from neuraphage.stack_note import settings_of_running_stack
from patience import PATIENCE_S

LIMIT_S = PATIENCE_S
SCRIPTED = ("--script", "devscript:add_up")
T = TypeVar("T")


def wait_for(condition: Callable[[], T], what: str) -> T:
    """Ask until the answer is truthy; the limit only keeps a broken test from hanging."""
    deadline_s = time.monotonic() + LIMIT_S
    while not (answer := condition()):
        assert time.monotonic() < deadline_s, f"waited {LIMIT_S:g} s for {what}"
        time.sleep(0.02)
    return answer


class DevStack:
    """One data folder, and the stack that runs for it from time to time.

    Args:
        folder: a short path, for the socket's sake.
        arguments: of `neuraphage dev`.
        prefix: words before the command, of a program that runs it.
    """

    def __init__(
        self, folder: Path, arguments: Sequence[str] = ("--workers", "2", *SCRIPTED), prefix: Sequence[str] = ()
    ) -> None:
        self.arguments = tuple(arguments)
        self._prefix = tuple(prefix)
        self.data_dir = folder / "data"
        self._log = folder / "dev.log"
        path = os.pathsep.join([str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])])
        self.env = {
            n: v
            for n, v in os.environ.items()
            if not n.startswith(("NEURAPHAGE_", "ANTHROPIC_", "OPENAI_", "AWS_", "CLOUD_ML_"))
        }
        self.env |= {"NEURAPHAGE_DATA_DIR": str(self.data_dir), "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, cwd: Path | None = None) -> None:
        """Start it unless it runs, and wait until it says that it is ready."""
        if self._process is not None and self._process.poll() is None:
            return
        with self._log.open("wb") as log:
            argv = [*self._prefix, SCRIPT, "dev", *self.arguments]
            self._process = subprocess.Popen(
                argv, env=self.env, cwd=cwd, stdout=log, stderr=log, start_new_session=True
            )
        process = self._process
        wait_for(lambda: "ready; data" in self.output() or process.poll() is not None, "the stack")
        assert process.poll() is None, self.output()

    def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Ask it to stop, as Ctrl-C does; returns its exit code."""
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(LIMIT_S)

    def kill(self) -> None:
        """End it whatever it does; its processes end with it."""
        if self._process is not None and self._process.poll() is None:
            self.stop(signal.SIGTERM)

    def output(self) -> str:
        """What it has written."""
        return self._log.read_text(encoding="utf-8")

    def pid(self, name: str) -> int:
        """Process id of its newest process of this name, by what it told."""
        return int(self._ready_pids(name)[-1])

    def times_ready(self, name: str) -> int:
        """How often a process of this name became ready."""
        return len(self._ready_pids(name))

    def _ready_pids(self, name: str) -> list[str]:
        return re.findall(rf"^\s*(?:[\d:]+ )?{name} +ready +pid (\d+)", self.output(), re.MULTILINE)

    def cli(self, *arguments: str) -> Ran:
        """Run a command against it."""
        return run_process(*arguments, env=self.env)

    def client(self) -> Client:
        """A client of it."""
        return Client(settings_of_running_stack(Settings(data_dir=self.data_dir)))

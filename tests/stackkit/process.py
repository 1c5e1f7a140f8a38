"""One process of the stack: started, killed, frozen, started again; its log is kept for failures."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from neuraphage.runtime.host import ProcessIdentity, identify, process_gone
from stackkit.launching import Launch, Program, Started, runs, wait_ended
from stackkit.waiting import LIMIT_S, wait_for

TAIL_CHARS = 6_000


class StackProcess:
    """A process with a log. Dies with the test process, however that ends (Linux).

    Args:
        name: of the process and of its log.
        argv: program and arguments.
        env: its whole environment.
        log: file for its output.
        ready_text: it works once its output holds this.
        ready: further condition of readiness.
        launch: starts it; from the main thread only, since it dies with the thread that starts it.
    """

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        env: Mapping[str, str],
        log: Path,
        *,
        ready_text: str = "",
        ready: Callable[[], bool] = lambda: True,
        launch: Launch = Program,
    ) -> None:
        self.name = name
        self.log = log
        self._argv = tuple(argv)
        self._env = dict(env)
        self._ready_text = ready_text
        self._ready = ready
        self._launch = launch
        self._log_start = 0
        self._started: Started | None = None

    @property
    def pid(self) -> int:
        """Its process id, also when it has ended."""
        assert self._started is not None, f"{self.name} was never started"
        return self._started.pid

    @property
    def exit_code(self) -> int | None:
        """Its exit status once it has ended, else None."""
        return None if self._started is None else self._started.exit_code()

    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._started is not None and runs(self.pid)

    def start(self, *, wait_ready: bool = True) -> None:
        """Start it (again)."""
        self._log_start = len(self.output())
        self._started = self._launch(self._argv, self._env, self.log)
        if wait_ready:
            self.wait_ready()

    def wait_ready(self) -> None:
        """Wait until it works."""
        wait_for(self.is_ready, f"{self.name} to be ready")

    def is_ready(self) -> bool:
        """Whether it works; fails at once when it has ended."""
        text = self.output()[self._log_start :]
        assert self.is_alive(), f"{self.name} ended with {self.exit_code}:\n{text[-TAIL_CHARS:]}"
        return self._ready_text in text and self._ready()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the process itself."""
        send(self.pid, number)

    def freeze(self) -> None:
        """SIGSTOP, and wait until it stands."""
        freeze(self.pid)

    def thaw(self) -> None:
        """SIGCONT."""
        self.signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill -9 the process alone, and wait until it is gone."""
        kill(self.pid)

    def children(self) -> list[int]:
        """Process ids of its living children."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return [child.pid for child in psutil.Process(self.pid).children() if runs(child.pid)]
        return []

    def wait_exit(self, limit_s: float = LIMIT_S) -> int:
        """Wait until it has ended by itself; its exit status."""
        assert self._started is not None
        return wait_ended(self._started, limit_s)

    def destroy(self) -> None:
        """Kill it with all that is in its session and below it."""
        if self._started is None:
            return
        below = []
        with contextlib.suppress(psutil.NoSuchProcess):
            below = psutil.Process(self.pid).children(recursive=True)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)  # also orphans of a leader that is gone
        for child in below:
            send(child.pid, signal.SIGKILL)
        wait_for(lambda: not self.is_alive(), f"{self.name} to die")

    def output(self) -> str:
        """Everything it has written."""
        try:
            return self.log.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return ""


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal; a process that is gone does not mind."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def freeze(pid: int) -> None:
    """SIGSTOP, and wait until the process stands."""
    send(pid, signal.SIGSTOP)
    standing = {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_TRACING_STOP}

    def stands() -> bool:
        try:
            return psutil.Process(pid).status() in standing
        except psutil.NoSuchProcess:
            return True

    wait_for(stands, f"process {pid} to stand still", every_s=0.0005)


def kill(pid: int) -> None:
    """Kill -9, and wait until the process is gone."""
    try:
        identity: ProcessIdentity = identify(pid)
    except ProcessLookupError:
        return
    send(pid, signal.SIGKILL)
    wait_for(lambda: process_gone(identity), f"process {pid} to die", every_s=0.001)

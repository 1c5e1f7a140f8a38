"""Two ways to start a process: as a program of its own, or from the zygote."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import psutil

from neuraphage.dev.process import by_tether, is_alive, spawn
from stackkit.waiting import wait_for


class Started(Protocol):
    """A process that was started."""

    pid: int

    def exit_code(self) -> int | None:
        """Exit status or minus the signal; None while it runs."""
        ...


class Launch(Protocol):
    """Starts a process with its output added to a log."""

    def __call__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Started:
        """Start it."""
        ...


class Program:
    """A program of its own, which dies with this test process (Linux)."""

    def __init__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> None:
        self._process = spawn(argv, env, log, tethered=True)
        self.pid = int(self._process.pid)

    def exit_code(self) -> int | None:
        """See Started."""
        code: int | None = self._process.poll()
        return code


class Zygote:
    """The process that starts Celery processes; see `stackkit.zygote`.

    Args:
        env: its environment.
        log: file for its own errors.
    """

    def __init__(self, env: Mapping[str, str], log: Path) -> None:
        self._lock = threading.Lock()
        argv = by_tether((sys.executable, "-m", "stackkit.zygote"), tethered=True)
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                argv, env=dict(env), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        assert self._answer() == "ready", f"the zygote did not start; see {log}"

    def __call__(self, argv: Sequence[str], env: Mapping[str, str], log: Path) -> Started:
        """Start a Celery process: what stands after `-m celery` in `argv`."""
        celery = list(argv[argv.index("celery") + 1 :])
        pid = self._ask({"argv": celery, "env": dict(env), "log": str(log)})
        return FromZygote(self, int(pid))

    def exit_code(self, pid: int) -> int | None:
        """Exit status of a process it started."""
        code: int | None = self._ask({"exit": pid})
        return code

    def close(self) -> None:
        """End it, and with it everything it started."""
        self._process.kill()
        self._process.wait()

    def _ask(self, order: dict[str, Any]) -> Any:
        with self._lock:
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(order) + "\n")
            self._process.stdin.flush()
            return self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline() or '"it ended"')


class FromZygote:
    """A process that the zygote started."""

    def __init__(self, zygote: Zygote, pid: int) -> None:
        self.pid = pid
        self._zygote = zygote
        self._code: int | None = None

    def exit_code(self) -> int | None:
        """See Started."""
        if self._code is None:
            self._code = self._zygote.exit_code(self.pid)
        return self._code


def wait_ended(started: Started, limit_s: float) -> int:
    """Wait until a process has ended; its exit status."""
    wait_for(lambda: started.exit_code() is not None, f"process {started.pid} to end", limit_s=limit_s)
    code = started.exit_code()
    assert code is not None
    return code


def runs(pid: int) -> bool:
    """Whether a process of this id runs; a zombie does not."""
    try:
        return is_alive(psutil.Process(pid))
    except psutil.NoSuchProcess:
        return False

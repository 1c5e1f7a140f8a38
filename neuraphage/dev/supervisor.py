"""Keep the processes of a stack up, from one process that may itself be killed."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from neuraphage.dev.keeper import Keeper
from neuraphage.dev.process_spec import ProcessChange, ProcessSpec, ProcessState
from neuraphage.errors import StackError

READY_TIMEOUT_S = 60.0
GRACE_S = 10.0
_AFTER_KILL_S = 5.0
_log = logging.getLogger(__name__)


class Supervisor:
    """Starts processes in order, starts again what ends, and stops all.

    Each process has a session of its own, so that Ctrl-C reaches only the supervisor. When the supervisor is killed,
    its processes die with it (Linux), but for those that may outlive it.

    Args:
        specs: the processes, in the order of their start.
        log_dir: folder for their output.
        on_change: told of every change, one call at a time, from other threads; it must not call the supervisor.
        ready_timeout_s: longest time until a started process is ready.
        grace_s: time between SIGTERM and SIGKILL when stopping.

    Raises:
        ValueError: two processes have one name.
    """

    def __init__(
        self,
        specs: Sequence[ProcessSpec],
        log_dir: Path,
        *,
        on_change: Callable[[ProcessChange], None] | None = None,
        ready_timeout_s: float = READY_TIMEOUT_S,
        grace_s: float = GRACE_S,
    ) -> None:
        names = [spec.name for spec in specs]
        if len(set(names)) != len(names):
            raise ValueError(f"names of processes must differ: got {names}")
        self._on_change = on_change
        self._grace_s = grace_s
        self._telling = threading.Lock()
        self._states: dict[str, ProcessState] = {}
        self._keepers = {
            spec.name: Keeper(spec, spec.log or log_dir / f"{spec.name}.log", self._tell, ready_timeout_s)
            for spec in specs
        }
        self._started: list[Keeper] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all. Foundations are waited for before the next one starts, the others together at the end.

        Raises:
            StackError: one of them did not become ready; all are stopped again.
        """
        try:
            for keeper in self._keepers.values():
                self._started.append(keeper)
                keeper.start()
                if keeper.spec.foundation:
                    keeper.await_ready()
            for keeper in self._started:
                keeper.await_ready()
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all in reverse order, foundations last: SIGTERM, a time of grace, SIGKILL. Safe to repeat."""
        for foundation in (False, True):
            wave = [keeper for keeper in reversed(self._started) if keeper.spec.foundation is foundation]
            for keeper in wave:
                keeper.ask_to_stop()
            deadline_s = time.monotonic() + self._grace_s
            late = [keeper for keeper in wave if not keeper.has_stopped(deadline_s - time.monotonic())]
            for keeper in late:
                keeper.kill()
            for keeper in late:
                if not keeper.has_stopped(_AFTER_KILL_S):
                    _log.warning("%s (pid %s) did not end after SIGKILL", keeper.spec.name, keeper.pid())

    def pid(self, name: str) -> int | None:
        """Process id of a running process, or None.

        Raises:
            StackError: no process has this name.
        """
        return self._keeper(name).pid()

    def state(self, name: str) -> ProcessState | None:
        """Newest state of a process; None before its start.

        Raises:
            StackError: no process has this name.
        """
        self._keeper(name)
        with self._telling:
            return self._states.get(name)

    def kill(self, name: str, signum: signal.Signals = signal.SIGKILL) -> bool:
        """Send a signal to a process; it is started again if it ends.

        Returns:
            False when it does not run.

        Raises:
            StackError: no process has this name.
        """
        return self._keeper(name).send(signum)

    def _keeper(self, name: str) -> Keeper:
        try:
            return self._keepers[name]
        except KeyError:
            raise StackError(f"process {name!r}: the stack has only {', '.join(self._keepers)}") from None

    def _tell(self, change: ProcessChange) -> None:
        with self._telling:
            self._states[change.name] = change.state
            if self._on_change is None:
                return
            try:
                self._on_change(change)
            except Exception:  # noqa: BLE001 - a listener is a guest: whatever it raises, the process stays watched
                _log.exception("a listener failed on: %s", change.line)

"""Supervise the processes of a local stack, from one process that may itself be killed."""

from __future__ import annotations

import logging
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from neuraphage.dev.process_spec import ProcessChange, ProcessSpec, ProcessState
from neuraphage.dev.stop_request import StopRequest
from neuraphage.dev.supervised_process import SupervisedProcess
from neuraphage.errors import StackError

READY_TIMEOUT_S = 300.0
"""A worker takes 3 s of processor to begin: minutes where ten others begin on a quarter of a core."""
GRACE_S = 10.0
SLOW_STOP_S = 3.0
"""A process that takes longer to end is reported as still stopping."""
_AFTER_KILL_S = 5.0
_LOOK_AGAIN_S = 0.02
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
        grace_s: time between SIGTERM and SIGKILL when stopping, unless a process has its own.
        stop: asked once, a start is broken off; asked twice, processes are killed, but for the foundations.

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
        stop: StopRequest | None = None,
    ) -> None:
        names = [spec.name for spec in specs]
        if len(set(names)) != len(names):
            raise ValueError(f"names of processes must differ: got {names}")
        self._on_change = on_change
        self._grace_s = grace_s
        self._stop = stop or StopRequest()
        self._telling = threading.Lock()
        self._states: dict[str, ProcessState] = {}
        self._children = {
            spec.name: SupervisedProcess(spec, spec.log or log_dir / f"{spec.name}.log", self._tell, ready_timeout_s)
            for spec in specs
        }
        self._started: list[SupervisedProcess] = []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start all. Foundations are waited for before the next one starts, the others together at the end.

        When it is asked to stop meanwhile, it returns with some of them started; `stop` ends those.

        Raises:
            StackError: one of them did not become ready; all are stopped again.
        """
        try:
            for child in self._children.values():
                if self._stop.asked:
                    return
                self._started.append(child)
                child.start()
                if child.spec.foundation:
                    child.await_ready(self._stop)
            for child in self._started:
                child.await_ready(self._stop)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Stop all in reverse order, foundations last: SIGTERM, a time of grace, SIGKILL. Safe to repeat."""
        for foundation in (False, True):
            wave = [child for child in reversed(self._started) if child.spec.foundation is foundation]
            for child in wave:
                child.ask_to_stop()
            self._await_ends(wave, impatient=not foundation)

    def _await_ends(self, wave: Sequence[SupervisedProcess], *, impatient: bool) -> None:
        """Wait until all have ended, and kill those whose time is over, or all when asked to stop at once."""
        asked_s = time.monotonic()
        told_slow = False
        killed_s: dict[str, float] = {}
        waiting = list(wave)
        while waiting:
            waiting = [child for child in waiting if not child.has_stopped(_LOOK_AGAIN_S)]
            now_s = time.monotonic()
            for child in waiting:
                name, grace_s = child.spec.name, child.spec.grace_s
                grace_s = self._grace_s if grace_s is None else grace_s
                if now_s - asked_s >= grace_s or (impatient and self._stop.at_once):
                    killed_s.setdefault(name, now_s)
                    child.kill()
                if now_s - killed_s.get(name, now_s) >= _AFTER_KILL_S:
                    _log.warning("%s (pid %s) did not end after SIGKILL", name, child.pid())
                    waiting = [other for other in waiting if other is not child]
            if not told_slow and now_s - asked_s >= SLOW_STOP_S:
                told_slow = True
                for child in waiting:
                    child.tell_stopping()

    def pid(self, name: str) -> int | None:
        """Process id of a running process, or None.

        Raises:
            StackError: no process has this name.
        """
        return self._child(name).pid()

    def state(self, name: str) -> ProcessState | None:
        """Newest state of a process; None before its start.

        Raises:
            StackError: no process has this name.
        """
        self._child(name)
        with self._telling:
            return self._states.get(name)

    def kill(self, name: str, signum: signal.Signals = signal.SIGKILL) -> bool:
        """Send a signal to a process; it is started again if it ends.

        Returns:
            False when it does not run.

        Raises:
            StackError: no process has this name.
        """
        return self._child(name).send(signum)

    def _child(self, name: str) -> SupervisedProcess:
        try:
            return self._children[name]
        except KeyError:
            raise StackError(f"process {name!r}: the stack has only {', '.join(self._children)}") from None

    def _tell(self, change: ProcessChange) -> None:
        with self._telling:
            self._states[change.name] = change.state
            if self._on_change is None:
                return
            try:
                self._on_change(change)
            except Exception:  # noqa: BLE001 - a listener is a guest: whatever it raises, the process stays watched
                _log.exception("a listener failed on: %s", change.line)

"""Supervise one process: a thread that starts it, waits for its end, and starts it again."""

from __future__ import annotations

import contextlib
import logging
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from neuraphage.dev.exit_cause import advice_for, cause_of_exit, last_lines, read_tail
from neuraphage.dev.process import end, is_alive, is_full, kill_group, rotate, runs_its_program, size_bytes, spawn, wait
from neuraphage.dev.process_spec import STEADY_S, ProcessChange, ProcessSpec, ProcessState, exit_words, restart_delay_s
from neuraphage.dev.stop_request import StopRequest
from neuraphage.errors import StackError

TROUBLE_ENDS = 3
"""After so many ends in a row the last lines of the log are told, once."""
_LOOK_AGAIN_S = 0.02
_KILL_TIMEOUT_S = 5.0
_log = logging.getLogger(__name__)


class SupervisedProcess:
    """One process of a stack, which is started again whenever it ends, until told to stop.

    The thread that starts the process also waits for its end: on Linux a tethered process dies with the *thread*
    that started it.

    Args:
        spec: the process.
        log: file for its output.
        report: told of every change, from the thread that supervises it.
        ready_timeout_s: longest time from a start until it is ready, unless the process has its own; then it is ended.
    """

    def __init__(
        self, spec: ProcessSpec, log: Path, report: Callable[[ProcessChange], None], ready_timeout_s: float
    ) -> None:
        self.spec = spec
        self._log = log
        self._report = report
        self._ready_timeout_s = ready_timeout_s if spec.ready_timeout_s is None else spec.ready_timeout_s
        self._guard = threading.Lock()  # over _process and the decision to start one
        self._process: psutil.Process | None = None
        self._stopping = threading.Event()
        self._settled = threading.Event()  # ready for the first time, or given up
        self._failure: str | None = None
        self._was_ready = False
        self._thread = threading.Thread(target=self._supervise, name=f"supervise-{spec.name}", daemon=True)

    def start(self) -> None:
        """Begin to supervise it. Call once."""
        self._thread.start()

    def await_ready(self, stop: StopRequest) -> None:
        """Wait until it is ready for the first time, or somebody asks to stop.

        Raises:
            StackError: it ended or was too slow; the message has its last lines.
        """
        while not self._settled.wait(_LOOK_AGAIN_S):
            if stop.asked:
                return
        if self._failure is not None:
            raise StackError(f"start {self.spec.name}: {self._failure}")

    def pid(self) -> int | None:
        """Process id while it runs, or None."""
        with self._guard:
            return int(self._process.pid) if self._process is not None and is_alive(self._process) else None

    def send(self, signum: signal.Signals) -> bool:
        """Send a signal to the process itself, not to its group; False when it does not run."""
        with self._guard:
            if self._process is None or not is_alive(self._process):
                return False
            with contextlib.suppress(psutil.NoSuchProcess):
                self._process.send_signal(signum)
                return True
            return False

    def ask_to_stop(self) -> None:
        """Start nothing any more, and ask the process to end."""
        with self._guard:
            self._stopping.set()
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)  # a frozen process hears SIGTERM only when it goes on

    def tell_stopping(self) -> None:
        """Report that the process takes its time to end."""
        self._tell(ProcessState.STOPPING, self.pid())

    def has_stopped(self, timeout_s: float) -> bool:
        """Wait until process and thread have ended; False when they have not."""
        if self._thread.ident is not None:
            self._thread.join(max(0.0, timeout_s))
        return not self._thread.is_alive()

    def kill(self) -> None:
        """Kill the process and all of its group."""
        with self._guard:
            if self._process is not None:
                kill_group(self._process)

    def _supervise(self) -> None:
        try:
            self._run_until_stopped()
        except Exception as error:  # noqa: BLE001 - whatever it is, who waits for the process would wait for ever
            _log.exception("the process %s is not watched any more, and is ended", self.spec.name)
            if self._process is not None:
                end(self._process, _KILL_TIMEOUT_S)
            self._give_up(f"{type(error).__name__}: {error}")

    def _run_until_stopped(self) -> None:
        ends_in_a_row = 0
        while not self._stopping.is_set():
            started_s = time.monotonic()
            how, last_words = self._run_once()
            if self._stopping.is_set():
                break
            if not self._was_ready:
                self._give_up(f"{how}{last_words}")
                return
            ends_in_a_row = 1 if time.monotonic() - started_s >= STEADY_S else ends_in_a_row + 1
            delay_s = restart_delay_s(ends_in_a_row)
            trouble = f"; ended {ends_in_a_row} times in a row{last_words}" if ends_in_a_row == TROUBLE_ENDS else ""
            self._tell(ProcessState.EXITED, detail=f"{how}; starts again in {delay_s:g} s{trouble}")
            self._stopping.wait(delay_s)
        self._give_up("asked to stop", ProcessState.STOPPED)

    def _run_once(self) -> tuple[str, str]:
        """Run the process from start to end.

        Returns:
            How it ended, in words; and the last lines of its log, with words before them.
        """
        rotate(self._log)
        log_start_bytes = size_bytes(self._log)
        try:
            process = self._launch()
        except StackError as error:
            return str(error), ""
        if process is None:
            return "not started", ""
        self._tell(ProcessState.STARTING, process.pid)
        too_slow = not self._became_ready(process, log_start_bytes)
        if too_slow:
            end(process, _KILL_TIMEOUT_S)
        wait(process, None)
        with self._guard:
            self._process = None
        tail = read_tail(self._log, log_start_bytes)
        code = getattr(process, "returncode", None)
        cause = None if code is not None and code < 0 else self._cause(tail)  # who is killed has not told why
        advice = advice_for(cause, self.spec.argv[0])
        how = exit_words(code, cause) + (f" ({advice})" if advice else "")
        if too_slow:
            how = f"not ready after {self._ready_timeout_s:g} s"
        return how, f"; log {self._log} ends:\n{last_lines(tail)}"

    def _cause(self, tail: str) -> str | None:
        """Why it ended, by its last words; on a full disk there may be none."""
        return cause_of_exit(tail) or ("disk full" if is_full(self._log.parent) else None)

    def _launch(self) -> psutil.Process | None:
        found = self.spec.adopt() if self.spec.adopt is not None else None
        with self._guard:
            if self._stopping.is_set() and found is None:
                return None
            with contextlib.suppress(psutil.NoSuchProcess):
                self._process = psutil.Process(found) if found is not None else None
            if self._process is None:
                tethered = not self.spec.outlives_supervisor
                self._process = spawn(
                    self.spec.argv, self.spec.env, self._log, tethered=tethered, umask=self.spec.umask
                )
            if self._stopping.is_set():
                self._process.terminate()  # it was found only after everyone was asked to stop
            return self._process

    def _became_ready(self, process: psutil.Process, log_start_bytes: int) -> bool:
        """Wait until it is ready or has ended; False when it runs on without being ready."""
        deadline_s = time.monotonic() + self._ready_timeout_s
        while is_alive(process):
            if self._is_ready(process, log_start_bytes):
                self._was_ready = True
                self._tell(ProcessState.READY, process.pid)
                self._settled.set()
                return True
            if time.monotonic() > deadline_s:
                return False
            wait(process, _LOOK_AGAIN_S)
        return True

    def _is_ready(self, process: psutil.Process, log_start_bytes: int) -> bool:
        if not runs_its_program(process):
            return False
        text = self.spec.ready_text
        if text is not None and text not in read_tail(self._log, log_start_bytes, max_bytes=1_000_000):
            return False
        return self.spec.ready is None or self.spec.ready()

    def _give_up(self, detail: str, state: ProcessState = ProcessState.FAILED) -> None:
        if not self._was_ready:
            self._failure = detail
        self._tell(state, detail=detail if state is ProcessState.FAILED else "")
        self._settled.set()

    def _tell(self, state: ProcessState, pid: int | None = None, detail: str = "") -> None:
        self._report(ProcessChange(self.spec.name, state, pid, detail, self._log))

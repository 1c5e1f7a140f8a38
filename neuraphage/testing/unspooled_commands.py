"""A Spool that is none: commands run below the worker, die with it, and leave nothing on disk.

The negative control that shows what the spool is good for, and enough to try a tool out. Another process knows nothing
of these commands, so after a crash their outcome is unknown.
"""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from neuraphage.errors import CancelRequested, LeaseLost, SpoolError
from neuraphage.model.detached import DetachedState
from neuraphage.ports import Interrupt, SpoolCommand, SpoolStatus
from neuraphage.proc import own_session
from neuraphage.redaction.ends import Redact
from neuraphage.sandbox.limits import let_begin
from neuraphage.testing.output_buffer import OutputBuffer

_GUARD = str(Path(__file__).with_name("command_guard.py"))
_CHUNK_BYTES = 65_536
_POLL_S = 1.0  # a wake-up is enough; this is for an interrupt that fails to send it
_MAX_ENDED = 64  # ended commands whose output is remembered


class UnspooledCommands:
    """Implements ports.Spool for the commands that this process started.

    Args:
        max_output_bytes: a command that writes more is ended.
        grace_s: seconds between the polite and the forced end.
        redact: takes secrets out of an output before it is shortened; None takes nothing out.
    """

    def __init__(
        self, max_output_bytes: int = 64 * 1024 * 1024, grace_s: float = 2.0, redact: Redact | None = None
    ) -> None:
        self._redact = redact
        self._max_output_bytes = max_output_bytes
        self._grace_s = grace_s
        self._lock = threading.Lock()
        self._commands: OrderedDict[str, _GuardedCommand] = OrderedDict()
        self._identity = secrets.token_hex(16)

    @property
    def identity(self) -> str:
        """Random: what another process had started is unknown here."""
        return self._identity

    def start(self, command: SpoolCommand) -> DetachedState:
        """Start it, unless this process has started it before.

        Raises:
            SpoolError: no process could be made, or the working directory is gone.
        """
        with self._lock:
            known = self._commands.get(command.effect_id)
            if known is not None:
                return known.status(0).state
            self._forget_oldest()
            self._commands[command.effect_id] = _GuardedCommand(command, self._max_output_bytes, self._grace_s)
        return DetachedState.RUNNING

    def look(self, effect_id: str, output_limit_chars: int) -> SpoolStatus:
        """Tell what is known of it; ABSENT for what another process started, and for long ended ones."""
        command = self._find(effect_id)
        return (
            SpoolStatus(DetachedState.ABSENT) if command is None else command.status(output_limit_chars, self._redact)
        )

    def seal(self, effect_id: str) -> DetachedState:
        """Promise nothing: another process may have run it, so an unknown id is ABSENT, never SEALED."""
        return self.look(effect_id, 0).state

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> SpoolStatus:
        """Wait until it ends.

        Raises:
            CancelRequested: after the command and all its children were ended.
            LeaseLost: at once. The command is ended as well: nobody else could ever attach to it.
        """
        command = self._find(effect_id)
        if command is None:
            return SpoolStatus(DetachedState.ABSENT)
        wake = threading.Event()
        command.when_over(wake.set)
        unsubscribe = interrupt.subscribe(wake.set)
        try:
            while not command.is_over():
                interrupt.check()
                wake.wait(_POLL_S)
                wake.clear()
        except CancelRequested:
            command.end("cancelled")
            command.join()
            raise
        except LeaseLost:
            command.end("cancelled")
            raise
        finally:
            unsubscribe()
        return command.status(output_limit_chars, self._redact)

    def cancel(self, effect_id: str) -> DetachedState:
        """End a running command and every process it left; wait until they are gone."""
        command = self._find(effect_id)
        if command is None:
            return DetachedState.ABSENT
        command.end("cancelled")
        command.join()
        return command.status(0).state

    def _find(self, effect_id: str) -> _GuardedCommand | None:
        with self._lock:
            return self._commands.get(effect_id)

    def _forget_oldest(self) -> None:
        ended = [effect_id for effect_id, command in self._commands.items() if command.is_over()]
        for effect_id in ended[: max(0, len(ended) - _MAX_ENDED + 1)]:
            del self._commands[effect_id]


class _GuardedCommand:
    """One command under its guard process, and the thread that reads it."""

    def __init__(self, command: SpoolCommand, max_output_bytes: int, grace_s: float) -> None:
        self._max_output_bytes = max_output_bytes
        self._lock = threading.Lock()
        self._output = OutputBuffer()
        self._over = threading.Event()
        self._listeners: list[Callable[[], None]] = []
        self._asked: str | None = None
        self._final: SpoolStatus | None = None
        self._started_s = time.monotonic()
        self._report_fd, report_end = os.pipe()
        words = let_begin(command.argv) if command.gate else command.argv
        argv: list[str | bytes] = [
            sys.executable,
            "-I",
            "-S",
            _GUARD,
            str(report_end),
            str(command.timeout_s),
            str(grace_s),
            # as a terminal would send it, also where the worker's locale cannot say it
            *(word.encode("utf-8", "surrogateescape") for word in words),
        ]
        try:
            self._guard = own_session.start(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=command.cwd,
                env=dict(command.env),
                pass_fds=(report_end,),
            )
        except (OSError, ValueError) as error:
            os.close(self._report_fd)
            raise SpoolError(f"no process could be started in {command.cwd}: {error}") from error
        finally:
            os.close(report_end)
        threading.Thread(target=self._read, name=f"command-{command.effect_id[:12]}", daemon=True).start()

    def status(self, output_limit_chars: int, redact: Redact | None = None) -> SpoolStatus:
        """As it is now."""
        with self._lock:
            if self._final is None:
                return SpoolStatus(DetachedState.RUNNING)
            output = self._output.text(output_limit_chars, redact)
            return replace(self._final, output=output)

    def is_over(self) -> bool:
        """Whether it and its children are gone and its status is known."""
        return self._over.is_set()

    def join(self) -> None:
        """Wait until is_over."""
        self._over.wait()

    def when_over(self, wake: Callable[[], None]) -> None:
        """Call `wake` when it is over; at once when it is already."""
        with self._lock:
            if self._final is None:
                self._listeners.append(wake)
                return
        wake()

    def end(self, reason: str) -> None:
        """Ask the guard to end it all: it does when the pipe closes."""
        with self._lock:
            if self._asked is not None or self._final is not None:
                return
            self._asked = reason
            if self._guard.stdin is not None:
                with suppress(OSError):
                    self._guard.stdin.close()

    def _read(self) -> None:
        stream = self._guard.stdout
        while stream is not None and (data := os.read(stream.fileno(), _CHUNK_BYTES)):
            with self._lock:
                self._output.add(data)
                is_full = self._output.total_bytes > self._max_output_bytes
            if is_full:
                self.end("output_limit")
        self._finish()

    def _finish(self) -> None:
        with os.fdopen(self._report_fd, "rb") as report:
            said = report.read()
        self._guard.wait()
        for stream in (self._guard.stdin, self._guard.stdout):
            if stream is not None:
                stream.close()
        duration_s = time.monotonic() - self._started_s
        with self._lock:
            self._output.add(b"", final=True)
            self._final = self._outcome(said, duration_s)
            listeners = list(self._listeners)
        self._over.set()
        for wake in listeners:
            wake()

    def _outcome(self, said: bytes, duration_s: float) -> SpoolStatus:
        try:
            report = json.loads(said)
        except ValueError:  # the guard itself was killed
            return SpoolStatus(DetachedState.LOST)
        reason = report["reason"]
        if reason == "cancelled":
            reason = self._asked or reason
        return SpoolStatus(
            DetachedState.DONE, report["exit_code"], reason, duration_s=duration_s, left_behind=report["left_behind"]
        )

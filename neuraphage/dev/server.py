"""Run a Valkey or Redis server of our own, for one data folder, and find it again after a crash of its launcher."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self

import psutil

from neuraphage.dev.address import ServerAddress, embedded_address
from neuraphage.dev.binary import ServerBinary, find_binary
from neuraphage.dev.exit_cause import advice_for, cause_of_exit, last_lines, read_tail
from neuraphage.dev.process import end, is_alive, rotate, size_bytes, spawn, wait
from neuraphage.dev.server_config import Fsync, keep_password, keep_port, saved_port, write_config
from neuraphage.dev.server_files import ServerFiles, open_files, take_lock
from neuraphage.dev.server_probe import ask, find_process, take_over
from neuraphage.errors import StackError

ANSWER_TIMEOUT_S = 30.0
"""Longest wait for a first answer of a fresh server."""
LOADING_TIMEOUT_S = 600.0
"""Longest wait for a server that says it is still reading its append-only file."""
STOP_TIMEOUT_S = 10.0
PORT_ATTEMPTS = 3
_LOOK_AGAIN_S = 0.01


class EmbeddedServer:
    """One server process for one data folder.

    It runs in a session of its own, so that Ctrl-C does not reach it, and outlives a killed launcher: the next
    `start` on the same folder adopts it. A second launcher on the folder is refused.

    Args:
        data_dir: the folder; everything of the server is in `<data_dir>/server`.
        fsync: always (an acknowledged write survives a power cut) or everysec (it does after a second).
        port: loopback port; None for the last one, or any free one.
        environ: searched for the program (see `find_binary`); None for the process's own.
        answer_timeout_s: longest wait for a first answer.
        is_tied: on Linux it ends with the thread that starts it.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        fsync: Fsync = "always",
        port: int | None = None,
        environ: Mapping[str, str] | None = None,
        answer_timeout_s: float = ANSWER_TIMEOUT_S,
        is_tied: bool = False,
    ) -> None:
        self.answer_timeout_s = answer_timeout_s
        self._is_tied = is_tied
        self._data_dir = data_dir
        self._fsync: Fsync = fsync
        self._asked_port = port
        self._environ = os.environ if environ is None else environ
        self._files: ServerFiles | None = None
        self._binary: ServerBinary | None = None
        self._lock: IO[str] | None = None
        self._password = ""
        self._process: psutil.Process | None = None
        self._port = 0
        self._address: ServerAddress | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        """Process id of the running server, or None."""
        return self._process.pid if self._process is not None and self.is_alive() else None

    @property
    def address(self) -> ServerAddress:
        """Where the server is, once `prepare` or `start` was called."""
        if self._address is None:
            raise StackError(f"address of the server in {self._data_dir}: call start() first")
        return self._address

    @property
    def files(self) -> ServerFiles:
        """Where the server's files are, once `prepare` or `start` was called."""
        if self._files is None:
            raise StackError(f"files of the server in {self._data_dir}: call start() first")
        return self._files

    def start(self) -> ServerAddress:
        """Start the server, or adopt the one that a killed launcher left, and wait until it answers.

        Raises:
            StackError: the folder is taken or unusable, no program was found, or the server ended; the message
                names the cause and the log.
        """
        if self.is_alive():
            return self.address
        self.prepare()
        try:
            if self.adopt() is None:
                self._start_anew()
        except BaseException:
            self.stop()
            raise
        return self.address

    def prepare(self) -> ServerAddress:
        """Take the folder and write the configuration, without starting anything (for a supervisor).

        Raises:
            StackError: see start.
        """
        if self._lock is not None:
            return self.address
        files = open_files(self._data_dir)
        self._lock = take_lock(files)
        try:
            self._files = files
            self._binary = find_binary(self._environ)
            self._password = keep_password(files)
            self._process = None
            self._configure()
        except BaseException:
            self.release()
            raise
        return self.address

    def argv(self) -> tuple[str, ...]:
        """Command line of the prepared server; it holds no secret."""
        if self._binary is None:
            raise StackError(f"command line of the server in {self._data_dir}: call prepare() first")
        return (str(self._binary.path), str(self.files.config))

    def environment(self) -> dict[str, str]:
        """Environment of the server: none of ours, since it could hold keys that the server has no use for."""
        return {"PATH": os.defpath, "LC_ALL": "C"}

    def adopt(self) -> int | None:
        """Find a running server of this folder, wait until it answers, and take it over; end one that does not.

        Returns:
            Its process id, or None when none runs.
        """
        process = find_process(self.files.config)
        if process is None:
            return None
        deadline_s = time.monotonic() + self.answer_timeout_s
        while is_alive(process):
            state = ask(self.files.socket_path, self._password)
            if state == "ready" and take_over(
                self.files.socket_path, self._password, port=self._port, fsync=self._fsync
            ):
                self._process = process
                return int(process.pid)
            if state in ("ready", "refused") or (state == "silent" and time.monotonic() > deadline_s):
                end(process, STOP_TIMEOUT_S)
                return None
            wait(process, _LOOK_AGAIN_S)
        return None

    def answers(self) -> bool:
        """Tell whether the server answers PING with our password, and has read all its data."""
        return ask(self.files.socket_path, self._password) == "ready"

    def is_alive(self) -> bool:
        """Tell whether the server's process runs."""
        return self._process is not None and is_alive(self._process)

    def stop(self) -> None:
        """End the server (also an adopted one), after it has written everything, and give the folder back."""
        if self._process is not None:
            end(self._process, STOP_TIMEOUT_S)
            self._process = None
        self.release()

    def release(self) -> None:
        """Give the folder back without touching the server."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _configure(self) -> None:
        files = self.files
        # A server left over keeps its port: asking whether that is free would find it taken.
        left_over = saved_port(files) if find_process(files.config) is not None else None
        self._port = self._asked_port or left_over or keep_port(files)
        write_config(files, self._password, self._port, self._fsync)
        self._address = embedded_address(self._password, files.socket_path, self._port)

    def _start_anew(self) -> None:
        for attempts_left in reversed(range(PORT_ATTEMPTS)):
            rotate(self.files.log)
            log_start_bytes = size_bytes(self.files.log)
            child = spawn(self.argv(), self.environment(), self.files.log, tethered=self._is_tied)
            self._process = child
            if self._answers_in_time(child):
                return
            tail = read_tail(self.files.log, log_start_bytes)
            # Someone may take the port between our look and the server's: then another one is chosen.
            may_repeat = attempts_left and self._asked_port is None and cause_of_exit(tail) == "port in use"
            if not may_repeat:
                raise StackError(self._failure(tail))
            self._configure()

    def _answers_in_time(self, child: psutil.Process) -> bool:
        """Wait for the first answer; False when the process ended.

        Raises:
            StackError: it runs and does not answer.
        """
        started_s = time.monotonic()
        while not wait(child, _LOOK_AGAIN_S):
            state = ask(self.files.socket_path, self._password)
            if state == "ready":
                return True
            limit_s = LOADING_TIMEOUT_S if state == "loading" else self.answer_timeout_s
            if time.monotonic() - started_s > limit_s:
                raise StackError(
                    f"start the server in {self._data_dir}: {state} for {limit_s:g} s; see {self.files.log}"
                )
        return False

    def _failure(self, tail: str) -> str:
        cause = cause_of_exit(tail)
        hint = advice_for(cause, self.argv()[0]) or "see the log"
        start = f"start the server in {self._data_dir}: {cause or 'cause unknown'}; {hint}"
        return f"{start}. Log {self.files.log} ends:\n{last_lines(tail)}"

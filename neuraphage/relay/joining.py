"""How a worker gets at the relay of its host: it connects to the one that takes calls, or starts one."""

from __future__ import annotations

import fcntl
import logging
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

import orjson

from neuraphage.private_files import open_private
from neuraphage.proc import own_session
from neuraphage.relay.frames import HEADER, BadFrame, json_frame, parsed
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace

log = logging.getLogger(__name__)

START_S = 15.0
"""Longest wait for a relay that was started. It takes a quarter of a second of processor."""
CONNECT_S = 2.0
AGAIN_S = 30.0
"""After a start that failed, no further one is tried for so long."""
END_S = 5.0
"""Longest wait for the end of an idle one."""
_ANSWER_BYTES = 4_096
_LOOK_S = 0.01
_LOG = "relay.log"
_NAMES = (
    "PYTHONPATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "http_proxy", "https_proxy", "all_proxy", "no_proxy",
)  # fmt: skip
"""What of the environment says how a provider is reached."""


class RelayAway(Exception):
    """No relay can be had."""


class RelayDoor:
    """Connections of this process to the relay of its host. Thread-safe.

    Args:
        place: where it is found.
        limits: of one that this process starts.
    """

    def __init__(self, place: RelayPlace, limits: RelayLimits) -> None:
        self.place = place
        self._limits = limits
        self._lock = threading.Lock()
        self._staying: socket.socket | None = None
        self._failed_s: float | None = None

    def connect(self) -> socket.socket:
        """A connection to the relay that takes new calls; one is started where there is none.

        Raises:
            RelayAway: none can be had.
        """
        try:
            return self._connected() or self._started()
        except OSError as error:
            raise RelayAway(str(error)) from error

    def forget(self) -> None:
        """In a forked child: what the parent has opened is not ours."""
        self._lock = threading.Lock()
        staying, self._staying = self._staying, None
        if staying is not None:
            staying.close()

    def close(self) -> None:
        """This process uses no relay any more."""
        with self._lock:
            staying, self._staying = self._staying, None
        if staying is not None:
            staying.close()

    # --- parts ---

    def _connected(self) -> socket.socket | None:
        for link in (self.place.service, self.place.started):
            name = self.place.current(link)
            with suppress(OSError):
                if name:
                    connection = self.place.connect(name, CONNECT_S)
                    self._stay(name)
                    return connection
        return None

    def _stay(self, name: str) -> None:
        """Hold one connection while this process lives: a relay without users ends."""
        with self._lock:
            if self._staying is not None and not _is_closed(self._staying):
                return
            with suppress(OSError):
                if self._staying is not None:
                    self._staying.close()
                self._staying = self.place.connect(name, CONNECT_S)
                self._staying.sendall(json_frame({"op": "stay"}))

    def _started(self) -> socket.socket:
        failed_s = self._failed_s
        if failed_s is not None and time.monotonic() - failed_s < AGAIN_S:
            raise RelayAway("none could be started a moment ago")
        self.place.make()
        with _locked(self.place):
            connection = self._connected()  # by whoever held the lock before
            if connection is not None:
                return connection
            try:
                self._launch()
            except (OSError, RelayAway):
                self._failed_s = time.monotonic()
                raise
        connection = self._connected()
        if connection is None:
            raise RelayAway("the one that was started takes no connections")
        return connection

    def _launch(self) -> None:
        """Start one and wait until it listens.

        Raises:
            OSError: it cannot be started.
            RelayAway: it ended, or did not listen in time.
        """
        limits = orjson.dumps(asdict(self._limits)).decode()
        output = open_private(self.place.root / _LOG, os.O_WRONLY | os.O_TRUNC)
        try:
            process = own_session.start(
                [sys.executable, "-P", "-m", "neuraphage.relay", str(self.place.root), self.place.host, limits],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd="/",
                env=own_session.bare_environment(_NAMES),
            )
        finally:
            os.close(output)
        with suppress(RuntimeError):  # no thread is to be had: the next Popen collects it
            threading.Thread(target=process.wait, name="relay-reaper", daemon=True).start()
        deadline_s = time.monotonic() + START_S
        while not self.place.is_alive(self.place.current(self.place.started)):
            if process.returncode is not None:
                raise RelayAway(f"it ended with {process.returncode} at its start; see {self.place.root / _LOG}")
            if time.monotonic() > deadline_s:
                raise RelayAway(f"it did not start in {START_S:.0f} s; look at the load of this host")
            time.sleep(_LOOK_S)


def state_of(place: RelayPlace, name: str) -> dict[str, Any]:
    """What a relay says of itself; empty where it does not answer.

    Args:
        place: where it is found.
        name: of its socket.
    """
    try:
        with place.connect(name, CONNECT_S) as connection:
            connection.sendall(json_frame({"op": "state"}))
            return parsed(connection.recv(_ANSWER_BYTES)[HEADER.size :])
    except (OSError, BadFrame):
        return {}


def end_idle(place: RelayPlace) -> None:
    """Have the relay that workers of this host have started end now, if it has no call; and wait for that.

    Args:
        place: where it is found.
    """
    name = place.current(place.started)
    if not name:
        return
    pid = 0
    with suppress(OSError, BadFrame, KeyError, TypeError, ValueError), place.connect(name, CONNECT_S) as connection:
        connection.sendall(json_frame({"op": "end"}))
        pid = int(parsed(connection.recv(_ANSWER_BYTES)[HEADER.size :])["pid"])
    deadline_s = time.monotonic() + END_S
    with suppress(ProcessLookupError):
        while pid > 0 and time.monotonic() < deadline_s:
            os.kill(pid, 0)
            time.sleep(_LOOK_S)


@contextmanager
def _locked(place: RelayPlace) -> Iterator[None]:
    """One process starts a relay at a time."""
    file = open_private(place.starting, os.O_RDWR)
    try:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed it; it never sends anything."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))

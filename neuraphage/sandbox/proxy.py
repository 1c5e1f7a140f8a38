"""The proxy: the only way of a sandbox to the network, and only to the hosts that a person has listed.

It listens on a unix socket of this user and speaks HTTP: CONNECT, and plain requests, one a connection (gate.py). The
socket of a proxy that has ended stays: nobody listens there, and the next one takes its place.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

from neuraphage.decide.allowed_hosts import read_allowed_host, read_denied_host
from neuraphage.errors import SpoolError
from neuraphage.sandbox.gate import Gate, ProxyLimits, Report, Resolve
from neuraphage.sandbox.proxy_socket import listening
from neuraphage.sandbox.resolving import addresses_of

_KEEPS_SOCKET: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""Python 3.13 would look for the socket by the name that it was bound by, and remove what is there."""
_START_LIMIT_S = 30.0


class Proxy:
    """A proxy in a thread of its own. Start it behind a fork, not before: a child has no threads.

    Args:
        path: of the socket; its folder is made with mode 0700.
        allow_hosts: entries of the setting.
        report: told host, port and whether it may be reached, at each request that names a host; in the proxy's
            thread, which it must not hold up.
        limits: of what it takes.
        resolve: gives a host's addresses.
        denied: hosts that may not be reached, whatever `allow_hosts` has.

    Raises:
        BadInput: an entry is none.
    """

    def __init__(
        self,
        path: Path,
        allow_hosts: Iterable[str],
        report: Report | None = None,
        limits: ProxyLimits | None = None,
        resolve: Resolve = addresses_of,
        denied: Iterable[str] = (),
    ) -> None:
        self._path = path
        self._limits = limits or ProxyLimits()
        entries, others = tuple(map(read_allowed_host, allow_hosts)), tuple(map(read_denied_host, denied))
        self._gate = Gate(entries, report or (lambda _host, _port, _allowed: None), self._limits, resolve, others)
        self._running: _Running | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Listen, in place of whoever listened there before; returns when a connection would be taken.

        Raises:
            SpoolError: it cannot listen there.
        """
        if self._running is not None:
            return
        listener = listening(self._path)
        running = _Running(listener, self._gate, self._limits)
        try:
            running.start()
        except RuntimeError as error:
            listener.close()
            raise SpoolError("the proxy of the sandbox got no thread; check the limit of processes") from error
        self._running = running
        if not running.is_ready.wait(_START_LIMIT_S):
            self.stop()
            raise SpoolError(f"the proxy of the sandbox did not start in {_START_LIMIT_S:.0f} s; look at the load")

    def stop(self) -> None:
        """End all connections and the thread. One that does not run is left alone."""
        running, self._running = self._running, None
        if running is not None:
            running.stop()
            running.join(_START_LIMIT_S)


class _Running(threading.Thread):
    def __init__(self, listener: socket.socket, gate: Gate, limits: ProxyLimits) -> None:
        super().__init__(name="sandbox-proxy", daemon=True)
        self._listener = listener
        self._gate = gate
        self._limits = limits
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self.is_ready = threading.Event()

    def stop(self) -> None:
        with contextlib.suppress(RuntimeError):  # its loop is closed already
            self._loop.call_soon_threadsafe(self._stopping.set)

    def run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        tasks: set[asyncio.Task[None]] = set()

        def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.ensure_future(self._gate.serve(reader, writer))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

        limit = self._limits.head_bytes
        server = await asyncio.start_unix_server(begin, sock=self._listener, limit=limit, **_KEEPS_SOCKET)
        self.is_ready.set()
        await self._stopping.wait()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

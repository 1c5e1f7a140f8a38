"""Ends a blocked HTTP call from another thread by shutting its socket down.

Closing an HTTP response from another thread does not wake a thread that waits in `recv`; shutting the socket
down does, at once, and the server sees the end of the connection too. The socket is learnt from the HTTP
client's trace callback and duplicated, so that the shutdown reaches the connection whatever TLS or the pool
did with the first descriptor, and can never hit another connection that got the same number.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from enum import Enum
from typing import Any

import httpx2

_current: ContextVar[Hangup | None] = ContextVar("neuraphage_llm_hangup", default=None)


IN_HAND = "neuraphage"
"""Name of the extension of a request that holds the Hangup of its call: a relay's transport asks it."""


class Cause(Enum):
    """Why a call was hung up."""

    INTERRUPT = "interrupt"
    DEADLINE = "deadline"


class Hangup:
    """The switch of one call. Thread-safe.

    Before the connection exists it only remembers, and the connection is shut down before anything is sent:

    - A call that is still connecting ends when that step does. The connect timeout bounds it for each address of the
      host, one after the other.
    - A call that is still resolving the host's name ends when the resolver answers and that step is over too. No
      timeout of ours bounds a resolver, only its own (`options timeout` and `attempts` in resolv.conf): a thread that
      waits in it cannot be woken.

    Args:
        call_id: names the call for a relay; empty without one.
        task_id: whose call it is.
        timeout_s: longest whole call.
        check: asked by who reads from a relay, several times a second; what it raises ends the reading.
        relayed: told when the call outlives this process.
    """

    def __init__(
        self,
        call_id: str = "",
        task_id: str = "",
        timeout_s: float = 0.0,
        check: Callable[[], None] = lambda: None,
        relayed: Callable[[], None] = lambda: None,
    ) -> None:
        self.call_id = call_id
        self.task_id = task_id
        self.timeout_s = timeout_s
        self.relayed = relayed
        self._check = check
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._cause: Cause | None = None

    @property
    def cause(self) -> Cause | None:
        """Why the call was hung up; None when it was not."""
        return self._cause

    def hang_up(self, cause: Cause) -> None:
        """Shut the connection down; the first cause is kept."""
        with self._lock:
            self._cause = self._cause or cause
            for sock in self._sockets:
                _shut_down(sock)

    def poll(self) -> None:
        """Return when the reader of a relay may go on.

        Raises:
            httpx2.ReadError: the call was hung up; or the interrupt says that this process must stop reading.
        """
        if self._cause is None:
            try:
                self._check()
            except BaseException:  # noqa: BLE001 - of the interrupt, which raises it anew behind the HTTP client
                self.hang_up(Cause.INTERRUPT)
        if self._cause is not None:
            raise httpx2.ReadError(f"hung up: {self._cause.value}")

    def trace(self, event_name: str, info: Mapping[str, Any]) -> None:
        """Learn the socket; this is the HTTP client's trace callback, called in the calling thread."""
        # The part before it names who connects: `connection`, or `socks` through such a proxy.
        if not event_name.endswith(".connect_tcp.complete"):
            return
        sock = info["return_value"].get_extra_info("socket")
        with self._lock:
            own = sock.dup()
            self._sockets.append(own)
            if self._cause is not None:
                _shut_down(own)

    @contextlib.contextmanager
    def watching(self, timeout_s: float) -> Iterator[None]:
        """Watch the HTTP calls that this thread makes inside the block.

        Args:
            timeout_s: seconds until the block's connection is hung up with Cause.DEADLINE.
        """
        timer = threading.Timer(timeout_s, self.hang_up, (Cause.DEADLINE,))
        timer.daemon = True
        timer.name = "neuraphage-llm-deadline"
        timer.start()
        token = _current.set(self)
        try:
            yield
        finally:
            timer.cancel()
            _current.reset(token)
            self._release()

    def _release(self) -> None:
        with self._lock:
            for sock in self._sockets:
                sock.close()
            self._sockets.clear()


def attach_current(request: httpx2.Request) -> None:
    """Request hook of the HTTP client: give the request the trace callback of the call in this thread."""
    hangup = _current.get()
    if hangup is not None:
        callback: Callable[[str, Mapping[str, Any]], None] = hangup.trace
        request.extensions["trace"] = callback
        request.extensions[IN_HAND] = hangup


def _shut_down(sock: socket.socket) -> None:
    # The peer may have closed first; then there is nothing left to shut down.
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)

"""A server that answers with given bytes, and both ways in which a relay reads an answer."""

from __future__ import annotations

import asyncio
import secrets
import socket
import struct
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from neuraphage.relay.entry import CallEntry
from neuraphage.relay.order import Order
from neuraphage.relay.proxied import ProxiedWay
from neuraphage.relay.recording import Recording
from neuraphage.relay.sending import Sender
from patience import PATIENCE_S

RESET = "the connection is reset"
OWN, LIBRARY, CHOSEN = "own", "library", "chosen by the environment"
WAYS = (OWN, LIBRARY)
MOST_BYTES = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """What a relay has recorded.

    Args:
        status, headers, body: of the answer; 0 for none.
        fault: name of what broke it off; empty for nothing.
        text: of that.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fault: str
    text: str = ""

    def told(self) -> Outcome:
        """Without the words of a fault, and the headers that frame the answer: each way has its own."""
        headers = tuple(one for one in self.headers if one[0] not in ("content-length", "transfer-encoding"))
        return replace(self, headers=headers, text="")


@contextmanager
def answering(steps: Sequence[bytes | str], *, reads: bool = True, lingers: bool = True) -> Iterator[str]:
    """A server that answers each request with these pieces and hangs up; its address.

    Args:
        steps: pieces, with an instant between them; RESET in place of a last one.
        reads: read the request before.
        lingers: read on until who asked has gone; else what was sent may be lost with a reset.
    """
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    _answer(server.accept()[0], steps, reads=reads, lingers=lingers)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _answer(connection: socket.socket, steps: Sequence[bytes | str], *, reads: bool, lingers: bool) -> None:
    with connection, suppress(OSError):
        connection.settimeout(PATIENCE_S)
        if reads:
            _request(connection)
        else:
            connection.recv(1)
        for number, step in enumerate(steps):
            if number:
                time.sleep(0.02)
            if isinstance(step, str):
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            connection.sendall(step)
        if lingers:
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass


def _request(connection: socket.socket) -> None:
    """Read a request, whose end its length tells."""
    come = b""
    while b"\r\n\r\n" not in come:
        come += connection.recv(65_536)
    head, _, body = come.partition(b"\r\n\r\n")
    lines = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    left = int(lines[0].partition(b":")[2]) - len(body) if lines else 0
    while left > 0:
        left -= len(connection.recv(min(left, 65_536)))


def an_order(url: str, *, body: bytes = b"{}", method: str = "POST", read_s: float = PATIENCE_S) -> Order:
    """A request as a worker gives it to its relay."""
    headers = (("content-type", "application/json"), ("accept-encoding", "gzip"))
    return Order(secrets.token_hex(16), "task", method, url, headers, body, PATIENCE_S, read_s, PATIENCE_S * 2)


def recorded(way: str, order: Order, folder: Path) -> Outcome:
    """What a relay records of the answer to an order.

    Args:
        way: of WAYS, or CHOSEN.
        order: the request.
        folder: for what is recorded.
    """
    entry = CallEntry(folder / order.call_id)
    begun = entry.begin("relay", order.task_id, 0)
    assert begun is not None

    async def send() -> None:
        sender = Sender(8)
        if way != CHOSEN:
            sender._proxied = ProxiedWay(8, sender._pause_s) if way == LIBRARY else None
        recording = Recording(begun, MOST_BYTES)
        try:
            await sender.send(order, recording)
        finally:
            await sender.close()
            recording.close()

    asyncio.run(send())
    kept = entry.kept()
    assert kept.end is not None
    status, headers = (0, ()) if kept.head is None else (kept.head.status, kept.head.headers)
    return Outcome(status, headers, kept.body, kept.end.fault, kept.end.text)

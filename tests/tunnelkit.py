"""An HTTP proxy on loopback, which tunnels, refuses, or dies in the midst of an answer."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from patience import PATIENCE_S


class HttpProxy:
    """One proxy.

    Args:
        refusal: what it answers to every request; empty for none.
        most_bytes: of answers; it dies behind them.
    """

    def __init__(self, refusal: bytes = b"", most_bytes: int | None = None) -> None:
        self.asked: list[bytes] = []
        """First line of each request."""
        self._refusal = refusal
        self._left_bytes = most_bytes
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def serve(self) -> None:
        """Take connections until the listener is shut."""
        with suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._client, args=(client,), daemon=True).start()

    def _client(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            client.settimeout(PATIENCE_S)
            come = b""
            while b"\r\n\r\n" not in come:
                come += client.recv(65_536)
            line = come.partition(b"\r\n")[0]
            self.asked.append(line)
            if self._refusal:
                client.sendall(self._refusal)
                return
            target = line.split()[1]
            place = target if line.startswith(b"CONNECT ") else target.partition(b"://")[2].partition(b"/")[0]
            host, _, port = place.decode().rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                if line.startswith(b"CONNECT "):
                    client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                else:
                    server.sendall(come)
                back = threading.Thread(target=self._back, args=(server, client), daemon=True)
                back.start()
                with suppress(OSError):
                    while piece := client.recv(65_536):
                        server.sendall(piece)
                back.join()

    def _back(self, server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while piece := server.recv(65_536):
                if self._left_bytes is not None:
                    piece, self._left_bytes = piece[: self._left_bytes], self._left_bytes - len(piece)
                client.sendall(piece)
                if self._left_bytes is not None and self._left_bytes <= 0:
                    break
        for one in (client, server):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxy(refusal: bytes = b"", most_bytes: int | None = None) -> Iterator[HttpProxy]:
    """A proxy until the end of the block."""
    made = HttpProxy(refusal, most_bytes)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.listener.shutdown(socket.SHUT_RDWR)
        made.listener.close()
        thread.join()

"""A proxy of the sandbox with the servers that tests reach through it."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from patience import PATIENCE_S


class Told:
    """What a proxy reported."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, int, bool]] = []

    def __call__(self, host: str, port: int, allowed: bool) -> None:
        self.rows.append((host, port, allowed))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        told = f"{self.command} {self.path} host={self.headers['Host']} body={body.decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A request that the proxy cut off."""


@contextmanager
def web_server() -> Iterator[int]:
    """A web server on this machine's loopback, which says what it was asked; its port."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def listening() -> Iterator[tuple[socket.socket, int]]:
    """A socket that listens on loopback and accepts when the test does."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE_S)
        yield server, server.getsockname()[1]


def dial(path: Path) -> socket.socket:
    """A connection to the proxy, whose path may be longer than a socket's: it is reached by the open folder."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.settimeout(PATIENCE_S)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        client.connect(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    return client


def everything(client: socket.socket) -> bytes:
    """All that comes until the end."""
    pieces = []
    try:
        while piece := client.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def ask(path: Path, request: str) -> str:
    """One request, and all that comes of it."""
    with dial(path) as client:
        with suppress(BrokenPipeError):  # answered and closed already
            client.sendall(request.replace("\n", "\r\n").encode("latin-1"))
        return everything(client).decode("latin-1")

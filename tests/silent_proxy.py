"""A proxy whose path falls silent: all is dropped and neither side is told, as behind a firewall that forgot."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from collections.abc import Callable
from typing import Self

CHUNK_BYTES = 1 << 16


class SilentProxy:
    """Passes everything on until it is told to fall silent. Use as a context manager.

    Args:
        dial: connects to the server.
    """

    def __init__(self, dial: Callable[[], socket.socket]) -> None:
        self._dial = dial
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._lock = threading.Lock()
        self._dead: set[int] = set()
        self._made = 0
        self._deaf = False
        self._let_in = threading.Event()
        self._let_in.set()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._let_in.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def drop(self, *, new: bool = False, hold: bool = False) -> None:
        """Drop all that the connections of now send or should get, for ever.

        Args:
            new: those to come as well.
            hold: those to come get no further than to be made until `heal`, and lose nothing.
        """
        with self._lock:
            if hold:
                self._let_in.clear()
            self._dead |= set(range(self._made))
            self._deaf = new

    def heal(self) -> None:
        """New connections get through from now on, and those that were held."""
        with self._lock:
            if self._let_in.is_set():
                self._dead |= set(range(self._made))
            self._deaf = False
            self._let_in.set()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                number = self._made
                self._made += 1
                if self._deaf:
                    self._dead.add(number)
            threading.Thread(target=self._serve, args=(client, number), daemon=True).start()

    def _serve(self, client: socket.socket, number: int) -> None:
        self._let_in.wait()
        with client, self._dial() as server, contextlib.suppress(OSError):
            while self._pass_on(client, server, number):
                pass

    def _pass_on(self, client: socket.socket, server: socket.socket, number: int) -> bool:
        ready, _, _ = select.select([client, server], [], [])
        for source, sink in ((client, server), (server, client)):
            if source in ready:
                piece = source.recv(CHUNK_BYTES)
                if number in self._dead:
                    if not piece:  # the end of a connection is dropped, too
                        threading.Event().wait()
                    continue
                if not piece:
                    return False
                sink.sendall(piece)
        return True

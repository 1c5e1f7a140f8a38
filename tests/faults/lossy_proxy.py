"""A proxy before the server that loses the answer of one script call, and may be down for a while after that."""

from __future__ import annotations

import contextlib
import re
import select
import socket
import threading
from pathlib import Path
from typing import Self

SCRIPT_CALL = re.compile(rb"\$(?:7\r\nEVALSHA|4\r\nEVAL)\r\n")
DIGEST = re.compile(rb"\$7\r\nEVALSHA\r\n\$40\r\n([0-9a-f]{40})")
CHUNK_BYTES = 1 << 20


class LossyProxy:
    """Passes everything on, but for one answer. Use as a context manager.

    Args:
        socket_path: where it listens.
        server_path: the server.
    """

    def __init__(self, socket_path: Path, server_path: Path) -> None:
        self.socket_path = socket_path
        self._server_path = server_path
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._lock = threading.Lock()
        self._lose = 0
        self.calls: list[str] = []
        """Digest of each script call that came (empty for one sent with its source), oldest first."""
        self.lost = threading.Event()
        """Set once the answer was lost: the server has done the work."""
        self.refusals = 0
        """So many next connections are ended at once."""
        self._refuse_after = 0

    def __enter__(self) -> Self:
        self._listener.bind(str(self.socket_path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        # closing alone does not wake the thread that waits in accept
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def lose(self, number: int, *, refusals: int = 0) -> None:
        """Count script calls from here on, and lose the answer of this one.

        Args:
            number: which, from 1; 0 for none.
            refusals: how many connections are ended at once after that.
        """
        with self._lock:
            self.calls, self._lose, self._refuse_after = [], number, refusals
            self.lost.clear()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.refusals > 0:
                self.refusals -= 1
                client.close()
                continue
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server, contextlib.suppress(OSError):
            server.connect(str(self._server_path))
            while self._pass_on(client, server):
                pass

    def _pass_on(self, client: socket.socket, server: socket.socket) -> bool:
        ready, _, _ = select.select([client, server], [], [])
        if server in ready:
            answer = server.recv(CHUNK_BYTES)
            client.sendall(answer)
            return bool(answer)
        request = client.recv(CHUNK_BYTES)
        loses = self._counted(request)
        server.sendall(request)
        if loses:
            server.recv(1)  # it has answered, so the work is done
            self.refusals = self._refuse_after
            self.lost.set()
        return bool(request) and not loses

    def _counted(self, request: bytes) -> bool:
        """Count the script calls of a request; whether the answer is to be lost."""
        with self._lock:
            for found in SCRIPT_CALL.finditer(request):
                digest = DIGEST.match(request, found.start())
                self.calls.append(digest[1].decode() if digest else "")
                if len(self.calls) == self._lose:
                    return True
        return False

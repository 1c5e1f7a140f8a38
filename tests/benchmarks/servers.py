"""State servers of a benchmark: the embedded binary, every write synced, state over a socket, broker over loopback."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Self

import redis

from tests.benchmarks.machine import wait_until
from tests.servers import server_binary

START_LIMIT_S = 10.0


class BenchServer:
    """One server with an append-only file and `appendfsync always`, never rewritten while it is measured.

    Args:
        folder: data folder; short, since it holds a unix socket.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.socket = folder / "s"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]

    def __enter__(self) -> Self:
        argv = [str(server_binary()), "--port", str(self.port), "--bind", "127.0.0.1"]
        argv += ["--unixsocket", str(self.socket), "--dir", str(self.folder), "--save", ""]
        argv += ["--appendonly", "yes", "--appendfsync", "always", "--auto-aof-rewrite-percentage", "0"]
        with (self.folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._answers, "the server to answer", limit_s=START_LIMIT_S)
        return self

    def _answers(self) -> bool:
        try:
            return bool(self.client(0).ping())
        except redis.exceptions.RedisError:
            return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(5)

    @property
    def pid(self) -> int:
        """Process id, for its CPU time."""
        return self._process.pid

    def client(self, db: int) -> redis.Redis:
        """A client over the socket."""
        return redis.Redis(unix_socket_path=str(self.socket), db=db)

    def state_url(self) -> str:
        """The state database."""
        return f"unix://{self.socket}?db=1"

    def broker_url(self) -> str:
        """The broker database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def file_bytes(self) -> int:
        """Size of the append-only file."""
        info = self.client(0).info("persistence")
        return int(info["aof_current_size"])

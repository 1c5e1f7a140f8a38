"""A disk that is full when a test says so: a small tmpfs, or where none may be mounted a limit on the size of files."""

from __future__ import annotations

import contextlib
import functools
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from fault_server import FaultServer

import neuraphage.dev.server
from neuraphage.dev.process import spawn
from neuraphage.dev.server_config import Fsync

SIZE_BYTES = 4 * 1024 * 1024
LEFT_BYTES = 4_096
"""Room that is left on a full disk: some writes go through, then one is cut in its middle."""


class SmallDisk(Protocol):
    """Where the server writes."""

    def fill(self, server: FaultServer) -> None:
        """Leave no room."""
        ...

    def free(self, server: FaultServer) -> None:
        """Give the room back, to a server that may have ended."""
        ...

    def start(self, folder: Path, fsync: Fsync) -> FaultServer:
        """Start a server on it."""
        ...


class Tmpfs:
    """A file system of its own; root may mount it."""

    def __init__(self, folder: Path) -> None:
        self._ballast = folder / "ballast"

    @staticmethod
    @contextlib.contextmanager
    def mounted(folder: Path) -> Iterator[bool]:
        """Mount it on an empty folder for a while; False when that is not allowed."""
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE_BYTES},mode=700", "neuraphage-test", str(folder)],
            capture_output=True,
            check=False,
        )
        try:
            yield made.returncode == 0
        finally:
            if made.returncode == 0:
                subprocess.run(["umount", str(folder)], check=True)

    def start(self, folder: Path, fsync: Fsync) -> FaultServer:
        """See SmallDisk."""
        return FaultServer(folder, fsync)

    def fill(self, server: FaultServer) -> None:
        """See SmallDisk."""
        with self._ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(b"\0" * LEFT_BYTES):
                pass
        room = self._ballast.stat().st_size - LEFT_BYTES
        with self._ballast.open("r+b") as file:
            file.truncate(room)

    def free(self, server: FaultServer) -> None:
        """See SmallDisk."""
        self._ballast.unlink()


class FileSizeLimit:
    """RLIMIT_FSIZE on the server: a write past it is cut short, then refused, as on a full disk."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # started through an interpreter, which ignores SIGXFSZ, as the server then does too
        monkeypatch.setattr(neuraphage.dev.server, "spawn", functools.partial(spawn, tethered=True))

    def start(self, folder: Path, fsync: Fsync) -> FaultServer:
        """See SmallDisk."""
        return FaultServer(folder, fsync)

    def fill(self, server: FaultServer) -> None:
        """See SmallDisk."""
        size = server.append_only_file.stat().st_size
        _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (size + LEFT_BYTES, hard))

    def free(self, server: FaultServer) -> None:
        """See SmallDisk."""
        if server.embedded.is_alive():
            _, hard = resource.prlimit(server.pid, resource.RLIMIT_FSIZE)
            resource.prlimit(server.pid, resource.RLIMIT_FSIZE, (hard, hard))

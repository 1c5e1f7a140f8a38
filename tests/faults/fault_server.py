"""The embedded server and all that can befall one: stopped, killed, frozen, full, read-only, set back in time."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from neuraphage.dev.process import wait
from neuraphage.dev.server import EmbeddedServer
from neuraphage.dev.server_config import Fsync
from turnkit import until

STATE_DB, BALLAST_DB = 1, 5


class FaultServer:
    """One server of our own; it is up when this is made.

    Args:
        folder: data folder with a short path.
        fsync: always or everysec.
    """

    def __init__(self, folder: Path, fsync: Fsync = "always") -> None:
        self.embedded = EmbeddedServer(folder, fsync=fsync)
        self.address = self.embedded.start()
        self.files = self.embedded.files
        self.password = (self.files.folder / "password").read_text(encoding="utf-8").strip()
        self.admin = self.client(STATE_DB)

    def client(self, db: int = STATE_DB, **options: Any) -> Any:
        """A client that never tries twice; replies are bytes."""
        path = str(self.address.socket_path)
        return redis.Redis(unix_socket_path=path, password=self.password, db=db, retry=Retry(NoBackoff(), 0), **options)

    @property
    def pid(self) -> int:
        pid = self.embedded.pid
        assert pid is not None, "the server does not run"
        return pid

    @property
    def append_only_file(self) -> Path:
        """The file that grows with each write."""
        return max((self.files.folder / "appendonlydir").glob("*.incr.aof"))

    # --- up and down ---

    def start(self) -> None:
        """Start it on what its disk holds, on the same address; waits until it answers."""
        assert self.embedded.start() == self.address

    def stop(self) -> None:
        """SIGTERM, as an operator does."""
        self.embedded.stop()

    def kill(self) -> None:
        """Kill -9."""
        process = psutil.Process(self.pid)
        process.kill()
        wait(process, 10.0)
        until(lambda: not self.embedded.is_alive())

    def close(self) -> None:
        """Thaw and stop it, whatever state it is in."""
        with contextlib.suppress(AssertionError, ProcessLookupError):
            self.thaw()
        self.embedded.stop()
        self.admin.close()

    def wait_gone(self) -> None:
        """Wait until it has ended by itself."""
        until(lambda: not self.embedded.is_alive())
        self.embedded.stop()

    def answers(self) -> str:
        """`ready`, or the name of the error that a PING gets."""
        try:
            with self.client() as client:
                client.ping()
        except redis.RedisError as error:
            return type(error).__name__
        return "ready"

    # --- frozen ---

    def freeze(self) -> None:
        """SIGSTOP: connections stand, nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)
        until(lambda: psutil.Process(self.pid).status() == psutil.STATUS_STOPPED)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    @contextlib.contextmanager
    def frozen(self, at_least_s: float) -> Iterator[None]:
        """Frozen while the block runs, and for at least so long."""
        self.freeze()
        began_s = time.monotonic()
        try:
            yield
            until(lambda: time.monotonic() - began_s >= at_least_s)
        finally:
            self.thaw()

    # --- refusing ---

    @contextlib.contextmanager
    def full(self) -> Iterator[None]:
        """Over its memory limit: every write that grows is refused with OOM."""
        self.admin.config_set("maxmemory", 1)
        try:
            yield
        finally:
            self.admin.config_set("maxmemory", 0)

    @contextlib.contextmanager
    def read_only(self) -> Iterator[None]:
        """Made a replica of nobody: writes are refused with READONLY; what it holds stays."""
        self.admin.replicaof("127.0.0.1", 1)
        try:
            yield
        finally:
            self.admin.replicaof("NO", "ONE")

    def kill_connections(self) -> int:
        """End every connection of others, subscribers too; how many were ended."""
        killed = 0
        for kind in ("normal", "pubsub"):
            killed += self.admin.client_kill_filter(_type=kind, skipme=True)
        return killed

    # --- the disk ---

    def load_slowly(self, at_least_s: float, keys: int = 20_480) -> None:
        """From now on each start takes so long to load: so many keys more, and a pause of the server's own at each.

        Meanwhile it answers at every 1,024th.
        """
        with self.client(BALLAST_DB) as client:
            client.eval("for i = 1, ARGV[1] do redis.call('SET', 'k' .. i, '0123456789') end", 0, keys)
        slow = (*self.embedded.argv(), "--key-load-delay", str(round(at_least_s * 1_000_000 / keys)))
        self.embedded.argv = lambda: slow  # type: ignore[method-assign]  # of this server alone

    @contextlib.contextmanager
    def set_back(self) -> Iterator[None]:
        """Within the block the server runs on; at its end it is killed and started with the disk of the beginning."""
        saved, data = self.files.folder.parent / "saved", self.files.folder / "appendonlydir"
        shutil.copytree(data, saved)
        yield
        self.kill()
        shutil.rmtree(data)
        saved.rename(data)
        self.start()

    def torn(self, cut_bytes: int) -> None:
        """Kill it, take the last bytes off its file, as a power cut may, and start it again."""
        self.kill()
        path = self.append_only_file
        size = path.stat().st_size
        assert size > cut_bytes
        os.truncate(path, size - cut_bytes)
        self.start()

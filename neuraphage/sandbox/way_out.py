"""The way of sandboxed commands to the hosts that are allowed: this process's proxy, started at the first of them."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.sandbox.proxy import Proxy
from neuraphage.server_socket import run_folders

log = logging.getLogger(__name__)


class WayOut:
    """A proxy of this process and no other: a forked child starts one of its own.

    Args:
        folder: where its socket is made, or in a run folder where that path is too long for one.
        hosts: entries of the setting `allow_hosts`.
    """

    def __init__(self, folder: Path, hosts: Sequence[str]) -> None:
        self._folder = folder
        self.hosts = tuple(hosts)
        self._lock = threading.Lock()
        self._proxy: tuple[int, Path, Proxy] | None = None

    def socket(self) -> Path:
        """The socket of the running proxy.

        Raises:
            SpoolError: it cannot be started.
        """
        with self._lock:
            if self._proxy is None or self._proxy[0] != os.getpid():
                self._proxy = (os.getpid(), *self._started())
            return self._proxy[1]

    def close(self) -> None:
        """End the proxy, and with it the way out of commands that run on."""
        with self._lock:
            if self._proxy is not None and self._proxy[0] == os.getpid():
                self._proxy[2].stop()
            self._proxy = None

    def _started(self) -> tuple[Path, Proxy]:
        name = f"p{os.getpid()}"
        failed: SpoolError | None = None
        for folder in (self._folder, *run_folders(self._folder)):
            proxy = Proxy(folder / name, self.hosts, _log)
            try:
                proxy.start()
            except SpoolError as error:
                failed = failed or error
                continue
            return folder / name, proxy
        raise failed or SpoolError("there is no place for the socket of the proxy")


def _log(host: str, port: int, allowed: bool) -> None:
    if not allowed:
        log.warning("a command was refused the host %s:%d, which the setting allow_hosts does not list", host, port)

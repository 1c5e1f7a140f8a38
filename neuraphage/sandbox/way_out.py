"""The way of sandboxed commands to the hosts that are allowed: a proxy for each, while a worker waits for the command.

A command outlives its worker. Whoever waits for it next listens at the same place, and lets it reach the hosts that it
was started with, whatever its own settings list.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from neuraphage.sandbox.gate import Report
from neuraphage.sandbox.proxy import Proxy
from neuraphage.sandbox.way_folder import WayFolder, WayFolders

log = logging.getLogger(__name__)


class WayOut:
    """Ways of the commands that this process waits for.

    Args:
        folders: where each command's way is.
        hosts: entries of the setting `allow_hosts`.
    """

    def __init__(self, folders: WayFolders, hosts: Sequence[str]) -> None:
        self.folders = folders
        self.hosts = tuple(hosts)

    def made(self, effect_id: str) -> Path:
        """Where the socket of a command will be while it is `served`, in a folder made for it.

        Raises:
            SpoolError: it cannot be made.
        """
        way = self.folders.of_command(effect_id)
        way.make(self.hosts)
        return way.socket

    @contextmanager
    def served(self, effect_id: str) -> Iterator[None]:
        """While in it, connections of this command are taken. A command that has no way is left without.

        Raises:
            SpoolError: nobody can listen there.
        """
        way = self.folders.of_command(effect_id)
        hosts = way.hosts()
        if hosts is None:
            yield
            return
        way.keep()
        with Proxy(way.socket, hosts, _noting(way)):
            yield


def _noting(way: WayFolder) -> Report:
    def note(host: str, port: int, allowed: bool) -> None:
        if not allowed:
            log.warning("a command was refused the host %s:%d, which it may not reach", host, port)
            way.note_refused(host, port)

    return note

"""The way of sandboxed commands to the hosts that are allowed: a proxy for each, while a worker waits for the command.

A command outlives its worker. Whoever waits for it next listens at the same place, and lets it reach the hosts that it
was started with, whatever its own settings list.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from neuraphage.decide.allowed_hosts import is_allowed, is_denied, is_inner, read_allowed_host, read_denied_host
from neuraphage.model.sandbox import NO_HOSTS, HostReach, RefusedHost
from neuraphage.sandbox.gate import Report
from neuraphage.sandbox.proxy import Proxy
from neuraphage.sandbox.way_folder import WayFolder, WayFolders

log = logging.getLogger(__name__)


class WayOut:
    """Ways of the commands that this process waits for.

    Args:
        folders: where each command's way is.
        hosts: entries of the setting `allow_hosts`.
        blocked: entries of the setting `blocked_hosts`, as they are now: they hold for commands that run already, too.
        asks: whether people are asked about hosts that a command was refused: then it has a way though none is allowed.
    """

    def __init__(
        self, folders: WayFolders, hosts: Sequence[str], blocked: Sequence[str] = (), *, asks: bool = False
    ) -> None:
        self.folders = folders
        self._blocked = tuple(blocked)
        self.hosts = tuple(hosts)
        self.asks = asks
        self.is_open = asks or bool(hosts)

    def made(self, effect_id: str, reach: HostReach = NO_HOSTS) -> Path | None:
        """Where the socket of a command will be while it is `served`, in a folder made for it; None for no way at all.

        Args:
            effect_id: of the command.
            reach: what rules say of hosts.

        Raises:
            SpoolError: it cannot be made.
        """
        if not self.is_open and not reach.allowed:
            return None
        way = self.folders.of_command(effect_id)
        way.make(HostReach((*self.hosts, *reach.allowed), reach.denied))
        return way.socket

    @contextmanager
    def served(self, effect_id: str) -> Iterator[None]:
        """While in it, connections of this command are taken. A command that has no way is left without.

        Raises:
            SpoolError: nobody can listen there.
        """
        way = self.folders.of_command(effect_id)
        reach = way.hosts()
        if reach is None:
            yield
            return
        way.keep()
        with Proxy(way.socket, reach.allowed, _noting(way), denied=(*reach.denied, *self._blocked)):
            yield

    def refused(self, effect_id: str) -> tuple[RefusedHost, ...]:
        """Hosts that a command was refused so far."""
        way = self.folders.of_command(effect_id)
        reach = way.hosts() or NO_HOSTS
        allowed = [*map(read_allowed_host, reach.allowed)]
        denied = [*map(read_denied_host, (*reach.denied, *self._blocked))]

        def is_askable(host: str, port: int) -> bool:
            is_known = is_allowed(allowed, host, port) or is_denied(denied, host, port)
            return not is_known and not is_inner(host)

        return tuple(RefusedHost(host=host, port=port, askable=is_askable(host, port)) for host, port in way.refused())


def _noting(way: WayFolder) -> Report:
    def note(host: str, port: int, allowed: bool) -> None:
        if not allowed:
            log.warning("a command was refused the host %s:%d, which it may not reach", host, port)
            way.note_refused(host, port)

    return note

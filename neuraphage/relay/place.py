"""Where the relays of a host are found: their sockets, and the folder of the calls.

    ROOT/s-NAME         the socket of one relay
    ROOT/current        a link to the one that runs as a service of its own
    ROOT/current-HOST   a link to the one that workers of a host have started
    ROOT/starting-HOST  the lock of who starts one
    ROOT/calls          what is kept of calls

Containers may share the folder, and each counts as a host: a relay that was started in one ends with it. So each starts
one of its own, unless there is a service; and what one has begun, the others read by its socket. A relay that drains
serves what it has begun, while another one takes new calls.
"""

from __future__ import annotations

import os
import secrets
import socket
from contextlib import suppress
from pathlib import Path

from neuraphage.private_files import FILE_MODE, private_folder
from neuraphage.proc.socket_path import short_path
from neuraphage.relay.entry import CallEntry

CURRENT, STARTING, CALLS = "current", "starting", "calls"
_SOCKET = "s-"
BACKLOG = 1_024
"""Connections that wait to be taken; the kernel may allow fewer."""


class RelayPlace:
    """The folder of the relays of one namespace.

    Args:
        root: the folder; it need not exist.
        host: names this host.
    """

    def __init__(self, root: Path, host: str = "here") -> None:
        self.root = root.absolute()
        self.host = host
        self.calls = self.root / CALLS
        self.starting = self.root / f"{STARTING}-{host}"
        self.service = CURRENT
        """Name of the link to a relay that runs as a service."""
        self.started = f"{CURRENT}-{host}"
        """Name of the link to one that workers of this host have started."""

    def make(self) -> None:
        """Make the folders.

        Raises:
            OSError: they cannot be made, or are not this user's alone.
        """
        private_folder(self.root)
        private_folder(self.calls)

    def entry(self, call_id: str) -> CallEntry:
        """What is kept of a call."""
        return CallEntry(self.calls / call_id)

    def listen(self) -> tuple[socket.socket, str]:
        """A new socket that listens, and its name. It is not the current one yet.

        Raises:
            OSError: it cannot be made.
        """
        name = f"{_SOCKET}{secrets.token_hex(6)}"
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with short_path(self.root / name) as path:
                listener.bind(path)
            (self.root / name).chmod(FILE_MODE)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
        return listener, name

    def make_current(self, link: str, name: str) -> None:
        """New calls go to this socket from now on.

        Args:
            link: `service` or `started`.
            name: of the socket.

        Raises:
            OSError: the link cannot be made.
        """
        made = self.root / f".{secrets.token_hex(6)}"
        made.symlink_to(name)
        made.replace(self.root / link)

    def current(self, link: str | None = None) -> str:
        """The name of the socket that takes new calls; empty for none.

        Args:
            link: `service` or `started`; None for the one of the service, or else the other.
        """
        if link is None:
            return self.current(self.service) or self.current(self.started)
        try:
            name = os.readlink(self.root / link)  # noqa: PTH115 - Path would make a path of a name
        except OSError:
            return ""
        return name if name.startswith(_SOCKET) and "/" not in name else ""

    def leave(self, link: str, name: str) -> None:
        """This socket takes no new calls any more."""
        if self.current(link) == name:
            (self.root / link).unlink(missing_ok=True)

    def connect(self, name: str, timeout_s: float) -> socket.socket:
        """A connection to a relay.

        Args:
            name: of its socket.
            timeout_s: for the connection, and for what follows on it.

        Raises:
            OSError: nobody listens there.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(timeout_s)
        try:
            with short_path(self.root / name) as path:
                connection.connect(path)
        except OSError:
            connection.close()
            raise
        return connection

    def is_alive(self, name: str) -> bool:
        """Whether a process listens at this socket; a frozen one does."""
        if not name.startswith(_SOCKET):
            return False
        try:
            self.connect(name, 1.0).close()
        except BlockingIOError:
            return True  # its queue is full
        except OSError:
            return False
        return True

    def remove_dead(self) -> None:
        """Remove the sockets of relays that are gone."""
        with suppress(OSError):
            for path in self.root.glob(f"{_SOCKET}*"):
                if not self.is_alive(path.name):
                    path.unlink(missing_ok=True)

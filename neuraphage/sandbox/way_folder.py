"""What is kept of one command's way to the network: the folder of its socket, its hosts, and those it was refused.

    WAYS/EFFECT-ID/in/s      the proxy's socket; `in` is all of it that the command sees, and it cannot be written there
    WAYS/EFFECT-ID/hosts     entries that this command may reach, and may not, from its start to its end
    WAYS/EFFECT-ID/refused   hosts that it was refused, a line each

The folder is bound into the sandbox, not the socket: whichever process listens there next is reached by the same path.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.model.sandbox import HostReach
from neuraphage.private_files import open_private, private_folder, replace_private
from neuraphage.sandbox.old_folders import remove_old

MOST_REFUSED = 20
"""Hosts that are kept of one command; it is refused further ones all the same."""
SOCKET = "s"
_SEEN, _HOSTS, _REFUSED = "in", "hosts", "refused"
_EFFECT_ID = re.compile(r"[0-9a-f]{16,64}")


class WayFolder:
    """The way of one command.

    Args:
        path: its folder; it need not exist.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.seen = path / _SEEN
        """What the command sees of it."""
        self.socket = self.seen / SOCKET

    def make(self, reach: HostReach) -> None:
        """Make it, for a command that is about to start. One that is there keeps its hosts: they were allowed to it.

        Raises:
            SpoolError: it cannot be made.
        """
        try:
            for folder in (self.path.parent, self.path, self.seen):
                private_folder(folder)
            if not (self.path / _HOSTS).exists():
                replace_private(self.path / _HOSTS, json.dumps([reach.allowed, reach.denied]))
        except OSError as error:
            raise SpoolError(
                f"cannot make the way to the network at {self.path}: {error.strerror or error}; check the space and"
                " the rights of the data folder"
            ) from error

    def hosts(self) -> HostReach | None:
        """What the command may reach; None where it has no way, or nothing tells."""
        try:
            allowed, denied = json.loads((self.path / _HOSTS).read_text(encoding="utf-8"))
            return HostReach(tuple(map(str, allowed)), tuple(map(str, denied)))
        except (OSError, ValueError, TypeError):
            return None

    def keep(self) -> None:
        """Note that it is in use: it goes `exec_retention_s` later, not before."""
        os.utime(self.path)

    def note_refused(self, host: str, port: int) -> None:
        """Keep that a host was refused, once each, before the command is told so: a worker's death loses none.

        Raises:
            OSError: it cannot be written.
        """
        known = self.refused()
        if (host, port) in known or len(known) >= MOST_REFUSED:
            return
        file = open_private(self.path / _REFUSED, os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, f"{host} {port}\n".encode("ascii", "replace"))
        finally:
            os.close(file)

    def refused(self) -> tuple[tuple[str, int], ...]:
        """Hosts and ports that it was refused, in order, MOST_REFUSED at most."""
        try:
            lines = (self.path / _REFUSED).read_text(encoding="ascii", errors="replace").splitlines()
        except OSError:
            return ()
        found = (line.partition(" ") for line in lines)  # the last one may be cut short, by a full disk
        return tuple(dict.fromkeys((host, int(port)) for host, _, port in found if port.isdecimal()))[:MOST_REFUSED]


class WayFolders:
    """The ways of all commands of this host, below the data folder, which no command sees by that name.

    Args:
        root: of all of them; made with mode 0700.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def of_command(self, effect_id: str) -> WayFolder:
        """The way of a command.

        Raises:
            SpoolError: this is no effect id.
        """
        if not _EFFECT_ID.fullmatch(effect_id):
            raise SpoolError(f"effect id {effect_id[:80]!r} is not 16 to 64 lower-case hexadecimal digits")
        return WayFolder(self.root / effect_id)

    def expire(self, older_than_s: float) -> int:
        """Delete the ways that nobody has used for so long (seconds); returns how many."""
        return remove_old(self.root, older_than_s)

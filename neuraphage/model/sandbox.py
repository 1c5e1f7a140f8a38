"""What a command in a sandbox sees, and may change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from neuraphage.model.base import Frozen


class SandboxKind(StrEnum):
    """What confines the commands of tasks."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    SEATBELT = "seatbelt"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class SandboxView:
    """What a command in a sandbox sees and may change. All paths are absolute and resolved.

    The place that is named closest to a file decides about it.

    Args:
        working_dir: it may change what is in it.
        guarded: below it, or below what is writable, read-only all the same (.git/hooks, .git/config).
        hidden: files and directories that it can neither read nor change.
        shown: below a hidden directory, to be read all the same (tool chains in a home).
        writable: folders outside of it that may be changed as well: git's, where it belongs to a repository.
        kept: what is to be put back when the command has ended, since nothing holds it meanwhile.
        sockets: those of hidden that are sockets of other programs, and may be gone before the command begins.
        proxy_socket: unix socket of the proxy that reaches the allowed hosts; None for no network at all.
    """

    working_dir: str
    guarded: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    proxy_socket: str | None = None
    writable: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    sockets: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class HostReach:
    """Hosts that rules say something of, besides the setting `allow_hosts`; entries are written as there.

    Args:
        allowed: commands of the task may reach these.
        denied: they may not reach these, whatever allows it.
    """

    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()


NO_HOSTS = HostReach()
"""Rules say nothing of hosts."""


class RefusedHost(Frozen):
    """A host that a command has asked for and was refused.

    Args:
        host: its name or address.
        port: the port.
        askable: whether a person could allow it for the task. Not an address of this machine or its network, nor a
            name that leads to one, nor what a rule denies.
    """

    host: str
    port: int
    askable: bool = False

    @property
    def place(self) -> str:
        """Host and port, as an entry of allowed hosts."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class CommandLimits:
    """What a command in a sandbox may use; its time has a limit of its own.

    Args:
        memory_bytes: data of each of its processes.
        processes: processes and threads of it.
        file_bytes: the largest file that it may write.
    """

    memory_bytes: int
    processes: int
    file_bytes: int

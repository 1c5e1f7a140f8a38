"""Commands in each kind of sandbox (implement ports.Sandbox)."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import NamedTuple

from neuraphage.errors import SpoolError
from neuraphage.model.sandbox import NO_HOSTS, CommandLimits, HostReach, RefusedHost, SandboxKind, SandboxView
from neuraphage.ports import SpoolCommand
from neuraphage.sandbox.bubblewrap import PROXY_SOCKET, under_bubblewrap
from neuraphage.sandbox.cgroups import NO_CGROUPS
from neuraphage.sandbox.landlock import landlocked
from neuraphage.sandbox.limits import BEGIN, STANDS, limited, within_system_limits
from neuraphage.sandbox.proxy_environment import bridged, proxy_environment
from neuraphage.sandbox.repository import all_kept, make_orders
from neuraphage.sandbox.seatbelt import seatbelt
from neuraphage.sandbox.task_folders import TMP, TaskFolders
from neuraphage.sandbox.unix_sockets import reachable_sockets
from neuraphage.sandbox.view import view_of
from neuraphage.sandbox.way_out import WayOut

_NOT_THERE = ("XDG_RUNTIME_DIR", "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DOCKER_HOST")
"""Places of sockets that a command in a sandbox does not reach."""
_TOLD = (
    " It runs in a sandbox: it can change only the working directory and {tmp}, {network}, and sees no secret of the"
    " user's."
)
_NO_NETWORK = "reaches no network"
_ASKED = "the user is asked about hosts that a command was refused"


class _Way(NamedTuple):
    """Whose way to the network it is, and what rules say of hosts."""

    effect_id: str
    reach: HostReach


class NoSandbox:
    """Commands with all rights of their worker.

    Args:
        why: why there is none, and what to do about it.
    """

    kind = SandboxKind.NONE
    name = ""
    is_closed = False
    has_way_out = False
    told = ""
    why_none: str

    def __init__(self, why: str) -> None:
        self.why_none = why

    def confined(self, command: SpoolCommand, reach: HostReach = NO_HOSTS) -> SpoolCommand:  # noqa: ARG002 - as below
        """See ports.Sandbox: as it is."""
        return command

    def refused(self, effect_id: str) -> tuple[RefusedHost, ...]:  # noqa: ARG002 - as below
        """See ports.Sandbox: nothing refuses any."""
        return ()

    def served(self, effect_id: str) -> AbstractContextManager[None]:  # noqa: ARG002 - the port's form
        """See ports.Sandbox: nothing to do."""
        return nullcontext()


class _Confining(ABC):
    """What all kinds share: what a command sees, and what it may use.

    Args:
        folders: where each task's temporary files are.
        limits: what a command may use.
        private: files and folders that no command sees.

    Attributes:
        cgroups: that commands run in; none unless they are given.
    """

    why_none = ""

    cgroups = NO_CGROUPS

    def __init__(self, folders: TaskFolders, limits: CommandLimits, private: Iterable[str] = ()) -> None:
        self._folders = folders
        self._allowed = limits
        self._limits = within_system_limits(limits)
        self._private = (*private, str(folders.root))

    def confined(self, command: SpoolCommand, reach: HostReach = NO_HOSTS) -> SpoolCommand:
        """See ports.Sandbox."""
        sockets = reachable_sockets()
        private = (*self._private, *sockets)
        home = command.env.get("HOME")
        view = view_of(command.cwd, private, command.env, home)
        self._refuse_own_folder(view)
        if make_orders(view.kept):
            view = view_of(command.cwd, private, command.env, home)
        view = replace(view, sockets=frozenset(sockets))
        folder = self._folders.of_task(command.task_id)
        argv, environ = self._in_it(
            limited(command.argv, self._limits), view, str(folder), _Way(command.effect_id, reach)
        )
        own = {name: value for name, value in command.env.items() if name not in _NOT_THERE}
        cgroup = self.cgroups.of(command.effect_id, self._allowed)
        return replace(
            command, argv=argv, env=own | environ, kept=self._kept(view), cgroup=cgroup, gate=(STANDS, BEGIN)
        )

    def served(self, effect_id: str) -> AbstractContextManager[None]:  # noqa: ARG002 - the port's form
        """See ports.Sandbox: a command without a way out needs nothing."""
        return nullcontext()

    def refused(self, effect_id: str) -> tuple[RefusedHost, ...]:  # noqa: ARG002 - the port's form
        """See ports.Sandbox: nothing tells what a command without a way out has asked for."""
        return ()

    @abstractmethod
    def _in_it(
        self, argv: Sequence[str], view: SandboxView, folder: str, way: _Way
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """The command line that confines another one, and what its environment has besides.

        Args:
            argv: of the command.
            view: what it sees.
            folder: of the task, for temporary files.
            way: of the command.
        """

    def _kept(self, view: SandboxView) -> tuple[str, ...]:
        """What the spool puts back when the command has ended."""
        return view.kept

    def _refuse_own_folder(self, view: SandboxView) -> None:
        """Nothing could be hidden in a working directory that is private itself."""
        for place in self._private:
            if os.path.realpath(place) == view.working_dir:
                raise SpoolError(
                    f"the working directory {view.working_dir} is where neuraphage keeps its own data, which no command"
                    " may see; submit the task with another one"
                )


class Bubblewrap(_Confining):
    """Commands under bubblewrap.

    Args:
        program: its path.
        folders: where each task's /tmp is.
        limits: what a command may use.
        private: files and folders that no command sees.
        filter_path: file of a compiled seccomp filter; None for none.
        way_out: to the hosts that are allowed; None for no network.
    """

    kind = SandboxKind.BUBBLEWRAP

    def __init__(
        self,
        program: str,
        folders: TaskFolders,
        limits: CommandLimits,
        private: Iterable[str] = (),
        filter_path: str | None = None,
        way_out: WayOut | None = None,
    ) -> None:
        ways = () if way_out is None else (str(way_out.folders.root),)
        super().__init__(folders, limits, (*private, *ways))
        self._program = program
        self._filter_path = filter_path
        self._way_out = way_out

    @property
    def name(self) -> str:
        """See ports.Sandbox."""
        return " ".join((self.kind.value, *(self._way_out.hosts if self._way_out is not None else ())))

    @property
    def is_closed(self) -> bool:
        """See ports.Sandbox."""
        return self._way_out is None or not self._way_out.hosts

    @property
    def has_way_out(self) -> bool:
        """See ports.Sandbox."""
        return self._way_out is not None

    @property
    def told(self) -> str:
        """See ports.Sandbox."""
        hosts = self._way_out.hosts if self._way_out is not None else ()
        network = f"reaches {', '.join(hosts)} by HTTP(S) and no other host" if hosts else _NO_NETWORK
        if self._way_out is not None and self._way_out.asks:
            network += f" ({_ASKED})"
        more = " git's configuration and hooks cannot be changed. What it starts ends with it."
        return _TOLD.format(tmp="/tmp", network=network) + more  # noqa: S108 - its own

    def refused(self, effect_id: str) -> tuple[RefusedHost, ...]:
        """See ports.Sandbox."""
        return () if self._way_out is None else self._way_out.refused(effect_id)

    def served(self, effect_id: str) -> AbstractContextManager[None]:
        """See ports.Sandbox."""
        return nullcontext() if self._way_out is None else self._way_out.served(effect_id)

    def _in_it(
        self, argv: Sequence[str], view: SandboxView, folder: str, way: _Way
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        environ = _temporary("/tmp")  # noqa: S108 - its own
        socket = None if self._way_out is None else self._way_out.made(way.effect_id, way.reach)
        if self._way_out is not None and socket is not None:
            view = replace(view, proxy_socket=str(socket))
            argv = bridged(argv, PROXY_SOCKET)
            environ |= proxy_environment((*self._way_out.hosts, *way.reach.allowed))
        program, filter_path = self._program, self._filter_path
        return under_bubblewrap(argv, view, program=program, temporary=folder, filter_path=filter_path), environ


class Landlock(_Confining):
    """Commands restricted by Landlock, where there is no bubblewrap; landlock.py tells what that leaves out.

    What is guarded may be changed: else nothing could be made beside it, in the working directory itself. It is put
    back when the command has ended.
    """

    kind = SandboxKind.LANDLOCK
    name = kind.value
    is_closed = True
    has_way_out = False
    told = _TOLD.format(tmp="$TMPDIR", network=_NO_NETWORK) + " Changes of git's configuration and hooks are undone."

    def _kept(self, view: SandboxView) -> tuple[str, ...]:
        inside = f"{view.working_dir.rstrip('/')}/"
        return tuple(path for path in all_kept(view.guarded, view.kept) if path.startswith(inside))

    def _in_it(
        self,
        argv: Sequence[str],
        view: SandboxView,
        folder: str,
        way: _Way,  # noqa: ARG002 - no way out here
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        temporary = os.path.realpath(f"{folder}/{TMP}")
        shown = replace(view, guarded=(), writable=())
        return tuple(landlocked(argv, shown, temporary, keep_guarded=False)), _temporary(temporary)


class Seatbelt(_Confining):
    """Commands under the sandbox of macOS; never tried there."""

    kind = SandboxKind.SEATBELT
    name = kind.value
    is_closed = True
    has_way_out = False
    told = _TOLD.format(tmp="$TMPDIR", network=_NO_NETWORK)

    def _in_it(
        self,
        argv: Sequence[str],
        view: SandboxView,
        folder: str,
        way: _Way,  # noqa: ARG002 - no way out here
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        temporary = os.path.realpath(f"{folder}/{TMP}")
        return tuple(seatbelt(argv, view, temporary)), _temporary(temporary)


def _temporary(folder: str) -> dict[str, str]:
    """Where a command finds room for what it does not keep."""
    return {"TMPDIR": folder, "XDG_CACHE_HOME": f"{folder}/.cache", "npm_config_cache": f"{folder}/.npm"}

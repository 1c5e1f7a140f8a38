"""The seam to what confines commands."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Protocol

from neuraphage.model.sandbox import NO_HOSTS, HostReach, RefusedHost, SandboxKind
from neuraphage.ports.detached import SpoolCommand


class Sandbox(Protocol):
    """Runs commands so that they reach only what they may."""

    @property
    def kind(self) -> SandboxKind:
        """What confines them; NONE for nothing."""
        ...

    @property
    def why_none(self) -> str:
        """Why there is none, and what to do about it; empty where there is one."""
        ...

    @property
    def told(self) -> str:
        """What the model is told of it, so that it takes no refusal for a fault of the machine; empty without one."""
        ...

    @property
    def name(self) -> str:
        """What confines them and what they reach, in words; empty for nothing."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether commands are confined, and reach no network at all."""
        ...

    @property
    def has_way_out(self) -> bool:
        """Whether commands have a way to hosts that rules allow, if they do."""
        ...

    def confined(self, command: SpoolCommand, reach: HostReach = NO_HOSTS) -> SpoolCommand:
        """The command as it is to be started, while it is `served`.

        Args:
            command: as its tool made it.
            reach: what rules say of hosts.

        Raises:
            SpoolError: it cannot be confined; nothing may be started then.
        """
        ...

    def refused(self, effect_id: str) -> tuple[RefusedHost, ...]:
        """Hosts that a command has asked for so far and was refused, once each, a bounded number."""
        ...

    def served(self, effect_id: str) -> AbstractContextManager[None]:
        """While in it, this process gives a command the way to the hosts that it was started with, if there are any.

        Whoever starts a command or waits for it is in it, one process at a time: that of the task's lease.

        Raises:
            SpoolError: it has none now.
        """
        ...

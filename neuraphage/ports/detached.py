"""The seam to detached work: what is begun by an effect id, and outlives the process which began it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from neuraphage.model.detached import DetachedState
from neuraphage.ports.effects import Interrupt


@dataclass(frozen=True, slots=True)
class DetachedStatus:
    """State of one piece of detached work; each kind of work adds what it came to.

    Args:
        state: see DetachedState.
    """

    state: DetachedState


WorkT_contra = TypeVar("WorkT_contra", contravariant=True)
StatusT_co = TypeVar("StatusT_co", bound=DetachedStatus, covariant=True)


class Detached(Protocol[WorkT_contra, StatusT_co]):
    """Work that goes on without the process which started it, and that any process of the same place finds again.

    One effect id names at most one piece of work, for good: a repeated start finds the first, and what was sealed
    never starts. So after a death the next lease seals the id, and knows for certain what to do.
    """

    @property
    def identity(self) -> str:
        """Names this set of records, at random. What another one holds is unknown here: another host's, or that of
        a container that is gone."""
        ...

    def start(self, work: WorkT_contra, /) -> DetachedState:
        """Start it, unless a record of its effect id exists already (exclusive).

        Returns:
            RUNNING when this call started it; else the state of the existing record.

        Raises:
            ConfinementFailed: what was to be made around it could not be; it did not begin.
            SpoolError: the record could not be made (disk full, no permission).
        """
        ...

    def look(self, effect_id: str, output_limit_chars: int) -> StatusT_co:
        """Tell what is known of it, without changing anything."""
        ...

    def seal(self, effect_id: str) -> DetachedState:
        """Forbid work that has not started from ever starting.

        Returns:
            SEALED when it had not started; else the state it was found in.

        Raises:
            SpoolError: the seal could not be written.
        """
        ...

    def wait(self, effect_id: str, output_limit_chars: int, interrupt: Interrupt) -> StatusT_co:
        """Wait until it ends.

        Raises:
            CancelRequested: after the work and all that it started were ended.
            LeaseLost: at once, leaving the work alone.
            SpoolError: nothing could be read of it.
        """
        ...

    def cancel(self, effect_id: str) -> DetachedState:
        """End it with all that it started; wait until that is gone. What has not started is sealed."""
        ...


# --- commands ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SpoolStatus(DetachedStatus):
    """State of one spooled command.

    Args:
        state: see DetachedState.
        exit_code: DONE: exit status, or minus the signal number.
        reason: DONE: exited, timeout, cancelled, output_limit, memory_limit or lease_moved.
        output: DONE, and LOST where it is known: what it wrote (stdout and stderr as they came), shortened to the
            limit, head and tail kept.
        duration_s: DONE: how long it ran.
        left_behind: DONE: processes it had left running in the background; they were ended too.
        timeout_s: DONE: the limit it ran under; None when that is not known any more.
        output_bytes: DONE: all that it wrote, shortened or not.
    """

    exit_code: int | None = None
    reason: str | None = None
    output: str = ""
    duration_s: float | None = None
    left_behind: int = 0
    timeout_s: float | None = None
    output_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CommandCgroup:
    """The control group that a command is to run in; made before it starts, and removed when it has ended.

    Args:
        path: its folder, which is not there yet.
        memory_bytes: all of its processes together may use; past it all are killed.
        processes: it may have at once.
    """

    path: str
    memory_bytes: int
    processes: int


@dataclass(frozen=True, slots=True)
class SpoolCommand:
    """A command to run in a process of its own.

    Args:
        effect_id: names the entry; the same id never runs twice.
        argv: program and arguments (a shell command line is `["/bin/bash", "-c", line]`).
        cwd: working directory.
        timeout_s: the spool process ends it after this.
        env: whole environment of the command.
        task_id: for people who look at the folder.
        kept: paths of files and folders that are put back as they were, when it has ended.
        cgroup: it is to run in; None for that of its worker.
        gate: where argv makes something around the command that can fail: numbers of the files by which it tells
            that all stands (by a byte), and waits until it may begin the command (for a byte). Empty where it does not.
    """

    effect_id: str
    argv: tuple[str, ...]
    cwd: str
    timeout_s: float
    env: Mapping[str, str]
    task_id: str = ""
    kept: tuple[str, ...] = ()
    cgroup: CommandCgroup | None = None
    gate: tuple[int, ...] = ()


class Spool(Detached[SpoolCommand, SpoolStatus], Protocol):
    """Commands as detached work."""

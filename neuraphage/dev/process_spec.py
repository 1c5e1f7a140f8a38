"""What a supervised process is, and what is told of it. Pure values and decisions."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

FIRST_DELAY_S = 0.2
MAX_DELAY_S = 30.0
STEADY_S = 30.0
"""A process that was up this long is forgiven its earlier ends."""


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """One process to supervise.

    Args:
        name: for people, for `kill` and for the log's name: lower case letters, digits and dashes.
        argv: program and arguments, without secrets.
        env: its whole environment; never shown.
        ready: tells whether it works; asked again and again from its start on.
        ready_text: it works once its output holds this. With neither, it counts as ready when it runs.
        adopt: finds a process that is running already, instead of starting one.
        log: file for its output; None for `<name>.log` in the supervisor's folder.
        address: where it is reached or what it does, in a few words for people.
        ready_timeout_s: how long it may take to become ready; None for the supervisor's time.
        grace_s: how long it may take to end when asked; None for the supervisor's time.
        foundation: the others need it: they start when it is ready, and it ends after them.
        outlives_supervisor: whether it may live on when the supervisor is killed (Linux).
        umask: of the process; -1 for the supervisor's own.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(repr=False)
    ready: Callable[[], bool] | None = field(default=None, repr=False)
    ready_text: str | None = None
    adopt: Callable[[], int | None] | None = field(default=None, repr=False)
    log: Path | None = None
    address: str = ""
    ready_timeout_s: float | None = None
    grace_s: float | None = None
    foundation: bool = False
    outlives_supervisor: bool = False
    umask: int = -1

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,62}", self.name):
            raise ValueError(f"name of a process: got {self.name!r}, want lower case letters, digits and dashes")
        if not self.argv:
            raise ValueError(f"process {self.name}: its command line is empty")


class ProcessState(StrEnum):
    """Where a supervised process stands."""

    STARTING = "starting"
    READY = "ready"
    EXITED = "exited"
    """It ended by itself; it is started again after a pause."""
    FAILED = "failed"
    """It never became ready, so it is not started again."""
    STOPPING = "stopping"
    """It was asked to end some time ago, and still does something."""
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ProcessChange:
    """One change of a process's state.

    Args:
        name: the process.
        state: the new state.
        pid: its process id, if it has one.
        detail: why, in a few words; the last lines of the log follow when it cannot stay up.
        log: file with its output.
    """

    name: str
    state: ProcessState
    pid: int | None = None
    detail: str = ""
    log: Path | None = None

    @property
    def line(self) -> str:
        """The change in one line for a person."""
        pid = f" (pid {self.pid})" if self.pid is not None else ""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.name} {self.state.value}{pid}{detail}"


def restart_delay_s(ends_in_a_row: int) -> float:
    """Say how long to wait before a process is started again.

    Args:
        ends_in_a_row: how often it ended without having been up for STEADY_S, this time included.

    Returns:
        0.2 s for the first end, doubling to 30 s.
    """
    doublings = max(0, min(ends_in_a_row - 1, 20))  # the limit is reached long before, and 2**n stays small
    return min(MAX_DELAY_S, FIRST_DELAY_S * 2.0**doublings)


def exit_words(code: int | None, cause: str | None) -> str:
    """Say how a process ended.

    Args:
        code: exit status, or minus the signal number; None when nobody could learn it (an adopted process).
        cause: what its log tells, if anything.
    """
    if code is None:
        how = "ended"
    elif code < 0:
        how = f"killed by {_signal_name(-code)}"
    else:
        how = f"ended with status {code}"
    return f"{how}, {cause}" if cause else how


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"

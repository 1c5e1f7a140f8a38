"""Which host this is, which process, and whether a process is gone: the evidence that presence rests on.

A process id alone proves nothing, since ids are used again. A process is named by its id and start time together.
"""

from __future__ import annotations

import hashlib
import os
import socket
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

_LINUX = sys.platform.startswith("linux")


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process of this host, told from every later process of the same id.

    Args:
        pid: process id.
        start_time: when it started, in the host's own unit (clock ticks since boot on Linux, Unix seconds elsewhere).
            Compare it only for equality, and only between processes of one `host_id`.
    """

    pid: int
    start_time: float


@cache
def host_id() -> str:
    """Name the set of processes that can see each other's ids.

    Two containers of one machine have different names, and so has one machine after a reboot: a process of a former
    boot is gone for certain, yet only by absence, since nothing here can look for it.

    Returns:
        Boot id and process namespace on Linux; host name and boot time elsewhere.
    """
    if _LINUX:
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot_id}-{Path('/proc/self/ns/pid').stat().st_ino}"
    return f"{socket.gethostname()}-{int(psutil.boot_time())}"


def host_file(host: str) -> str:
    """Name a host in a file name: hosts that share a folder must not share its files.

    Args:
        host: from `host_id`.

    Returns:
        Sixteen hexadecimal digits.
    """
    return hashlib.sha256(host.encode()).hexdigest()[:16]


def this_process() -> ProcessIdentity:
    """Identify the calling process. Never cached: a forked child is another process."""
    return identify(os.getpid())


def identify(pid: int) -> ProcessIdentity:
    """Identify a running process.

    Args:
        pid: process id on this host.

    Raises:
        ProcessLookupError: no such process, or it has ended and waits to be reaped.
    """
    start_time = _start_time(pid)
    if start_time is None:
        raise ProcessLookupError(f"identify process {pid}: it is gone, or may not be looked at")
    return ProcessIdentity(pid, start_time)


def process_gone(identity: ProcessIdentity) -> bool:
    """Tell whether a process of this host has ended for certain.

    Args:
        identity: the process, of the same `host_id` as the caller.

    Returns:
        True when no process has this id, when a later one has it, or when only its exit status is left (a zombie).
        False when it runs, is frozen, or may not be looked at: only certainty counts as gone.
    """
    start_time = _start_time(identity.pid)
    if start_time is not None:
        return start_time != identity.start_time
    try:
        status = psutil.Process(identity.pid).status()
    except psutil.AccessDenied:
        return False
    except psutil.NoSuchProcess:
        return not _answers_signals(identity.pid)
    return status in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def _start_time(pid: int) -> float | None:
    """Read the start time; None when it is gone, a zombie or hidden.

    On Linux it is read in ticks since boot, because a time in Unix seconds would move when the clock is set.
    """
    if not _LINUX:
        try:
            process = psutil.Process(pid)
            return None if process.status() == psutil.STATUS_ZOMBIE else float(process.create_time())
        except psutil.Error:
            return None
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command name stands in parentheses and may hold spaces and parentheses itself.
    fields = stat[stat.rindex(")") + 2 :].split()
    state, start_ticks = fields[0], fields[19]
    return None if state in ("Z", "X", "x") else float(start_ticks)


def _answers_signals(pid: int) -> bool:
    """Tell whether the kernel knows the id, also where other users' processes are hidden from /proc."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    # It is ours, so it would be visible: it ended between the two looks, or has just become a zombie.
    return False

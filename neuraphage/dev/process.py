"""Start, watch and end one process. Effects only; what to run and when is decided elsewhere."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

from neuraphage.errors import StackError
from neuraphage.private_files import open_private, private_folder
from neuraphage.proc import own_session

MAX_LOG_BYTES = 10_000_000
"""A log larger than this is set aside as `<name>.1` when its process starts."""
FULL_BYTES = 65_536
"""A disk with less room than this is full."""
_TETHER = Path(__file__).with_name("tether.py")


def spawn(
    argv: Sequence[str], env: Mapping[str, str], log: Path, *, tethered: bool = False, umask: int = -1
) -> psutil.Popen:
    """Start a process in a session of its own, with its output added to a log (see `rotate`).

    Args:
        argv: program and arguments; never a secret, since every user may read them.
        env: its whole environment; see without_current_folder.
        log: file for both outputs, private to this user.
        umask: of the process; -1 for ours.
        tethered: on Linux the process is killed when the calling *thread* ends, so call from one that lives on.

    Raises:
        StackError: the program or the log cannot be opened.
    """
    try:
        private_folder(log.parent)
        output = open_private(log, os.O_WRONLY | os.O_APPEND)
        try:
            return own_session.start_as(
                psutil.Popen,
                by_tether(argv, tethered=tethered),
                env=without_current_folder(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                umask=umask,
            )
        finally:
            os.close(output)
    except OSError as error:
        raise StackError(f"start {argv[0]} with its output in {log}: {error.strerror or error}") from error


def by_tether(argv: Sequence[str], *, tethered: bool = False) -> list[str]:
    """The words that start a program by way of tether.py; for `own_session.start`, in this process.

    Args:
        argv: program and arguments.
        tethered: it ends with the thread that starts it (Linux). One that is not does not begin after that one's end.
    """
    return [sys.executable, "-I", "-S", str(_TETHER), str(os.getpid()), "tied" if tethered else "free", *argv]


def without_current_folder(env: Mapping[str, str]) -> dict[str, str]:
    """An environment in which no Python program imports from the current folder just because it is that.

    An empty entry of PYTHONPATH, as `PYTHONPATH=$PYTHONPATH:/somewhere` leaves it, means the current folder too.

    Args:
        env: of the process to be.
    """
    entries = env.get("PYTHONPATH", "").split(os.pathsep)
    kept = os.pathsep.join(entry for entry in entries if entry and os.path.normpath(entry) != os.curdir)
    others = {name: value for name, value in env.items() if name != "PYTHONPATH"}
    return others | ({"PYTHONPATH": kept} if kept else {}) | {"PYTHONSAFEPATH": "1"}


def rotate(log: Path, max_bytes: int = MAX_LOG_BYTES) -> None:
    """Set a large log aside, in place of the one set aside before; where that cannot be, it only grows on."""
    with contextlib.suppress(OSError):
        if log.stat().st_size > max_bytes:
            log.replace(log.with_name(log.name + ".1"))


def size_bytes(path: Path) -> int:
    """Size of a file; 0 when there is none that can be looked at."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def is_full(folder: Path) -> bool:
    """Tell whether the disk of a folder has no room for even a short log."""
    try:
        return shutil.disk_usage(folder).free < FULL_BYTES
    except OSError:
        return False


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process runs; a zombie does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def runs_its_program(process: psutil.Process) -> bool:
    """Tell whether a process that was spawned has become its program."""
    try:
        argv = process.cmdline()
    except psutil.Error:
        return False
    return bool(argv) and str(_TETHER) not in argv  # in the midst of an exec it is empty


def wait(process: psutil.Process, timeout_s: float | None) -> bool:
    """Wait until a process has ended, and reap it if it is a child.

    Returns:
        False when it still runs after the time.
    """
    try:
        process.wait(timeout_s)
    except psutil.TimeoutExpired:
        return False
    except psutil.NoSuchProcess:
        return True
    return True


def end(process: psutil.Process, timeout_s: float) -> None:
    """Ask a process to end, wait, and kill its whole group when it does not."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
        process.send_signal(signal.SIGCONT)  # a frozen process hears nothing but this
    if not wait(process, timeout_s):
        kill_group(process)
        wait(process, timeout_s)


def kill_group(process: psutil.Process) -> None:
    """Kill a process that leads a session, with all that it left in its group."""
    if is_alive(process):
        own_session.kill_group(process.pid)

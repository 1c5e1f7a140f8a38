"""How a process gets a session of its own without being met on the way there by a key of our terminal.

Ctrl-C goes to every process of the terminal's foreground group. A child belongs to it from its fork until it has made
its own session: on a busy machine that is long enough for a Ctrl-C to kill it, and who started it would take that for
a failure. So the signals of a terminal are held in the child until its program lets them through, and forgotten then.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

Started = TypeVar("Started")

TERMINAL_SIGNALS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP})
"""What a terminal sends: Ctrl-C, Ctrl-backslash, Ctrl-Z, and its own end."""
_LOADER_NAMES = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


@contextmanager
def terminal_signals_held() -> Iterator[None]:
    """Start a child in here, with `start_new_session`: it inherits that these signals are held.

    The calling thread hears of them at the end, and other threads of the process hear them as before.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start(argv: Sequence[str | bytes], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own.

    The program forgets the signals that came and lets them through, as dev/tether.py does; or has no use for them.

    Args:
        argv: program and arguments; no shell.
        options: as those of subprocess.Popen.

    Raises:
        OSError: it could not be started.
        ValueError: an argument holds a null byte.
    """
    return start_as(subprocess.Popen, argv, **options)


def start_as(popen: Callable[..., Started], argv: Sequence[str | bytes], **options: Any) -> Started:
    """The same by another class of the kind of subprocess.Popen.

    Args:
        popen: that class.
        argv: see start.
        options: see start.

    Raises:
        OSError, ValueError: see start.
    """
    with terminal_signals_held():
        return popen(argv, start_new_session=True, **options)


def kill_group(leader: int) -> None:
    """Kill a process that leads a session, with all that it left in its group.

    Args:
        leader: its id; it must not have been reaped, or the id may be another's.
    """
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)


def bare_environment(more: Iterable[str] = ()) -> dict[str, str]:
    """All of our environment that a program of ours gets: what Python may need to load itself.

    Args:
        more: names of further variables.
    """
    return {name: os.environ[name] for name in (*_LOADER_NAMES, *more) if name in os.environ}

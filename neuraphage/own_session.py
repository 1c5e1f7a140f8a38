"""How a process gets a session of its own without being met on the way there by a key of our terminal.

Ctrl-C goes to every process of the terminal's foreground group. A child belongs to it from its fork until it has made
its own session: on a busy machine that is long enough for a Ctrl-C to kill it, and who started it would take that for
a failure. So the signals of a terminal are held in the child until its program lets them through, and forgotten then.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

TERMINAL_SIGNALS = frozenset({signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGHUP})
"""What a terminal sends: Ctrl-C, Ctrl-backslash, Ctrl-Z, and its own end."""


@contextmanager
def terminal_signals_held() -> Iterator[None]:
    """Start a child in here, with `start_new_session`: it inherits that these signals are held.

    The child's program forgets what came and lets them through, as dev/tether.py does; or has no use for them at all.
    The calling thread hears of them at the end, and other threads of the process hear them as before.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, TERMINAL_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

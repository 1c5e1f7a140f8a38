"""How often a person asked a stack to stop: once lets the step in hand end, twice ends it at once."""

from __future__ import annotations

import signal
import time

LOOK_AGAIN_S = 0.05


class StopRequest:
    """Counts requests to stop; any thread and any signal handler may make one.

    It takes no lock: a signal handler runs in the middle of whatever its own thread does, also while that holds one.
    """

    def __init__(self) -> None:
        self._times = 0

    @property
    def asked(self) -> bool:
        """Whether to stop after the step in hand."""
        return self._times > 0

    @property
    def at_once(self) -> bool:
        """Whether to stop without waiting for any step."""
        return self._times > 1

    def ask(self) -> None:
        """Ask to stop; the second time, to stop at once."""
        self._times += 1

    def ask_gently(self) -> None:
        """Ask to stop; whoever asks after this, or has asked before, is not the second one because of it."""
        self._times = max(self._times, 1)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until somebody asks.

        Args:
            timeout_s: longest wait; None for ever.

        Returns:
            Whether somebody has asked.
        """
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        while not self.asked:
            if deadline_s is not None and time.monotonic() >= deadline_s:
                return False
            time.sleep(LOOK_AGAIN_S)
        return True


def listen(stop: StopRequest) -> None:
    """Let signals ask to stop. Call from the main thread.

    Args:
        stop: asked by Ctrl-C and SIGTERM, and gently by a closed terminal, which may say so several times; not by that
            when the process was started to outlive it (`nohup`).
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.ask())
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, lambda *_: stop.ask_gently())

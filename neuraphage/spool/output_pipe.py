"""The pipe from a command to the file of its output. Standard library only, see runner.py."""

from __future__ import annotations

import os
import select
import time

_CHUNK_BYTES = 65_536
_MAX_CHUNKS = 64
"""Most that is taken at one time, so that a flood holds nobody up."""


class OutputPipe:
    """Appends what a command writes to a file, up to a limit; what comes after it is thrown away.

    The command does not get the file itself: a script that opens its own output anew, as `echo >/dev/stderr` does,
    would empty a file. A pipe it opens once more and no harm is done.

    Args:
        output: the open file.
        limit_bytes: most that is written to it.

    Attributes:
        output: the open file.
        writing: the command's end.
        is_over: more came than the limit allows.
        is_refused: the file took no more, since its disk is full or broken.
    """

    def __init__(self, output: int, limit_bytes: int) -> None:
        self.output = output
        self._room_bytes = limit_bytes
        self._reading, self.writing = os.pipe()
        os.set_blocking(self._reading, False)
        self._is_closed = False
        self.is_over = False
        self.is_refused = False

    def let_go(self) -> None:
        """Close the command's end in this process, once the command has it."""
        os.close(self.writing)

    def wait(self, wake: int, timeout_s: float) -> None:
        """Take output until a child has ended, the file takes no more, or the time is over.

        Args:
            wake: from processes.wake_on_child_end.
            timeout_s: longest wait, in seconds.
        """
        until_s = time.monotonic() + timeout_s
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if not self._is_closed:
            poll.register(self._reading, select.POLLIN)
        was_full = self.is_full
        while self.is_full is was_full:
            left_s = max(until_s - time.monotonic(), 0)
            ready = [file for file, _ in poll.poll(max(1, round(left_s * 1000)) if left_s else 0)]
            if self._reading in ready:
                self._take()
                if self._is_closed:
                    poll.unregister(self._reading)  # a pipe without writers is always ready
            if wake in ready:
                os.read(wake, 4096)
                return
            if not left_s:
                return

    def take_rest(self) -> None:
        """Take what is still in the pipe."""
        if not self._is_closed:
            self._take()

    @property
    def is_full(self) -> bool:
        """Whether what comes now is thrown away."""
        return self.is_over or self.is_refused

    def _take(self) -> None:
        for _ in range(_MAX_CHUNKS):
            try:
                piece = os.read(self._reading, _CHUNK_BYTES)
            except BlockingIOError:
                return
            if not piece:
                self._is_closed = True
                return
            self._keep(piece)

    def _keep(self, piece: bytes) -> None:
        kept = b"" if self.is_full else piece[: self._room_bytes]
        self.is_over = self.is_over or len(piece) > self._room_bytes
        self._room_bytes -= len(kept)
        try:
            while kept:
                kept = kept[os.write(self.output, kept) :]
        except OSError:
            self.is_refused = True

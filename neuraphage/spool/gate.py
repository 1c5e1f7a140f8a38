"""The gate of a command: it begins when its runner says so, and not before. Standard library only, see runner.py.

A command line that confines the command takes the gate inside with it: there it tells that all stands that was to be
made around the command, and waits. So what could not be made is known before anything is decided about the command.
"""

from __future__ import annotations

import fcntl
import os
import select

GO = b"g"
"""What opens the gate."""
_OUT_OF_THE_WAY = 10
"""Numbers from here on name no file that a command line is given."""


class Gate:
    """Both sides of it; a fork gives each process one.

    Args:
        inside: numbers of the files by which the command line itself tells that all stands, and waits; empty where
            the process waits that becomes the command.
    """

    def __init__(self, inside: tuple[int, ...]) -> None:
        self.is_inside = bool(inside)
        self._inside = inside
        self._go, self._opening = os.pipe()
        self._standing, self._tells = os.pipe()
        self._is_open = True

    # --- in the process that becomes the command ---------------------------------------------------------------

    def is_opened(self) -> bool:
        """Wait until the runner opens it; False when it does not, or has died."""
        return os.read(self._go, 1) == GO

    def hand_over(self) -> None:
        """Give the command line its files, where it waits itself. What else had their numbers is closed by it."""
        if self.is_inside:
            # one of the two may have the other one's number
            above = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _OUT_OF_THE_WAY) for file in (self._tells, self._go)]
            for file, number in zip(above, self._inside, strict=True):
                os.dup2(file, number)

    # --- in the runner ---------------------------------------------------------------------------------------

    def keep_own_side(self) -> None:
        """Close the command's side in this process, once the command has it."""
        os.close(self._go)
        os.close(self._tells)

    def wait(self, wake: int, timeout_s: float) -> bool:
        """Wait until it is told that all stands, a child has ended, or the time is over.

        Args:
            wake: from processes.wake_on_child_end.
            timeout_s: longest wait, in seconds.

        Returns:
            Whether it was told; where nothing is to be told, it was.
        """
        if not self.is_inside:
            return True
        poll = select.poll()
        poll.register(wake, select.POLLIN)
        if self._is_open:
            poll.register(self._standing, select.POLLIN)
        ready = [file for file, _ in poll.poll(round(timeout_s * 1000))]
        if self._standing in ready:
            if os.read(self._standing, 1):
                return True
            self._is_open = False  # nobody is left who could tell it
        if wake in ready:
            os.read(wake, 4096)
        return False

    def open(self) -> None:
        """Let the command begin."""
        os.write(self._opening, GO)

    def shut(self) -> None:
        """It never opens any more; whoever waits at it ends."""
        os.close(self._opening)

"""The control group of one command, made and removed by its runner. Standard library only, see runner.py."""

from __future__ import annotations

import os
import time

_REMOVE_LIMIT_S = 1.0
_PAUSE_S = 0.01


class CommandGroup:
    """A group that a command is to run in.

    Args:
        path: its folder; empty for none, and then nothing is done.
        memory_bytes: all of its processes may use.
        processes: it may have at once.
    """

    def __init__(self, path: bytes, memory_bytes: int, processes: int) -> None:
        self._path = path
        self._memory_bytes = memory_bytes
        self._processes = processes

    def make(self) -> None:
        """Make it and set its limits.

        Raises:
            OSError: it cannot be made.
        """
        if not self._path:
            return
        try:  # noqa: SIM105 - importing contextlib would lengthen every start of a runner
            os.mkdir(self._path)  # noqa: PTH102 - nor pathlib
        except FileExistsError:
            pass  # of a runner that was killed before it had started the command
        self._write(b"pids.max", self._processes)
        self._write(b"memory.max", self._memory_bytes)
        self._write(b"memory.oom.group", 1)
        try:  # noqa: SIM105 - as above
            self._write(b"memory.swap.max", 0)
        except FileNotFoundError:
            pass  # the kernel has no swap

    def join(self) -> None:
        """Move this process into it.

        Raises:
            OSError: it cannot.
        """
        if self._path:
            self._write(b"cgroup.procs", 0)

    def limit_reached(self) -> tuple[str, str]:
        """The limit that has ended it, or hindered it: a reason and a detail, each empty for none."""
        if not self._path:
            return "", ""
        if self._count(b"memory.events", b"oom_kill"):
            return "memory_limit", ""
        hindered = self._count(b"pids.events", b"max")
        return "", "it reached its limit of processes (command_processes)" if hindered else ""

    def remove(self) -> None:
        """Remove it once its processes have left it; what stays is swept by a worker."""
        if not self._path:
            return
        deadline_s = time.monotonic() + _REMOVE_LIMIT_S
        while True:
            try:
                os.rmdir(self._path)  # noqa: PTH106 - no pathlib here
            except FileNotFoundError:
                return
            except OSError:
                if time.monotonic() > deadline_s:
                    return
                time.sleep(_PAUSE_S)
            else:
                return

    def _write(self, name: bytes, value: int) -> None:
        file = os.open(self._path + b"/" + name, os.O_WRONLY)
        try:
            os.write(file, str(value).encode())
        finally:
            os.close(file)

    def _count(self, name: bytes, key: bytes) -> int:
        try:
            file = os.open(self._path + b"/" + name, os.O_RDONLY)
        except OSError:
            return 0
        try:
            words = os.read(file, 4096).split()
        finally:
            os.close(file)
        return int(words[words.index(key) + 1]) if key in words else 0

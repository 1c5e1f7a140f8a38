"""The shared memory in which a worker writes what it holds, for the process beside it.

Each write is one assignment, which no other thread of this interpreter can come between: a thread that holds the
interpreter for a minute leaves it as it was before or after, never half written.
"""

from __future__ import annotations

import logging
import mmap
import os
import sys
import tempfile
from binascii import crc32
from collections.abc import Iterable

from neuraphage.ports import HeldRow
from neuraphage.standby.shared_layout import BODY, BODY_AT, HEADER, SHARED_BYTES

log = logging.getLogger(__name__)


class SharedLeases:
    """The writer's end. Made after a fork, never before."""

    def __init__(self) -> None:
        self.descriptor = _memory()
        os.ftruncate(self.descriptor, SHARED_BYTES)
        self._map = mmap.mmap(self.descriptor, SHARED_BYTES)
        self._pulse_s = self._renewed_s = 0.0

    def pulse(self, monotonic_s: float) -> None:
        """Note that the interpreter runs at this time (monotonic, seconds)."""
        self._pulse_s = monotonic_s
        self._write_header()

    def renewed(self, boottime_s: float) -> None:
        """Note that the worker has renewed all that it should at this time (boot time, seconds)."""
        self._renewed_s = boottime_s
        self._write_header()

    def write(self, rows: Iterable[HeldRow]) -> None:
        """Write what is held now. More than fits is left out: those leases have the worker's own heartbeat alone."""
        lines, left = [], SHARED_BYTES - BODY_AT - BODY.size
        for row in rows:
            since = "" if row.effect_since_s is None else repr(row.effect_since_s)
            line = f"{row.task_id}\t{row.fence}\t{row.claim_id}\t{since}\n".encode()
            left -= len(line)
            if left < 0:
                log.warning("more leases than the process beside this one can be told of")
                break
            lines.append(line)
        body = b"".join(lines)
        packed = BODY.pack(len(body), crc32(body)) + body
        self._map[BODY_AT : BODY_AT + len(packed)] = packed

    def close(self) -> None:
        """Free the memory and its descriptor."""
        self._map.close()
        os.close(self.descriptor)

    def _write_header(self) -> None:
        self._map[: HEADER.size] = HEADER.pack(self._pulse_s, self._renewed_s)


def _memory() -> int:
    """A descriptor of memory that has no name."""
    if sys.platform == "linux":
        return os.memfd_create("neuraphage-leases")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

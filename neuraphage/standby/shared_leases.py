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
from itertools import accumulate

from neuraphage.ports import HeldRow
from neuraphage.standby.shared_layout import BODY, BODY_AT, HEADER, SHARED_BYTES

log = logging.getLogger(__name__)

_ROOM_BYTES = SHARED_BYTES - BODY_AT - BODY.size


class SharedLeases:
    """The writer's end. Made after a fork, never before. Its user sees to it that one thread at a time changes rows."""

    def __init__(self) -> None:
        self.descriptor = _memory()
        os.ftruncate(self.descriptor, SHARED_BYTES)
        self._map = mmap.mmap(self.descriptor, SHARED_BYTES)
        self._pulse_s = self._renewed_s = 0.0
        self._lines: dict[str, bytes] = {}

    def pulse(self, monotonic_s: float) -> None:
        """Note that the interpreter runs at this time (monotonic, seconds)."""
        self._pulse_s = monotonic_s
        self._write_header()

    def renewed(self, boottime_s: float) -> None:
        """Note that the worker has renewed all that it should at this time (boot time, seconds)."""
        self._renewed_s = boottime_s
        self._write_header()

    def hold(self, row: HeldRow) -> None:
        """Write a row, in place of the one with its claim. More than fits is left out: those leases have the worker's
        own heartbeat alone."""
        since = "" if row.effect_since_s is None else repr(row.effect_since_s)
        self._lines[row.claim_id] = f"{row.task_id}\t{row.fence}\t{row.claim_id}\t{since}\n".encode()
        self._write_body()

    def let_go(self, claim_id: str) -> None:
        """Write that there is no row with this claim."""
        if self._lines.pop(claim_id, None) is not None:
            self._write_body()

    def close(self) -> None:
        """Free the memory and its descriptor."""
        self._map.close()
        os.close(self.descriptor)

    def _write_body(self) -> None:
        body = b"".join(self._lines.values())
        if len(body) > _ROOM_BYTES:
            log.warning("more leases than the process beside this one can be told of")
            body = body[: max(end for end in accumulate(map(len, self._lines.values())) if end <= _ROOM_BYTES)]
        packed = BODY.pack(len(body), crc32(body)) + body
        self._map[BODY_AT : BODY_AT + len(packed)] = packed

    def _write_header(self) -> None:
        self._map[: HEADER.size] = HEADER.pack(self._pulse_s, self._renewed_s)


def _memory() -> int:
    """A descriptor of memory that has no name."""
    if sys.platform == "linux":
        return os.memfd_create("neuraphage-leases")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())

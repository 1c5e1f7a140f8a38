"""How the shared memory is laid out: a header, and rows of text with their checksum. Standard library only."""

from __future__ import annotations

import struct
from binascii import crc32

TYPE_CHECKING = False  # type checkers know this name; importing typing would cost memory in every process
if TYPE_CHECKING:
    import mmap

SHARED_BYTES = 1 << 18
HEADER = struct.Struct("<dd")
"""When the interpreter last ran (monotonic, seconds), and when the worker last renewed (boot time, seconds)."""
BODY = struct.Struct("<II")
"""Length and checksum of the rows after it: task, fence (0: being claimed), claim, begin of the effect; with tabs."""
BODY_AT = 64


def rows_of(shared: mmap.mmap) -> list[list[str]]:
    """What the worker holds; nothing while it is being written: the next look comes soon."""
    length, checksum = BODY.unpack_from(shared, BODY_AT)
    start = BODY_AT + BODY.size
    body = shared[start : start + length]
    if crc32(body) != checksum:
        return []
    return [line.split("\t") for line in body.decode().splitlines()]

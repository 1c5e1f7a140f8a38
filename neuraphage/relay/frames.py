"""What a relay and those who ask it say to each other: frames, each a kind, a length and that many bytes.

A request is one JSON frame, of an order followed by one frame with the body to send. The answer is JSON frames and data
frames: first whether the relay has the call, then the head, then the body in pieces, then how it ended. A connection
that ends before that tells nothing of the call. The file of a call holds the very same frames (see entry.py).
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import orjson

JSON, DATA = 74, 68
"""Kinds of frames: J and D."""
MAX_JSON_BYTES = 256 * 1024
MAX_BODY_BYTES = 256 * 1024 * 1024
"""Of a request to the provider."""
PIECE_BYTES = 64 * 1024
"""Longest data frame of an answer."""
HEADER = struct.Struct("!BI")


class BadFrame(Exception):
    """What came is no frame that was due."""


def json_frame(value: Any) -> bytes:
    """A JSON value as a frame."""
    text = orjson.dumps(value)
    return HEADER.pack(JSON, len(text)) + text


def data_header(size_bytes: int) -> bytes:
    """What stands before so many bytes of data."""
    return HEADER.pack(DATA, size_bytes)


def data_frames(data: bytes) -> bytes:
    """A piece of an answer as frames."""
    if len(data) <= PIECE_BYTES:
        return data_header(len(data)) + data
    pieces = (data[at : at + PIECE_BYTES] for at in range(0, len(data), PIECE_BYTES))
    return b"".join(data_header(len(piece)) + piece for piece in pieces)


def parsed(text: bytes) -> dict[str, Any]:
    """What a JSON frame says.

    Raises:
        BadFrame: it is no JSON object.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise BadFrame(f"no JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadFrame("no JSON object")
    return value


def checked(header: bytes, kinds: tuple[int, ...], most_bytes: int) -> tuple[int, int]:
    """Kind and length of a frame.

    Raises:
        BadFrame: it is of another kind, or too long.
    """
    kind, size_bytes = HEADER.unpack(header)
    if kind not in kinds or size_bytes > most_bytes:
        raise BadFrame(f"a frame of kind {kind} with {size_bytes} bytes")
    return kind, size_bytes


class FrameBuffer:
    """Frames of an answer, out of bytes that come in any pieces."""

    def __init__(self) -> None:
        self.taken_bytes = 0
        """Of the frames that were given out."""
        self._come = b""
        self._at = 0

    def add(self, data: bytes) -> None:
        """Take in what came."""
        self._come, self._at = self._come[self._at :] + data, 0

    def next(self) -> tuple[int, bytes] | None:
        """The next frame, kind and content; None while it is not whole.

        Raises:
            BadFrame: what came is none.
        """
        begin = self._at + HEADER.size
        if len(self._come) < begin:
            return None
        kind, size_bytes = checked(self._come[self._at : begin], (JSON, DATA), MAX_JSON_BYTES)
        end = begin + size_bytes
        if len(self._come) < end:
            return None
        self.taken_bytes += end - self._at
        self._at = end
        return kind, self._come[begin:end]


async def read_frame(reader: asyncio.StreamReader, kind: int, most_bytes: int) -> bytes:
    """Read one frame of a kind.

    Raises:
        BadFrame: it is another one, or too long.
        asyncio.IncompleteReadError: the connection ended.
    """
    _, size_bytes = checked(await reader.readexactly(HEADER.size), (kind,), most_bytes)
    return await reader.readexactly(size_bytes)

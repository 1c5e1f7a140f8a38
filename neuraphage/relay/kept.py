"""What the file of a call says: the frames of an answer, read back."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.relay import frames
from neuraphage.relay.frames import BadFrame, FrameBuffer


@dataclass(frozen=True, slots=True)
class End:
    """How a call ended.

    Args:
        fault: name of the HTTP client's exception that broke it off; empty for an answer that came to its end.
        text: of the exception.
        size_bytes: of all that is before it.
        crc: CRC-32 of that.
    """

    fault: str = ""
    text: str = ""
    size_bytes: int = 0
    crc: int = 0

    def as_json(self) -> dict[str, Any]:
        """As it is stored and sent."""
        return {"fault": self.fault, "text": self.text, "size_bytes": self.size_bytes, "crc": self.crc}


@dataclass(frozen=True, slots=True)
class Head:
    """What an answer begins with.

    Args:
        status: of HTTP.
        headers: in order.
    """

    status: int
    headers: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """As it is stored and sent."""
        return {"status": self.status, "headers": self.headers}


@dataclass(frozen=True, slots=True)
class Kept:
    """What a file holds of an answer.

    Args:
        relay: name of the socket of the relay that took the call; empty when nobody can tell.
        head: what the answer began with; None for nothing.
        body: what is there of it.
        end: how it ended; None while it goes on, and when what is there is not what the end tells of.
        is_torn: whether there is an end of something else than what is there.
    """

    relay: str = ""
    head: Head | None = None
    body: bytes = b""
    end: End | None = None
    is_torn: bool = False


def end_from(value: Mapping[str, Any]) -> End:
    """Read what `End.as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    return End(str(value["fault"]), str(value["text"]), int(value["size_bytes"]), int(value["crc"]))


def head_from(value: Mapping[str, Any]) -> Head:
    """Read what `Head.as_json` wrote.

    Raises:
        KeyError, TypeError, ValueError: it is something else.
    """
    return Head(int(value["status"]), tuple((str(name), str(text)) for name, text in value["headers"]))


def kept_of(data: bytes) -> Kept:
    """Read the frames of a file, as far as they are whole."""
    buffer = FrameBuffer()
    buffer.add(data)
    relay, head, pieces = "", None, []
    try:
        while (frame := buffer.next()) is not None:
            kind, content = frame
            if kind == frames.DATA:
                pieces.append(content)
                continue
            value = frames.parsed(content)
            if "end" in value:
                end = end_from(value["end"])
                size_bytes = buffer.taken_bytes - frames.HEADER.size - len(content)
                is_whole = (size_bytes, zlib.crc32(data[:size_bytes])) == (end.size_bytes, end.crc)
                return Kept(relay, head, b"".join(pieces), end if is_whole else None, not is_whole)
            if "head" in value:
                head = head_from(value["head"])
            elif isinstance(name := value.get("relay"), str) and "/" not in name:
                relay = name
    except (BadFrame, KeyError, TypeError, ValueError):
        return Kept(relay, head, b"".join(pieces), None, is_torn=True)
    return Kept(relay, head, b"".join(pieces))

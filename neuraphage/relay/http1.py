"""The answer to one HTTP/1.1 request, as it comes: its head, and its body without the frame of its transfer.

A reply of a model is a chunk an event, and a relay reads those of hundreds of calls. So chunks are walked here in a few
operations each, and what came together is handed on together. Whoever reads the answer decodes and judges it.

The reader of the HTTP client (proxied.py) is not enough: with 200 streams each came to 5 events a second of 50, and
a turn took 1.20 of one without a relay; with this one 48, and 1.08 (`python -m tests.benchmarks relay`).
"""

from __future__ import annotations

import re
from enum import Enum, auto

from neuraphage.relay.kept import Head

MAX_HEAD_BYTES = 128 * 1024
MAX_LINE_BYTES = 16 * 1024
"""Of the size of a chunk with its extensions, or of a line behind the last one."""
DROPPED = frozenset({"set-cookie", "proxy-authenticate", "www-authenticate"})
"""Headers of answers that are of no use to a worker, and may be secret."""
_STATUS = re.compile(rb"HTTP/1\.[01] ([1-9][0-9]{2})(?: .*)?")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_BLANK, _LINE = b"\r\n\r\n", b"\r\n"


class BadAnswer(Exception):
    """What came is no answer, or not all of one."""


class _Body(Enum):
    NONE = auto()
    CHUNKS = auto()
    LENGTH = auto()
    TO_THE_END = auto()


class AnswerParser:
    """One answer, read piece by piece.

    Args:
        method: of the request.
    """

    def __init__(self, method: str) -> None:
        self.head: Head | None = None
        self.is_over = False
        """Whether all of it has come; what comes behind it is none of it."""
        self._method = method
        self._come = b""
        """What is not whole yet: of the head, of a chunk's first line."""
        self._body = _Body.NONE
        self._left_bytes = 0
        """Of the body, or of the chunk that is under way with the line's end behind it."""
        self._is_last = False
        """Whether the chunk of no bytes has come: lines follow it, and a blank one."""

    def feed(self, data: bytes) -> bytes:
        """Take in what came; return what of it is body.

        Raises:
            BadAnswer: this is no answer.
        """
        if self.head is None:
            data = self._headed(data)
        if self.head is None or not data:
            return b""
        match self._body:
            case _Body.CHUNKS:
                return self._chunks(data)
            case _Body.LENGTH:
                piece = data[: self._left_bytes]
                self._left_bytes -= len(piece)
                self.is_over = not self._left_bytes
                return piece
            case _Body.TO_THE_END:
                return data
            case _Body.NONE:
                return b""

    def end(self) -> None:
        """The connection has ended.

        Raises:
            BadAnswer: before the answer was whole.
        """
        if self.head is None:
            raise BadAnswer("Server disconnected without sending a response.")
        if self._body is not _Body.TO_THE_END and not self.is_over:
            raise BadAnswer("peer closed connection without sending complete message body (incomplete read)")
        self.is_over = True

    def _headed(self, data: bytes) -> bytes:
        """Read the head, once it is whole; what comes behind it. One that only announces another is left out."""
        data = self._come + data
        while self.head is None:
            text, blank, behind = data.partition(_BLANK)
            if not blank:
                if len(data) > MAX_HEAD_BYTES:
                    raise BadAnswer(f"the head of the answer is longer than {MAX_HEAD_BYTES} bytes")
                self._come = data
                return b""
            data, self._come = behind, b""
            self._take_head(text)
        return data

    def _take_head(self, text: bytes) -> None:
        first, *lines = text.split(_LINE)
        found = _STATUS.fullmatch(first)
        if found is None:
            raise BadAnswer("illegal status line: the server speaks no HTTP/1.1")
        status = int(found[1])
        if status < 200 and status != 101:
            return
        headers = _headers(lines)
        self._frame(status, headers)
        self.head = Head(status, tuple(header for header in headers if header[0] not in DROPPED))

    def _frame(self, status: int, headers: list[tuple[str, str]]) -> None:
        codings = ",".join(value for name, value in headers if name.lower() == "transfer-encoding").lower()
        lengths = {
            part.strip() for name, value in headers if name.lower() == "content-length" for part in value.split(",")
        }
        if self._method == "HEAD" or status in (101, 204, 304):
            self.is_over = True
        elif codings:
            if codings.rpartition(",")[2].strip() != "chunked":
                raise BadAnswer(f"the answer is transferred as {codings[:100]}, which the client did not ask for")
            self._body = _Body.CHUNKS
        elif lengths:
            (length, *others) = lengths
            if others or not length.isascii() or not length.isdigit():
                raise BadAnswer("the answer says of its length what is none")
            self._body, self._left_bytes = _Body.LENGTH, int(length)
            self.is_over = not self._left_bytes
        else:
            self._body = _Body.TO_THE_END

    def _chunks(self, data: bytes) -> bytes:
        if self._come:
            data, self._come = self._come + data, b""
        at, size, pieces = 0, len(data), []
        left = self._left_bytes
        while at < size:
            if left:
                until = min(at + left, size)
                stop = min(at + left - 2, size)  # behind a chunk is the end of its line
                if stop > at:
                    pieces.append(data[at:stop])
                left -= until - at
                at = until
                continue
            line_end = data.find(_LINE, at)
            if line_end < 0:
                self._come = data[at:]
                if len(self._come) > MAX_LINE_BYTES:
                    raise BadAnswer("illegal chunk header: it has no end")
                break
            line, at = data[at:line_end], line_end + 2
            if self._is_last:
                if not line:
                    self.is_over = True
                    break
                continue
            if _SIZE.fullmatch(line) is None and _SIZE.fullmatch(line.partition(b";")[0].rstrip()) is None:
                raise BadAnswer(f"illegal chunk header: {line[:20]!r}")
            left = int(line.partition(b";")[0], 16)
            if left:
                left += 2
            else:
                self._is_last = True
        self._left_bytes = left
        return b"".join(pieces)


def _headers(lines: list[bytes]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and found:  # a line that goes on
            name, value = found.pop()
            found.append((name, f"{value} {line.strip().decode('latin-1')}"))
            continue
        name_bytes, colon, value_bytes = line.partition(b":")
        name = name_bytes.decode("latin-1")
        if not colon or not name or not name.isascii() or " " in name or "\t" in name:
            raise BadAnswer("illegal header line: the server speaks no HTTP/1.1")
        found.append((name.lower(), value_bytes.strip().decode("latin-1")))
    return found

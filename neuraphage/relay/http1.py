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
"""Also of the lines behind the last chunk."""
MAX_LINE_BYTES = 16 * 1024
"""Of the size of a chunk with its extensions."""
DROPPED = frozenset({"set-cookie", "proxy-authenticate", "www-authenticate"})
"""Headers of answers that are of no use to a worker, and may be secret."""
_STATUS = re.compile(rb"HTTP/[0-9]\.[0-9] ([1-9][0-9]{2})(?: .*)?")
_NAME = re.compile(rb"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
_NO_VALUE = re.compile(rb"[\x00\n\v\f\r]")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")
_LENGTH = re.compile(r"[0-9]{1,18}")
_LINE = b"\r\n"
_BLANK = re.compile(rb"\n\r?\n")
"""Lines of a head may lack the CR, as those of some servers do; the frame of a chunk may not."""
_SPACE = 0x20


class BadAnswer(Exception):
    """What came is no answer, or not all of one."""


class _Body(Enum):
    NONE = auto()
    CHUNKS = auto()
    TRAILERS = auto()
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
        self._fault: BadAnswer | None = None
        self._come = b""
        """What is not whole yet: of the head, of a chunk's frame, of the lines behind the last one."""
        self._body = _Body.NONE
        self._left_bytes = 0
        """Of the body, or of the chunk that is under way."""
        self._is_framed = True
        """Whether the end of the line behind the last chunk has come."""

    def feed(self, data: bytes) -> bytes:
        """Take in what came; return what of it is body. What cannot be is told by `check`: some came before it."""
        try:
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
                case _Body.TRAILERS:
                    self._trailers(data)
                    return b""
                case _Body.NONE:
                    return b""
        except BadAnswer as error:
            self._fault = error
            return b""

    def check(self) -> None:
        """What came so far may be an answer.

        Raises:
            BadAnswer: it is none.
        """
        if self._fault is not None:
            raise self._fault

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
            if data and data[0] <= _SPACE:
                raise BadAnswer("illegal status line: the server speaks no HTTP/1.1")
            blank = _BLANK.search(data)
            if blank is None:
                if len(data) > MAX_HEAD_BYTES:
                    raise BadAnswer(f"the head of the answer is longer than {MAX_HEAD_BYTES} bytes")
                self._come = data
                return b""
            text, data, self._come = data[: blank.start()], data[blank.end() :], b""
            self._take_head(text)
        return data

    def _take_head(self, text: bytes) -> None:
        first, *lines = _lines(text)
        found = _STATUS.fullmatch(first)
        if found is None:
            raise BadAnswer("illegal status line: the server speaks no HTTP/1.1")
        status = int(found[1])
        headers = _headers(lines)
        if status == 101:
            raise BadAnswer("the server changes to another protocol, which nobody has asked for")
        if status < 200:
            return
        self._frame(status, headers)
        self.head = Head(status, tuple(header for header in headers if header[0] not in DROPPED))

    def _frame(self, status: int, headers: list[tuple[str, str]]) -> None:
        codings = [value.lower() for name, value in headers if name == "transfer-encoding"]
        lengths = {part.strip() for name, value in headers if name == "content-length" for part in value.split(",")}
        if codings and codings != ["chunked"]:
            named = ", ".join(codings)[:100]
            raise BadAnswer(f"the answer is transferred as {named!r}, which the client did not ask for")
        if lengths and (len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths))):
            raise BadAnswer("the answer says of its length what is none")
        if self._method == "HEAD" or status in (204, 304):
            self.is_over = True
        elif codings:
            self._body = _Body.CHUNKS
        elif lengths:
            self._body, self._left_bytes = _Body.LENGTH, int(lengths.pop())
            self.is_over = not self._left_bytes
        else:
            self._body = _Body.TO_THE_END

    def _chunks(self, data: bytes) -> bytes:
        """What is body of the chunks; it is told apart from what is wrong with what follows."""
        if self._come:
            data, self._come = self._come + data, b""
        pieces: list[bytes] = []
        try:
            self._walk(data, pieces)
        except BadAnswer as error:
            self._fault = error
        return b"".join(pieces)

    def _walk(self, data: bytes, pieces: list[bytes]) -> None:
        at, size, left = 0, len(data), self._left_bytes
        while at < size:
            if left:
                stop = min(at + left, size)
                pieces.append(data[at:stop])
                left -= stop - at
                at, self._is_framed = stop, False
                continue
            if not self._is_framed:
                frame = data[at : at + 2]
                if frame == _LINE:
                    at, self._is_framed = at + 2, True
                    continue
                if frame != b"\r":
                    raise BadAnswer(f"malformed end of a chunk: {frame!r}")
                self._come = frame
                break
            line_end = data.find(_LINE, at)
            if line_end < 0:
                self._come = data[at:]
                if len(self._come) > MAX_LINE_BYTES:
                    raise BadAnswer("illegal chunk header: it has no end")
                break
            line, at = data[at:line_end], line_end + 2
            if _SIZE.fullmatch(line) is None and _SIZE.fullmatch(line.partition(b";")[0].rstrip()) is None:
                raise BadAnswer(f"illegal chunk header: {line[:20]!r}")
            left = int(line.partition(b";")[0], 16)
            if not left:
                self._body = _Body.TRAILERS
                self._trailers(data[at:])
                break
        self._left_bytes = left

    def _trailers(self, data: bytes) -> None:
        data = self._come + data
        is_bare = data.startswith((b"\n", _LINE))
        blank = _BLANK.search(data)
        if is_bare or blank is not None:
            if not is_bare and blank is not None:
                _headers(_lines(data[: blank.start()]))
            self.is_over = True
        elif len(data) > MAX_HEAD_BYTES:
            raise BadAnswer(f"what follows the last chunk is longer than {MAX_HEAD_BYTES} bytes")
        else:
            self._come = data


def _lines(text: bytes) -> list[bytes]:
    return [line.removesuffix(b"\r") for line in text.split(b"\n")]


def _headers(lines: list[bytes]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for line in lines:
        if line[:1] in (b" ", b"\t") and found:  # a line that goes on
            name, value = found.pop()
            found.append((name, f"{value} {line.strip().decode('latin-1')}"))
            continue
        name_bytes, colon, value_bytes = line.partition(b":")
        if not colon or _NAME.fullmatch(name_bytes) is None or _NO_VALUE.search(value_bytes):
            raise BadAnswer(f"illegal header line: {line[:20]!r}")
        found.append((name_bytes.decode("ascii").lower(), value_bytes.strip(b" \t").decode("latin-1")))
    return found

"""Keeps what an answer becomes in memory small, whatever it says of itself: a megabyte of gzip may hold a gigabyte.

The SDK reads the body of a refusal whole, and the HTTP client decodes as it reads. So the body is decoded here, piece
by piece, and counted before and after: what is over the limit is not read.
"""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

from neuraphage.errors import FaultKind, ModelFault

MAX_ERROR_BYTES = 1024 * 1024
MAX_REPLY_BYTES = 64 * 1024 * 1024
MAX_EVENT_BYTES = 16 * 1024 * 1024
MAX_EVENT_LINES = 1_000
"""An event of the API has three. The SDK copies what it has of an event for each of its lines."""


def bound_answer(response: httpx2.Response) -> None:
    """Response hook of the HTTP client: let no more of the answer be read than is of use.

    A reply over MAX_REPLY_BYTES, sent or decoded, ends in a ModelFault. Of any other answer MAX_ERROR_BYTES are read.
    Its text is UTF-8, whatever it says: Python takes `charset=bz2`, too, for the name of an encoding.
    """
    if not isinstance(response.stream, httpx2.SyncByteStream):
        return
    limit_bytes = MAX_REPLY_BYTES if response.is_success else MAX_ERROR_BYTES
    sent = _Sent(response.stream, limit_bytes)
    coded = httpx2.Response(response.status_code, headers=response.headers.copy(), stream=sent)
    response.stream = _Decoded(coded, limit_bytes, is_reply=response.is_success)
    response.headers.pop("content-encoding", None)
    if not response.is_success and "content-type" in response.headers:
        response.headers["content-type"] = response.headers["content-type"].partition(";")[0]


class _Sent(httpx2.SyncByteStream):
    """The bytes as they were sent; one more than the limit shows that it was passed."""

    def __init__(self, stream: httpx2.SyncByteStream, limit_bytes: int) -> None:
        self._stream = stream
        self._limit_bytes = limit_bytes
        self.is_over = False

    def __iter__(self) -> Iterator[bytes]:
        left_bytes = self._limit_bytes
        for chunk in self._stream:
            self.is_over = len(chunk) > left_bytes
            yield chunk[:left_bytes]
            left_bytes -= len(chunk)
            if self.is_over:
                return

    def close(self) -> None:
        self._stream.close()


class _Decoded(httpx2.SyncByteStream):
    """The bytes as they are meant, to the limit; the connection is closed with what was not read."""

    def __init__(self, coded: httpx2.Response, limit_bytes: int, *, is_reply: bool) -> None:
        self._coded = coded
        self._limit_bytes = limit_bytes
        self._is_reply = is_reply

    def __iter__(self) -> Iterator[bytes]:
        left_bytes = self._limit_bytes
        try:
            for chunk in self._coded.iter_bytes():
                if len(chunk) > left_bytes:
                    yield chunk[:left_bytes]
                    left_bytes = -1
                    break
                yield chunk
                left_bytes -= len(chunk)
        except httpx2.DecodingError:
            # A coding that was cut at the limit is no fault of its own.
            if not self._was_cut() or self._is_reply:
                raise
        if self._is_reply and (left_bytes < 0 or self._was_cut()):
            raise ModelFault(FaultKind.GARBAGE, f"the reply is longer than {self._limit_bytes} bytes")

    def _was_cut(self) -> bool:
        return isinstance(self._coded.stream, _Sent) and self._coded.stream.is_over

    def close(self) -> None:
        self._coded.close()


def whole_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Cut a stream of events behind its lines, so that the SDK copies no line twice.

    Raises:
        ModelFault: an event is longer than MAX_EVENT_BYTES or has more than MAX_EVENT_LINES lines.
    """
    begun: list[bytes] = []
    event_bytes = event_lines = 0
    for chunk in chunks:
        cut = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
        if not cut:
            begun.append(chunk)
            event_bytes += len(chunk)
            _check(event_bytes, event_lines)
            continue
        piece, begun = b"".join((*begun, chunk[:cut])), [chunk[cut:]] if chunk[cut:] else []
        event_bytes = event_bytes + cut
        for line in piece.splitlines():
            event_lines = event_lines + 1 if line else 0
            event_bytes = event_bytes if line else 0
            _check(event_bytes, event_lines)
        yield piece
    if begun:
        yield b"".join(begun)


def _check(event_bytes: int, event_lines: int) -> None:
    if event_bytes > MAX_EVENT_BYTES or event_lines > MAX_EVENT_LINES:
        raise ModelFault(
            FaultKind.GARBAGE,
            f"an event of the stream is longer than {MAX_EVENT_BYTES} bytes or {MAX_EVENT_LINES} lines",
        )

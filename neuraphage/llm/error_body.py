"""Keeps the body of a refusal small: the SDK reads it whole, whatever its length."""

from __future__ import annotations

from collections.abc import Iterator

import httpx2

MAX_ERROR_BYTES = 1024 * 1024


class _Head(httpx2.SyncByteStream):
    """The first bytes of a stream; what follows is never read, and the connection is closed with it."""

    def __init__(self, stream: httpx2.SyncByteStream) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        left_bytes = MAX_ERROR_BYTES
        for chunk in self._stream:
            yield chunk[:left_bytes]
            left_bytes -= len(chunk)
            if left_bytes <= 0:
                return

    def close(self) -> None:
        self._stream.close()


def cap_error_body(response: httpx2.Response) -> None:
    """Response hook of the HTTP client: of an answer that is an error, let MAX_ERROR_BYTES be read."""
    if response.is_error and isinstance(response.stream, httpx2.SyncByteStream):
        response.stream = _Head(response.stream)

"""Bytes from one connection to another, until both ends or silence."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine
from typing import Any

from neuraphage.sandbox.request_head import RefusedRequest

_PIECE_BYTES = 65_536
_CHUNK_LINE = re.compile(rb"([0-9a-fA-F]{1,15})[ \t]*(?:;[\t -~\x80-\xff]*)?\r\n")
_TRAILER_LINES = 200


class Relay:
    """Two directions that count as one: it is silent when neither has had anything for a while.

    Args:
        idle_s: longest silence, in seconds.
    """

    def __init__(self, idle_s: float) -> None:
        self._idle_s = idle_s
        self._moved_s = asyncio.get_running_loop().time()

    async def pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Everything, and the end of it.

        Raises:
            TimeoutError: both directions were silent, or the sink takes nothing.
            OSError: a connection broke.
        """
        while piece := await self._read(source, _PIECE_BYTES):
            await self._write(sink, piece)
        if sink.can_write_eof():
            sink.write_eof()

    async def body(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, length_bytes: int | None) -> None:
        """The body of one request, and nothing after it.

        Args:
            source: behind the head.
            sink: that the head was written to.
            length_bytes: None for chunks.

        Raises:
            RefusedRequest: the body ends early, its chunks are none, or more comes behind its end.
            TimeoutError, OSError: see pump.
        """
        if length_bytes is None:
            await self._chunks(source, sink)
        else:
            await self._exactly(source, sink, length_bytes)
        if await self._read(source, 1):
            raise RefusedRequest(400, "neuraphage: the proxy takes one request a connection")

    async def _chunks(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        """Written anew, so that nothing of their form reaches the server which it could read in another way."""
        while True:
            found = _CHUNK_LINE.fullmatch(await self._line(source))
            if found is None:
                raise RefusedRequest(400, "neuraphage: a chunk of the body says no length")
            size_bytes = int(found[1], 16)
            if not size_bytes:
                break
            await self._write(sink, b"%x\r\n" % size_bytes)
            await self._exactly(source, sink, size_bytes)
            if await self._line(source) != b"\r\n":
                raise RefusedRequest(400, "neuraphage: a chunk of the body has another length than it says")
            await self._write(sink, b"\r\n")
        for _ in range(_TRAILER_LINES):
            if await self._line(source) == b"\r\n":
                await self._write(sink, b"0\r\n\r\n")
                return
        raise RefusedRequest(400, "neuraphage: the body has too long a trailer")

    async def _exactly(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, count: int) -> None:
        while count:
            piece = await self._read(source, min(count, _PIECE_BYTES))
            if not piece:
                raise RefusedRequest(400, "neuraphage: the body is shorter than it says")
            count -= len(piece)
            await self._write(sink, piece)

    async def _line(self, source: asyncio.StreamReader) -> bytes:
        try:
            async with asyncio.timeout(self._idle_s):
                line = await source.readline()
        except ValueError:  # longer than the reader keeps
            line = b""
        if not line.endswith(b"\r\n"):
            raise RefusedRequest(400, "neuraphage: a line of the body has no end")
        return line

    async def _read(self, source: asyncio.StreamReader, most_bytes: int) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            try:
                async with asyncio.timeout_at(self._moved_s + self._idle_s):
                    piece = await source.read(most_bytes)
            except TimeoutError:
                if loop.time() >= self._moved_s + self._idle_s:
                    raise
            else:
                self._moved_s = loop.time()
                return piece

    async def _write(self, sink: asyncio.StreamWriter, piece: bytes) -> None:
        sink.write(piece)
        async with asyncio.timeout(self._idle_s):
            await sink.drain()
        self._moved_s = asyncio.get_running_loop().time()


async def together(leading: Coroutine[Any, Any, None], other: Coroutine[Any, Any, None], *, both: bool) -> None:
    """Run two, until one fails or the leading one is done; then end what is left.

    Args:
        leading: is waited for.
        other: goes on beside it.
        both: wait for the other one, too.

    Raises:
        Exception: what the one that failed raised.
    """
    tasks = [asyncio.ensure_future(leading), asyncio.ensure_future(other)]
    waiting = set(tasks)
    try:
        while tasks[0] in waiting or (both and waiting):
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

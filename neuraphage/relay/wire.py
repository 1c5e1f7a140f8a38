"""A connection to a provider that is read only as fast as somebody asks.

Between two reads the kernel keeps what comes, so what comes in small pieces is read together.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress

MAX_SILENT_ADDRESS_S = 0.25
"""After so long without a connection the next address of a host is tried beside the first."""


class Wire(asyncio.Protocol):
    """One connection; `connected` makes it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._come = bytearray()
        self._is_over = False
        self._error: Exception | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writer: asyncio.Future[None] | None = None

    async def read(self) -> bytes:
        """What has come; waits until something has. Empty at the end.

        Raises:
            OSError: the connection broke.
        """
        if not self._come and not self._is_over and self._transport is not None:
            self._reader = self._loop.create_future()
            self._transport.resume_reading()
            try:
                await self._reader
            finally:
                self._reader = None
        if not self._come and self._error is not None:
            raise self._error
        data = bytes(self._come)
        self._come.clear()
        return data

    async def write(self, data: bytes) -> None:
        """Send this, as fast as it is taken. That the other side takes no more is no fault: it may have answered."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(data)
        if self._writer is not None:
            await self._writer

    def close(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # --- asyncio.Protocol ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """See asyncio.Protocol."""
        if isinstance(transport, asyncio.Transport):
            self._transport = transport

    def data_received(self, data: bytes) -> None:
        """See asyncio.Protocol."""
        self._come += data
        if self._transport is not None:
            self._transport.pause_reading()
        _wake(self._reader)

    def eof_received(self) -> bool:
        """See asyncio.Protocol."""
        self._is_over = True
        _wake(self._reader)
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """See asyncio.Protocol."""
        self._is_over, self._error = True, error
        _wake(self._reader)
        self.resume_writing()

    def pause_writing(self) -> None:
        """See asyncio.Protocol."""
        self._writer = self._loop.create_future()

    def resume_writing(self) -> None:
        """See asyncio.Protocol."""
        writer, self._writer = self._writer, None
        _wake(writer)


async def connected(host: str, port: int, tls: ssl.SSLContext | None) -> Wire:
    """A connection to a server.

    Args:
        host, port: of it.
        tls: how it is proved to be that one; None for plain HTTP.

    Raises:
        OSError: there is none to be had; ssl.SSLError is one.
    """
    _, wire = await asyncio.get_running_loop().create_connection(
        Wire,
        host,
        port,
        ssl=tls,
        server_hostname=host if tls else None,
        happy_eyeballs_delay=MAX_SILENT_ADDRESS_S,
    )
    return wire


def _wake(waiter: asyncio.Future[None] | None) -> None:
    if waiter is not None:
        with suppress(asyncio.InvalidStateError):
            waiter.set_result(None)

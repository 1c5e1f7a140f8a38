"""The first connection that one of several addresses takes."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

from neuraphage.sandbox.resolving import first_connection
from patience import PATIENCE_S
from proxykit import listening


@contextmanager
def silent(port: int) -> Iterator[str]:
    """An address at which nothing is taken and nothing refused, as behind a wall that drops everything: its queue of
    connections is full.
    """
    address = "127.0.0.2"
    with socket.socket() as server:
        server.bind((address, port))
        server.listen(0)
        waiting = []
        for _ in range(8):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex((address, port))
            waiting.append(one)
        yield address
        for one in waiting:
            one.close()


def connected(addresses: list[str], port: int, limit_s: float = PATIENCE_S) -> str | None:
    """The address that took the connection."""

    async def connect() -> str | None:
        streams = await first_connection(addresses, port, limit_s)
        if streams is None:
            return None
        name = streams[1].get_extra_info("peername")[0]
        streams[1].close()
        return str(name)

    return asyncio.run(connect())


def test_one_that_refuses_is_followed_by_the_next() -> None:
    """In their order."""
    with listening() as (_, port):
        assert connected(["127.0.0.3", "127.0.0.1"], port) == "127.0.0.1"


def test_one_that_is_silent_does_not_hold_up_the_next() -> None:
    """A network without a way for version 6 drops what is sent there; the limit is for all of them together."""
    with listening() as (_, port), silent(port) as dark:
        assert connected([dark, "127.0.0.1"], port) == "127.0.0.1"
        assert connected([dark], port, 0.1) is None


def test_none_is_told() -> None:
    """When all refuse, and when there is none."""
    with listening() as (_, port):
        assert connected(["127.0.0.3", "127.0.0.4"], port) is None
        assert connected([], port) is None


def test_a_connection_that_comes_too_late_is_closed() -> None:
    """Of two that are taken at once, one is kept."""
    with listening() as (server, port):

        async def connect() -> None:
            streams = await first_connection(["127.0.0.1"] * 2, port, PATIENCE_S)
            assert streams is not None
            streams[1].close()

        asyncio.run(connect())
        server.setblocking(False)
        taken = []
        while True:
            try:
                taken.append(server.accept()[0])
            except BlockingIOError:
                break
        for one in taken:
            one.settimeout(PATIENCE_S)
            with one:
                assert one.recv(1) == b""

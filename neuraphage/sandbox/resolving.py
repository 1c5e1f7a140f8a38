"""Addresses of a host, which of them the proxy may connect to, and the first connection that one of them takes."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence

from neuraphage.decide.allowed_hosts import AllowedHost, address_of, inner_kind, is_allowed

_NEXT_S = 0.25
"""How long one address is waited for before the next one is tried beside it (RFC 8305)."""
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def addresses_of(host: str, port: int) -> list[str]:
    """Addresses of a host, as the machine resolves names.

    Raises:
        OSError: none is known.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(place[0]) for *_, place in found))


def bare_address(text: str) -> str:
    """An address in the one form that is compared, without the network that it is of (`fe80::1%eth0`)."""
    address = address_of(text.partition("%")[0])
    return text if address is None else str(address)


def sorted_out(found: Iterable[str], entries: Sequence[AllowedHost], port: int) -> tuple[list[str], str]:
    """Leave out what is inside: this machine and its networks, unless an entry names the very address.

    Args:
        found: addresses.
        entries: of the setting.
        port: that is to be reached.

    Returns:
        The addresses that are left; and what the last one that is not was, for people.
    """
    usable, left_out = [], "no address"
    for text in found:
        address = address_of(text)
        kind = "no address" if address is None else inner_kind(address)
        if kind is None or (address is not None and is_allowed(entries, str(address), port)):
            usable.append(text)
        else:
            left_out = kind
    return usable, left_out


async def first_connection(addresses: Sequence[str], port: int, limit_s: float) -> Streams | None:
    """Connect to the address that takes it first; networks without a way for version 6 drop what is sent there.

    Args:
        addresses: in the order in which they are tried.
        port: to connect to.
        limit_s: for all of them, in seconds.

    Returns:
        The connection; None when none of them took it.
    """
    loop = asyncio.get_running_loop()
    until_s = loop.time() + limit_s
    tasks: list[asyncio.Task[Streams]] = []
    waiting: set[asyncio.Task[Streams]] = set()
    won: asyncio.Task[Streams] | None = None
    left = list(addresses)
    try:
        while won is None and (left or waiting) and loop.time() < until_s:
            if left:
                tasks.append(asyncio.create_task(asyncio.open_connection(left.pop(0), port)))
                waiting.add(tasks[-1])
            patience_s = min(_NEXT_S if left else limit_s, until_s - loop.time())
            done, waiting = await asyncio.wait(waiting, timeout=patience_s, return_when=asyncio.FIRST_COMPLETED)
            won = next((task for task in done if task.exception() is None), None)
    finally:
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        for task, result in zip(tasks, ended, strict=True):
            if task is not won and isinstance(result, tuple):
                result[1].transport.abort()
    return None if won is None else won.result()


def in_thread(work: Callable[[], list[str]]) -> Awaitable[list[str]]:
    """Do what blocks in a thread of its own: one that hangs must keep no process from its end.

    Raises:
        OSError: the work failed, or no thread is to be had.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[list[str]] = loop.create_future()

    def settle(result: list[str] | None) -> None:
        if future.done():
            return
        if result is None:
            future.set_exception(OSError())
        else:
            future.set_result(result)

    def run() -> None:
        try:
            result = work()
        except (OSError, UnicodeError):
            result = None
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result)

    try:
        threading.Thread(target=run, name="sandbox-resolve", daemon=True).start()
    except RuntimeError as error:
        raise OSError(str(error)) from error
    return future

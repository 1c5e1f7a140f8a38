"""Sends one request to the provider and records its answer.

The answer is recorded as it comes, coded as it was sent; redirects and refusals are answers like others. Who reads it
makes of it what it would have made of the provider's own. What is read in a second is bounded:
with many streams each is looked at less often, and their pieces come together.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies

from neuraphage.relay.http1 import AnswerParser, BadAnswer
from neuraphage.relay.order import Order
from neuraphage.relay.recording import Recording
from neuraphage.relay.wire import Wire, connected

if TYPE_CHECKING:
    from neuraphage.relay.proxied import ProxiedWay

READS_PER_S = 1_000
"""Of all connections together. At 200 streams each is read five times a second."""
CANCELLED = "Cancelled"
_PORTS = {"http": 80, "https": 443}
_OWN = frozenset({"connection", "content-length", "transfer-encoding", "proxy-connection", "keep-alive"})
"""Headers that say how this connection is used, and not what is asked for."""
_NOT_TRUSTED = re.compile(r"CERTIFICATE_VERIFY_FAILED.*(?:issuer|self.signed)")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")


class SendFault(Exception):
    """What broke a call off.

    Args:
        name: of the HTTP client's exception that says the same.
        text: of it.
    """

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class Sender:
    """The connections of one relay.

    Args:
        connections: at one time.
    """

    def __init__(self, connections: int) -> None:
        self.running = 0
        self._proxied = _proxied(connections, self._pause_s) if names_a_proxy() else None
        self._tls: ssl.SSLContext | None = None

    async def send(self, order: Order, recording: Recording) -> None:
        """Send it and record the answer to its end, or what broke it off; nothing is raised but a cancellation."""
        self.running += 1
        way = self._exchange if self._proxied is None else self._proxied.exchange
        try:
            async with asyncio.timeout(order.total_s):
                await way(order, recording)
        except TimeoutError:
            recording.finish("ReadTimeout", f"the call was not over after {order.total_s:g} s")
        except asyncio.CancelledError:
            recording.finish(CANCELLED, "the call was cancelled")
            raise
        except SendFault as fault:
            recording.finish(fault.name, _told(str(fault)))
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits for the answer is told
            recording.finish(type(error).__name__, _told(str(error)))
        else:
            recording.finish()
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Close what is idle."""
        if self._proxied is not None:
            await self._proxied.close()

    def _pause_s(self) -> float:
        return self.running / READS_PER_S if self.running > 1 else 0.0

    async def _exchange(self, order: Order, recording: Recording) -> None:
        asked = _asked(order)
        wire = await self._connected(order)
        try:
            async with _within(order.read_s, "WriteTimeout"):
                await wire.write(asked)
            await self._read(wire, order, recording)
        finally:
            wire.close()

    async def _connected(self, order: Order) -> Wire:
        url = urlsplit(order.url)
        host, port = url.hostname, url.port or _PORTS.get(url.scheme)
        if not host or port is None:
            raise SendFault("UnsupportedProtocol", f"the address is of no HTTP server: {url.scheme}://{url.hostname}")
        async with _within(order.connect_s, "ConnectTimeout"):
            tls = self._context() if url.scheme == "https" else None
            try:
                return await connected(host, port, tls)
            except OSError as error:
                raise SendFault("ConnectError", str(error)) from error

    async def _read(self, wire: Wire, order: Order, recording: Recording) -> None:
        parser, loop, read_s = AnswerParser(order.method), asyncio.get_running_loop(), 0.0
        try:
            while not parser.is_over:
                rest_s = read_s + self._pause_s() - loop.time()
                if rest_s > 0:
                    await asyncio.sleep(rest_s)
                async with _within(order.read_s, "ReadTimeout"):
                    data = await wire.read()
                read_s = loop.time()
                piece = parser.feed(data)
                if parser.head is not None and recording.head is None:
                    recording.begin(parser.head)
                if piece:
                    recording.add(piece)
                parser.check()
                if not data:
                    parser.end()
        except BadAnswer as error:
            raise SendFault("RemoteProtocolError", str(error)) from error
        except ssl.SSLError as error:
            raise SendFault("ReadError", str(error)) from error
        except OSError as error:
            raise SendFault("ReadError", str(error) or "the connection broke") from error

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            import httpx2  # noqa: PLC0415 - only where there is a server to be proved: it is most of this process

            try:
                self._tls = httpx2.create_ssl_context()
            except OSError as error:  # ssl.SSLError is one
                text = f"the certificates of the authorities cannot be read: {error.strerror or error}; {_trusted()}"
                raise SendFault("ConnectError", text) from error
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def names_a_proxy() -> bool:
    """Whether the environment says that some servers are reached by a proxy."""
    return not {"http", "https", "all"}.isdisjoint(getproxies())


def _proxied(connections: int, pause_s: Callable[[], float]) -> ProxiedWay:
    from neuraphage.relay.proxied import ProxiedWay  # noqa: PLC0415 - the HTTP client is most of a process

    return ProxiedWay(connections, pause_s)


@asynccontextmanager
async def _within(limit_s: float, name: str) -> AsyncIterator[None]:
    """A time limit; `name` is that of the exception which a passed limit is to whoever reads the answer."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError as error:
        raise SendFault(name, f"nothing came within {limit_s:g} s") from error


def _told(text: str) -> str:
    """What broke a call off, and where the authority is not known, whose word that is: not the worker's."""
    return f"{text}; {_trusted()}" if _NOT_TRUSTED.search(text) else text


def _trusted() -> str:
    path = os.environ.get("SSL_CERT_FILE")
    return (
        "it is the relay that connects, with the environment that it was started with:"
        f" its SSL_CERT_FILE is {path or 'not set'}"
    )


def _asked(order: Order) -> bytes:
    """The request as it is sent. The connection is for it alone.

    Raises:
        SendFault: it is none.
    """
    url = urlsplit(order.url)
    headers = [(name, value) for name, value in order.headers if name.lower() not in _OWN]
    if not any(name.lower() == "host" for name, _ in headers):
        headers.insert(0, ("host", url.netloc.rpartition("@")[2]))
    headers += [("content-length", str(len(order.body))), ("connection", "close")]
    target = urlunsplit(("", "", url.path or "/", url.query, ""))
    lines = [f"{order.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers)]
    if any(_CONTROL.search(line) for line in lines) or " " in target:
        raise SendFault("LocalProtocolError", "a header or the address of the request holds control characters")
    try:
        return "\r\n".join([*lines, "", ""]).encode("ascii") + order.body
    except UnicodeEncodeError:
        raise SendFault("LocalProtocolError", "a header or the address of the request is not ASCII") from None

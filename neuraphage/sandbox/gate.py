"""One connection to the proxy: what may pass, and where to.

The proxy connects by itself, through no other one. It asks for a host's addresses itself, and connects to one that it
has looked at: no name leads to this machine or its network, unless the address itself is listed.

What it cannot see is what goes through a tunnel. A listed host that passes on what it is sent (a content network, a
paste service) is a way to wherever it passes it on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from neuraphage.decide.allowed_hosts import AllowedHost, is_allowed, is_denied
from neuraphage.sandbox.relay import Relay, together
from neuraphage.sandbox.request_head import RefusedRequest, RequestHead, read_head
from neuraphage.sandbox.resolving import Streams, bare_address, first_connection, in_thread, sorted_out

Report = Callable[[str, int, bool], None]
Resolve = Callable[[str, int], Iterable[str]]
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProxyLimits:
    """What the proxy takes from a sandbox.

    Args:
        connections: at one time.
        head_bytes: of a request.
        head_s: until its head is there, in seconds.
        connect_s: until a name is resolved, and until a connection is there.
        idle_s: longest silence of a connection.
    """

    connections: int = 128
    head_bytes: int = 65_536
    head_s: float = 30.0
    connect_s: float = 20.0
    idle_s: float = 300.0


class Gate:
    """Serves connections, in one event loop.

    Args:
        entries: hosts that may be reached.
        report: see Proxy.
        limits: see Proxy.
        resolve: see Proxy.
        denied: hosts that may not be reached, whatever the entries say.
    """

    def __init__(
        self,
        entries: Sequence[AllowedHost],
        report: Report,
        limits: ProxyLimits,
        resolve: Resolve,
        denied: Sequence[AllowedHost] = (),
    ) -> None:
        self._denied = denied
        self._entries = entries
        self._report = report
        self._limits = limits
        self._resolve = resolve
        self._open = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, to its end."""
        self._open += 1
        try:
            head = await self._head(reader)
            await self._exchange(head, (reader, writer), await self._connect(head))
        except RefusedRequest as refused:
            await self._answer(writer, refused)
        except OSError:
            pass  # who asked is gone
        except asyncio.CancelledError:
            writer.transport.abort()  # the proxy ends, and waits for nobody to read
            raise
        finally:
            self._open -= 1
            await self._close(writer)

    async def _head(self, reader: asyncio.StreamReader) -> RequestHead:
        if self._open > self._limits.connections:
            raise RefusedRequest(503, "neuraphage: too many connections at one time")
        try:
            async with asyncio.timeout(self._limits.head_s):
                return read_head(await reader.readuntil(b"\r\n\r\n"))
        except asyncio.LimitOverrunError:
            raise RefusedRequest(431, "neuraphage: the head of the request is too long") from None
        except asyncio.IncompleteReadError:
            raise ConnectionResetError from None
        except TimeoutError:
            raise RefusedRequest(408, "neuraphage: the head of the request did not come") from None

    async def _connect(self, head: RequestHead) -> Streams:
        place = f"{head.host}:{head.port}"
        if is_denied(self._denied, head.host, head.port):
            raise self._blocked(head)
        if not is_allowed(self._entries, head.host, head.port):
            self._tell(head, allowed=False)
            raise RefusedRequest(
                403, f"neuraphage: {place} may not be reached from a command; a person allows it by allow_hosts"
            )
        addresses = await self._addresses(head)
        self._tell(head, allowed=True)
        server = await first_connection(addresses, head.port, self._limits.connect_s)
        if server is None:
            raise RefusedRequest(502, f"neuraphage: no connection to {place}")
        return server

    async def _addresses(self, head: RequestHead) -> list[str]:
        """Addresses that may be connected to; there is one at least."""
        try:
            async with asyncio.timeout(self._limits.connect_s):
                found = await in_thread(lambda: list(self._resolve(head.host, head.port)))
        except OSError:
            found = []
        if not found:
            raise RefusedRequest(502, f"neuraphage: no address of {head.host} is known")
        found = [text for text in found if not is_denied(self._denied, bare_address(text), head.port)]
        if not found:
            raise self._blocked(head)
        usable, kind = sorted_out(found, self._entries, head.port)
        if not usable:
            self._tell(head, allowed=False)
            raise RefusedRequest(
                403, f"neuraphage: {head.host} is {kind}; a person allows it by the address itself in allow_hosts"
            )
        return usable

    def _blocked(self, head: RequestHead) -> RefusedRequest:
        self._tell(head, allowed=False)
        place = f"{head.host}:{head.port}"
        return RefusedRequest(
            403, f"neuraphage: {place} is never reached from a command; blocked_hosts or a rule denies it"
        )

    def _tell(self, head: RequestHead, *, allowed: bool) -> None:
        try:
            self._report(head.host, head.port, allowed)
        except Exception:  # noqa: BLE001 - whatever it raises, the decision stands
            _log.exception("a report of the proxy of the sandbox failed")

    async def _exchange(self, head: RequestHead, client: Streams, server: Streams) -> None:
        relay = Relay(self._limits.idle_s)
        answers = relay.pump(server[0], client[1])
        try:
            if head.is_tunnel:
                client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await together(answers, relay.pump(client[0], server[1]), both=True)
            else:
                server[1].write(head.sent_on)
                await together(answers, relay.body(client[0], server[1], head.body_bytes), both=False)
            await self._close(server[1])
        except (OSError, RefusedRequest):
            pass  # an answer may have begun, so there is nothing to say
        finally:
            server[1].transport.abort()

    async def _close(self, writer: asyncio.StreamWriter) -> None:
        """Close a connection behind what was written to it; who does not read that is let go."""
        writer.close()
        with contextlib.suppress(OSError):
            async with asyncio.timeout(self._limits.head_s):
                await writer.wait_closed()
        writer.transport.abort()

    async def _answer(self, writer: asyncio.StreamWriter, refused: RefusedRequest) -> None:
        """The sentence is the reason, too: of a refused tunnel, programs show nothing else."""
        body = f"{refused.sentence}\n".encode("ascii", "replace")
        head = (
            f"HTTP/1.1 {refused.status} {refused.sentence}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        with contextlib.suppress(OSError):
            writer.write(head.encode("ascii", "replace") + body)
            async with asyncio.timeout(self._limits.head_s):
                await writer.drain()

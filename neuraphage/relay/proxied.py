"""One exchange by the HTTP client's own connections, which know proxies: where the environment names one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import httpx2

from neuraphage.relay.http1 import DROPPED
from neuraphage.relay.kept import Head
from neuraphage.relay.order import Order
from neuraphage.relay.recording import Recording


class ProxiedWay:
    """Sends requests as the environment says.

    Args:
        connections: at one time.
        pause_s: how long a connection rests between two reads.
    """

    def __init__(self, connections: int, pause_s: Callable[[], float]) -> None:
        self._pause_s = pause_s
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=0)
        self._client = httpx2.AsyncClient(limits=limits, follow_redirects=False)

    async def exchange(self, order: Order, recording: Recording) -> None:
        """Send it and record the answer; what broke it off is raised."""
        timeout = httpx2.Timeout(order.read_s, connect=order.connect_s, pool=order.connect_s)
        request = self._client.build_request(
            order.method, order.url, headers=list(order.headers), content=order.body, timeout=timeout
        )
        response = await self._client.send(request, stream=True)
        try:
            raw = ((name.decode("latin-1").lower(), text.decode("latin-1")) for name, text in response.headers.raw)
            recording.begin(Head(response.status_code, tuple(one for one in raw if one[0] not in DROPPED)))
            waited = _Waited()
            async for piece in response.aiter_raw():
                recording.add(piece)
                if waited.has_come():  # else there may be more of what was read at one time
                    await asyncio.sleep(self._pause_s())
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Close what is idle."""
        await self._client.aclose()


class _Waited:
    """Whether the event loop had a turn since it was asked last: a piece that was there already gives it none."""

    def __init__(self) -> None:
        self._pending = False
        self._ask()

    def has_come(self) -> bool:
        if self._pending:
            return False
        self._ask()
        return True

    def _ask(self) -> None:
        self._pending = True
        asyncio.get_running_loop().call_soon(self._come)

    def _come(self) -> None:
        self._pending = False

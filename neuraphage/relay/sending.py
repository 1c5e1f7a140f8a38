"""Sends one request to the provider and records its answer.

The answer is recorded as it comes, coded as it was sent; redirects and refusals are answers like others. Who reads it
makes of it what it would have made of the provider's own. What is read in a second is bounded:
with many streams each is looked at less often, and their pieces come together.
"""

from __future__ import annotations

import asyncio
import logging

import httpx2

from neuraphage.relay.entry import Head
from neuraphage.relay.order import Order
from neuraphage.relay.recording import Recording

log = logging.getLogger(__name__)

READS_PER_S = 1_000
"""Of all connections together. At 200 streams each is read five times a second."""
CANCELLED = "Cancelled"
_DROPPED = frozenset({"set-cookie", "proxy-authenticate", "www-authenticate"})
"""Headers of answers that are of no use to a worker, and may be secret."""


class Sender:
    """The connections of one relay.

    Args:
        connections: at one time.
    """

    def __init__(self, connections: int) -> None:
        self.running = 0
        limits = httpx2.Limits(max_connections=connections, max_keepalive_connections=0)
        self._client = httpx2.AsyncClient(limits=limits, follow_redirects=False)

    async def send(self, order: Order, recording: Recording) -> None:
        """Send it and record the answer to its end, or what broke it off; nothing is raised but a cancellation."""
        self.running += 1
        try:
            async with asyncio.timeout(order.total_s):
                await self._exchange(order, recording)
        except TimeoutError:
            await recording.finish("ReadTimeout", f"the call was not over after {order.total_s:g} s")
        except asyncio.CancelledError:
            await recording.finish(CANCELLED, "the call was cancelled")
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, whoever waits for the answer is told
            await recording.finish(type(error).__name__, str(error))
        else:
            await recording.finish()
        finally:
            self.running -= 1

    async def close(self) -> None:
        """Close what is idle."""
        await self._client.aclose()

    async def _exchange(self, order: Order, recording: Recording) -> None:
        timeout = httpx2.Timeout(order.read_s, connect=order.connect_s, pool=order.connect_s)
        request = self._client.build_request(
            order.method, order.url, headers=list(order.headers), content=order.body, timeout=timeout
        )
        response = await self._client.send(request, stream=True)
        try:
            headers = tuple((name, text) for name, text in response.headers.multi_items() if name not in _DROPPED)
            recording.begin(Head(response.status_code, headers))
            async for piece in response.aiter_raw():
                recording.add(piece)
                if self.running > 1:
                    await asyncio.sleep(self.running / READS_PER_S)
        finally:
            await response.aclose()

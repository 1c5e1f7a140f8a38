"""The relay's process: listens, takes calls, ends when it is told to, or when nobody uses it any more."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
import time
from typing import Any

from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import BACKLOG, RelayPlace
from neuraphage.relay.retention import expire
from neuraphage.relay.server import RelayServer

log = logging.getLogger(__name__)

LOOK_S = 0.25
"""How often it is looked whether the relay is of use."""
EXPIRE_S = 30.0
_KEEPS_SOCKET: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""Python 3.13 would look for the socket by the name that it was bound by, which may be that of an opened folder."""


async def run_relay(place: RelayPlace, limits: RelayLimits, *, stays: bool) -> None:
    """Be the current relay of a place, until a signal ends it.

    Args:
        place: where it is found.
        limits: what it takes.
        stays: go on when nobody uses it; else it ends `idle_s` after its last user.

    Raises:
        OSError: it cannot listen there.
    """
    place.make()
    place.remove_dead()
    listener, name = place.listen()
    link = place.service if stays else place.started
    server = RelayServer(place, link, name, limits)
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, told.set)
    serving = await asyncio.start_unix_server(server.serve, sock=listener, backlog=BACKLOG, **_KEEPS_SOCKET)
    place.make_current(link, name)
    log.info("the relay takes calls at %s", place.root / name)
    try:
        await _until_useless(server, place, (link, name), limits, told)
        draining = asyncio.create_task(server.drain())
        while not draining.done():
            await asyncio.wait([draining], timeout=LOOK_S)
            if not (place.root / name).exists():
                server.cancel_unread()
    finally:
        serving.close()
        (place.root / name).unlink(missing_ok=True)


async def _until_useless(
    server: RelayServer, place: RelayPlace, is_at: tuple[str, str], limits: RelayLimits, told: asyncio.Event
) -> None:
    """Keep house until there is no use of this relay: it was told to end, replaced, removed, or is idle."""
    (link, name), expired_s = is_at, 0.0
    while not told.is_set():
        now_s = time.monotonic()
        if now_s - expired_s > EXPIRE_S:
            expired_s = now_s
            server.kept_bytes = await asyncio.to_thread(
                expire, place.calls, limits.retention_s, limits.quota_bytes, server.running
            )
        if place.current(link) != name:
            log.info("the relay was replaced, and takes no new calls")
            return
        is_idle = not server.connections and not server.running and now_s - server.used_s > limits.idle_s
        if is_idle and link == place.started:
            return
        try:
            await asyncio.wait_for(told.wait(), LOOK_S)
        except TimeoutError:
            continue

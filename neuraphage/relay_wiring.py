"""Composes the relay: where it is, what it takes, and the process of one that runs as a service."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from neuraphage.data_folder import RELAY, make_data_folder
from neuraphage.decide.hashing import sha256_hex
from neuraphage.relay.joining import state_of
from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.runtime.host import host_id
from neuraphage.settings import Settings


def relay_place(settings: Settings) -> RelayPlace:
    """Where the relays of a namespace are found."""
    return RelayPlace(Path(settings.data_dir) / RELAY / settings.namespace, sha256_hex([host_id()])[:12])


def relay_limits(settings: Settings) -> RelayLimits:
    """What a relay takes and keeps."""
    return RelayLimits(
        calls=settings.relay_calls, quota_bytes=settings.relay_quota_bytes, retention_s=settings.relay_retention_s
    )


def serves(settings: Settings) -> bool:
    """Whether a relay that runs as a service takes calls."""
    place = relay_place(settings)
    return place.is_alive(place.current(place.service))


def relays(settings: Settings) -> list[dict[str, Any]]:
    """What the relays that take calls here say of themselves: a service, and one that workers of this host started.

    Each has `is_service`, and what the relay says (see relay/server.py); nothing else where it does not answer.
    """
    place = relay_place(settings)
    found = []
    for link in (place.service, place.started):
        name = place.current(link)
        if name and place.is_alive(name):
            found.append({"is_service": link == place.service, **state_of(place, name)})
    return found


def serve(settings: Settings) -> None:
    """Be the relay of all who share the data folder, until SIGTERM; then end when the calls under way are over.

    Raises:
        OSError: it cannot listen in the data folder.
    """
    from neuraphage.relay.program import run_relay  # noqa: PLC0415 - imports the HTTP client

    make_data_folder(settings.data_dir)
    asyncio.run(run_relay(relay_place(settings), relay_limits(settings), stays=True))

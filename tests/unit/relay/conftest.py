"""A place for relays, and a provider that writes slowly."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.testing.scripted_api import ScriptedServer, reply
from relaykit import SLOW, TEXT, Host


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    """So slow that a test can act in the midst of a reply."""
    with ScriptedServer({"main": lambda _: reply(TEXT, pace=SLOW)}) as server:
        yield server


@pytest.fixture
def host(tmp_path: Path, provider: ScriptedServer) -> Host:
    return Host(RelayPlace(tmp_path / "relay"), provider.url, RelayLimits())


@pytest.fixture
def call_id() -> str:
    return secrets.token_hex(16)

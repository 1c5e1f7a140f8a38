"""A place for relays, and a provider that writes slowly."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.relay.limits import RelayLimits
from neuraphage.relay.place import RelayPlace
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from relaykit import GO, HELD, SLOW, TEXT, Host


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[ScriptedServer]:
    """It writes slowly; a reply to HELD stands still in its midst until the file GO is there, on any machine."""
    held = replace(SLOW, until=tmp_path / GO)

    def script(request: ScriptRequest) -> ScriptedReply:
        return reply(TEXT, pace=held if HELD in str(request.body["messages"]) else SLOW)

    with ScriptedServer({"main": script}) as server:
        yield server


@pytest.fixture
def host(tmp_path: Path, provider: ScriptedServer) -> Host:
    return Host(RelayPlace(tmp_path / "relay"), provider.url, RelayLimits())


@pytest.fixture
def call_id() -> str:
    return secrets.token_hex(16)

"""A server for each module, empty for each test, and a world over it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_server import FaultServer
from fault_world import World


@pytest.fixture(scope="module")
def module_server() -> Iterator[FaultServer]:
    """The server of this module, which every test leaves running."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder:
        server = FaultServer(Path(folder))
        yield server
        server.close()


@pytest.fixture
def server(module_server: FaultServer) -> FaultServer:
    """The module's server, empty."""
    module_server.admin.flushall()
    return module_server


@pytest.fixture
def world(server: FaultServer, tmp_path: Path) -> Iterator[World]:
    """A world in which nothing runs yet."""
    with World(server, tmp_path) as made:
        yield made

"""Fixtures of the store suites: each test runs on a fake server and on a real one."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import ValkeyProcess
from storekit import StoreKit, new_kit


@pytest.fixture(scope="session")
def valkey() -> Iterator[ValkeyProcess]:
    """The real server of this session."""
    with tempfile.TemporaryDirectory(prefix="np-") as folder, ValkeyProcess(Path(folder)) as server:
        yield server


@pytest.fixture(params=["fakeredis", pytest.param("valkey", marks=pytest.mark.real_redis)])
def kit(request: pytest.FixtureRequest) -> Iterator[StoreKit]:
    """A fresh store on either server, checked after the test."""
    if request.param == "fakeredis":
        yield new_kit()
        return
    client = request.getfixturevalue("valkey").client()
    client.flushall()
    yield new_kit(client)
    client.close()


@pytest.fixture
def real_kit(valkey: ValkeyProcess) -> Iterator[StoreKit]:
    """A fresh store on the real server only."""
    client = valkey.client()
    client.flushall()
    yield new_kit(client)
    client.close()


@pytest.fixture(autouse=True)
def no_leaked_keys(request: pytest.FixtureRequest) -> Iterator[None]:
    """After each test every key expires or is one of keys.PERMANENT, and the invariant holds."""
    name = next((name for name in ("kit", "real_kit") if name in request.fixturenames), None)
    kit = request.getfixturevalue(name) if name else None
    yield
    if kit is not None:
        kit.check()

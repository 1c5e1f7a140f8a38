"""A server that refuses writes refuses each script whole: nothing is half done (real server only)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.store import invariant, signals
from servers import ValkeyProcess
from storekit import StoreKit
from writekit import ALL_WRITES, Write

pytestmark = pytest.mark.real_redis


@pytest.fixture(autouse=True)
def _no_look_at_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts must hold by themselves: a server may fill up after the look at its memory."""
    monkeypatch.setattr(signals, "refuse_when_full", lambda *_: None)


@contextmanager
def out_of_memory(client: Any, folder: Path) -> Iterator[None]:
    """The server is over its memory limit."""
    client.config_set("maxmemory", 1)
    try:
        yield
    finally:
        client.config_set("maxmemory", 0)


@contextmanager
def read_only(client: Any, folder: Path) -> Iterator[None]:
    """The server was made a replica (of nobody)."""
    client.replicaof("127.0.0.1", 1)
    try:
        yield
    finally:
        client.replicaof("NO", "ONE")


@contextmanager
def no_replicas(client: Any, folder: Path) -> Iterator[None]:
    """The server lacks the replicas it must have."""
    client.config_set("min-replicas-to-write", 1)
    try:
        yield
    finally:
        client.config_set("min-replicas-to-write", 0)


@contextmanager
def disk_failed(client: Any, folder: Path) -> Iterator[None]:
    """The server could not save (a folder stands where its dump should go), and so answers MISCONF."""
    (folder / "dump.rdb" / "inside").mkdir(parents=True, exist_ok=True)
    client.config_set("save", "3600 1000000")
    client.bgsave()
    for _ in range(100_000):
        state = client.info("persistence")
        if not state["rdb_bgsave_in_progress"] and state["rdb_last_bgsave_status"] == "err":
            break
    try:
        yield
    finally:
        client.config_set("save", "")


REFUSALS = {"maxmemory": out_of_memory, "read only": read_only, "NOREPLICAS": no_replicas, "MISCONF": disk_failed}
"""What the server's refusal says, and how to make it refuse."""


@pytest.mark.parametrize("writes", ALL_WRITES, ids=lambda make: make.__name__)
@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refused_write_changes_nothing(
    real_kit: StoreKit,
    valkey: ValkeyProcess,
    refusal: str,
    writes: Callable[[StoreKit], Iterator[tuple[str, Write]]],
) -> None:
    """Every script's first write is one the server refuses, so that the whole script is refused; then it works."""
    calls = list(writes(real_kit))
    before = real_kit.state()
    with REFUSALS[refusal](real_kit.client, valkey.folder):
        for name, write in calls:
            with pytest.raises(StoreUnavailable, match=refusal):
                write()
            assert name
        after = real_kit.state()
    assert after == before
    for name, write in calls:
        unchanged = real_kit.state()
        write()
        assert real_kit.state() != unchanged or name == "renew", name
    assert invariant.violations(real_kit.store.context) == []

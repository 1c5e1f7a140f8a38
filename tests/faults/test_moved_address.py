"""A failover behind one address: the former master lives on as a replica, and no process may cling to it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.client_wiring import new_task_id
from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import TaskSpec
from neuraphage.ports import ProcessRow
from neuraphage.settings import Settings
from neuraphage.store.client import connect
from neuraphage.store.presence import NamedConnection
from neuraphage.store.tasks import RedisStore
from servers import ValkeyProcess
from storekit import FixedClock
from turnkit import until

pytestmark = pytest.mark.real_redis


class Address:
    """One address, and the two servers that it may lead to.

    Args:
        folder: for the address and the servers.
        first, second: the servers.
    """

    def __init__(self, folder: Path, first: ValkeyProcess, second: ValkeyProcess) -> None:
        self._link, self._first, self._second = folder / "link", first, second
        self._link.symlink_to(first.socket)
        self.settings = Settings(state_url=f"unix://{self._link}")
        self.store = RedisStore(self.settings, FixedClock(), connect(self.settings.state_url.get_secret_value()))

    def fail_over(self) -> None:
        """The first server becomes a replica and keeps its connections; the address leads to the second."""
        self._first.client().replicaof("127.0.0.1", 1)
        self._link.unlink()
        self._link.symlink_to(self._second.socket)


@pytest.fixture
def address() -> Iterator[Address]:
    with tempfile.TemporaryDirectory(prefix="np-") as name:
        folder = Path(name)
        for part in "ab":
            (folder / part).mkdir()
        with ValkeyProcess(folder / "a") as first, ValkeyProcess(folder / "b") as second:
            yield Address(folder, first, second)


def spec() -> TaskSpec:
    return TaskSpec(task_id=new_task_id(), name="A task", prompt="Do it.", model="m")


def test_scripts_and_plain_commands_reach_the_new_master(address: Address) -> None:
    """At the latest the second try of each connection: those of the threads, and those of the pool."""
    store = address.store
    task_id = store.create(spec(), "before").task_id
    store.register(ProcessRow("p1", "host", 1, 1.0, 0))
    address.fail_over()
    with pytest.raises(StoreUnavailable, match="read only"):
        store.claim(task_id, 1, "p1", "claim-1")
    assert store.create(spec(), "after")[0]

    def entered() -> bool:
        try:
            store.register(ProcessRow("p2", "host", 1, 1.0, 0))
        except StoreUnavailable:
            return False
        return True

    until(entered)
    assert [row.process_id for row in store.registered()] == ["p2"]


def test_presence_moves_on_and_nobody_is_taken_for_absent(address: Address) -> None:
    """Who asks for connections, and who shows itself by one, both only read: they are told all the same."""
    state_url = address.settings.state_url.get_secret_value()
    presence = NamedConnection(state_url, address.settings.namespace, "p1")
    presence.wait(0.01)
    assert address.store.connected() == {"p1"}
    address.fail_over()
    with pytest.raises(StoreUnavailable, match="replica"):
        address.store.connected()
    with pytest.raises(StoreUnavailable, match="replica"):
        presence.wait(0.01)
    presence.wait(0.01)
    assert address.store.connected() == {"p1"}
    presence.close()

"""A state server that fills up takes no new tasks, while those under way go on (real server only)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Changes, CommitVerdict
from neuraphage.runtime.sweep import Sweep
from storekit import FixedClock, StoreKit, text_entry
from turnkit import LocalDispatcher

pytestmark = pytest.mark.real_redis
SPEC = TaskSpec(task_id="task-00000000-0000-0000-0000-00000000dead", name="n", prompt="p", model="m")
OTHER = SPEC.model_copy(update={"task_id": "task-00000000-0000-0000-0000-00000000beef"})


@pytest.fixture
def kit(real_kit: StoreKit) -> Iterator[StoreKit]:
    """A server without a limit before and after."""
    yield real_kit
    real_kit.client.config_set("maxmemory", 0)


def fill(client: Any, percent: int) -> None:
    """Let the memory that is used be this share of the limit."""
    client.config_set("maxmemory", client.info("memory")["used_memory"] * 100 // percent)


def test_a_server_that_fills_up(kit: StoreKit) -> None:
    """Refused above the limit, in words; a repeat of a stored task is answered; a running task goes on to its end."""
    assert kit.store.memory_percent() is None
    assert kit.store.create(SPEC, "first")[:2] == (True, SPEC.task_id)
    _, lease = kit.running()
    fill(kit.client, 85)
    with pytest.raises(StoreUnavailable, match="takes no new task"):
        kit.store.create(OTHER, "second")
    assert kit.store.create(OTHER, "first")[:2] == (False, SPEC.task_id)
    assert kit.store.commit(lease, Changes(entries=(text_entry("on"),))).verdict is CommitVerdict.COMMITTED
    fill(kit.client, 50)
    assert kit.store.create(OTHER, "second")[:2] == (True, OTHER.task_id)


def test_the_alarm_rings_once(kit: StoreKit, caplog: pytest.LogCaptureFixture) -> None:
    """The log of who sweeps tells of it when it begins and when it is over, not with every sweep."""
    sweep = Sweep(kit.store, LocalDispatcher(), FixedClock(), kit.store.context.settings)
    with caplog.at_level(logging.WARNING):
        for percent in (50, 85, 90, 50, 50, 85):
            fill(kit.client, percent)
            sweep.run(guarded=False)
    told = [record.getMessage() for record in caplog.records if "new tasks" in record.getMessage()]
    assert ["takes no new tasks" in text for text in told] == [True, False, True]


def test_a_user_who_may_not_ask(kit: StoreKit) -> None:
    """Rules that forbid INFO keep nobody from submitting."""
    kit.client.acl_setuser("poor", enabled=True, nopass=True, keys=["*"], channels=["*"], categories=["+@all"],
                           commands=["-info"])  # fmt: skip
    try:
        kit.client.auth("", "poor")
        assert kit.store.memory_percent() is None
        assert kit.store.create(SPEC, "first")[0]
    finally:
        kit.client.connection_pool.disconnect()
        kit.client.acl_deluser("poor")

"""The registry of worker processes: what the watchers of all hosts go by."""

from __future__ import annotations

from dataclasses import asdict

import orjson
import pytest

from neuraphage.model.task import Status
from neuraphage.ports import ProcessRow
from storekit import StoreKit

ROW = ProcessRow("p1", "host", 17, 1.5, 1_000, "spool")
OTHER = ProcessRow("p2", "host", 18, 2.5, 2_000)


def test_who_is_registered_until_it_leaves(kit: StoreKit) -> None:
    """An entry reads back as it was written, a second one replaces it, and leaving removes it alone."""
    for row in (ROW, ROW, OTHER):
        kit.store.register(row)
    assert sorted(kit.store.registered(), key=lambda row: row.pid) == [ROW, OTHER]
    kit.store.unregister(["p1", "never there"])
    assert kit.store.registered() == [OTHER]


def test_a_later_release_may_say_more(kit: StoreKit) -> None:
    """In a rolling upgrade the older watcher still sees the newer worker die."""
    kit.client.hset(kit.keys.processes, "p1", orjson.dumps({**asdict(ROW), "of_a_later_release": 1}))
    assert kit.store.registered() == [ROW]


@pytest.mark.parametrize("broken", ["{", "[]", "1", "{}", '{"process_id":"x"}'])
def test_a_broken_entry_hides_no_other(kit: StoreKit, broken: str) -> None:
    """A watcher that stumbles over it would see no death at all any more, and run no sweep."""
    kit.client.hset(kit.keys.processes, "x", broken)
    kit.store.register(ROW)
    assert kit.store.registered() == [ROW]


def test_where_the_holder_of_each_task_can_read_commands(kit: StoreKit) -> None:
    """The spool of its holder, `over` for a task that is, nothing where nobody knows; a broken record stops none."""
    kit.store.register(ROW)
    held, between, ended, broken = kit.running()[0], kit.create(), kit.put(Status.CANCELLED), kit.running()[0]
    kit.client.hset(kit.keys.task(broken), "status", "Nonsense")
    kit.broken_on_purpose = True
    found = kit.store.whereabouts([held, between, ended, broken, "task-of-nobody"])
    assert found == {held: "spool", between: "", ended: "over", broken: "spool", "task-of-nobody": "over"}

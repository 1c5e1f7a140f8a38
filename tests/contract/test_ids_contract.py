"""The index of all ids: written by create, in every status, gone with delete, read in the order of creation."""

from __future__ import annotations

import pytest

from neuraphage.model.task import TERMINAL, Status
from neuraphage.store import queries
from storekit import StoreKit


def made(kit: StoreKit, **how: object) -> list[str]:
    """The ids that the index tells."""
    return [task_id for task_id, _ in queries.ids_by_creation(kit.store.context, **how)]  # type: ignore[arg-type]


@pytest.mark.parametrize("status", Status)
def test_a_task_of_every_status_is_listed(kit: StoreKit, status: Status) -> None:
    """A task stands in the index from create until it is deleted, with the time at which it was made."""
    task_id = kit.put(status)
    assert queries.ids_by_creation(kit.store.context) == [(task_id, kit.number(task_id, "created_at"))]


@pytest.mark.parametrize("status", sorted(TERMINAL))
def test_a_deleted_task_is_no_longer_listed(kit: StoreKit, status: Status) -> None:
    """With its record goes its place in the index."""
    task_id, other = kit.put(status), kit.create()
    assert kit.store.delete(task_id, force=True)
    assert made(kit) == [other]


def test_the_order_is_that_of_creation(kit: StoreKit) -> None:
    """Whatever tasks do later, their order stays; pages and both directions are told."""
    ids = [kit.create() for _ in range(5)]
    for number, task_id in enumerate(ids):
        kit.client.zadd(kit.keys.ids, {task_id: 1_000 + number})
    kit.claim(ids[0])
    assert made(kit) == ids[::-1]
    assert made(kit, newest_first=False) == ids
    assert made(kit, skip=1, limit=2) == [ids[3], ids[2]]
    assert made(kit, newest_first=False, skip=4, limit=2) == [ids[4]]
    assert made(kit, limit=0) == []


def test_a_repeated_create_lists_nothing_twice(kit: StoreKit) -> None:
    """The task that a repeat finds stays where it was in the order."""
    task_id = kit.create(key="k")
    before = queries.ids_by_creation(kit.store.context)
    assert kit.store.create(kit.store.get(task_id).spec, "k")[:2] == (False, task_id)
    assert queries.ids_by_creation(kit.store.context) == before

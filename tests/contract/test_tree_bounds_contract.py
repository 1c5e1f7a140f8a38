"""The bounds of a tree hold in the scripts that make children, whoever makes them at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from neuraphage.decide.children import child_id
from neuraphage.errors import BadInput
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, ChildChanges, CommitVerdict, Lease, Settled, SuspendTo
from storekit import StoreKit

WIDTH, PEOPLE, TIMES = 3, 6, 20


def child_of(parent: str, name: str) -> TaskSpec:
    return TaskSpec(
        task_id=child_id(parent, name), name=name, prompt=f"Do {name}.", model="m", parent_id=parent, depth=1
    )


def spawning(parent: str, *names: str) -> Changes:
    return Changes(children=ChildChanges(new=tuple((child_of(parent, name), ChildWait.ALL) for name in names)))


def suspended(kit: StoreKit, lease: Lease, *names: str) -> Settled:
    """A turn makes children, and gives its lease back."""
    return kit.suspend(lease, SuspendTo.SUBTASKS, spawning(lease.task_id, *names), detail={"resource": "them"})


def test_a_turn_makes_no_more_children_than_there_is_room_for(kit: StoreKit) -> None:
    """Of a person's child the turn knew nothing: all or none are made, nothing is written, and the lease stands."""
    narrow = kit.under(max_children=WIDTH)
    parent, lease = narrow.running()
    narrow.store.create(child_of(parent, "person"), "k")
    before = kit.state()
    refused = suspended(narrow, lease, "a", "b", "c")
    assert (refused.verdict, refused.children, kit.state()) == (CommitVerdict.NO_ROOM, 1, before)
    assert suspended(narrow, lease, "a", "b").status is Status.BLOCKED
    assert len(kit.store.get(parent).children) == WIDTH


def test_children_that_are_there_take_no_second_place(kit: StoreKit) -> None:
    """A turn that is repeated after a lost answer is not refused by its own children."""
    narrow = kit.under(max_children=2)
    parent, lease = narrow.running()
    suspended(narrow, lease, "a", "b")
    narrow.end(child_id(parent, "a"), Status.COMPLETED)
    narrow.end(child_id(parent, "b"), Status.COMPLETED)
    again = suspended(narrow, narrow.claim(parent), "a", "b")
    assert (again.verdict, len(kit.store.get(parent).children)) == (CommitVerdict.COMMITTED, 2)


def test_a_cancelled_task_is_over_also_without_room(kit: StoreKit) -> None:
    """It makes no children any more, so nothing is refused."""
    narrow = kit.under(max_children=1)
    _, lease = narrow.running()
    kit.store.create(child_of(lease.task_id, "person"), "k")
    kit.client.hset(kit.keys.task(lease.task_id), "cancel", 1)
    assert suspended(narrow, lease, "a").status is Status.CANCELLED


def test_many_who_make_children_at_once_stay_within_the_width(kit: StoreKit) -> None:
    """People and the turn itself, by threads that wait for each other: never one too many, and no place stays empty."""
    narrow = kit.under(max_children=WIDTH)
    together = Barrier(PEOPLE + 1)

    def submits(parent: str, one: int) -> bool:
        together.wait()
        try:
            return narrow.store.create(child_of(parent, f"p{one}"), f"{parent} {one}")[0]
        except BadInput:
            return False

    def turns(lease: Lease) -> bool:
        together.wait()
        return suspended(narrow, lease, "a", "b").verdict is CommitVerdict.COMMITTED

    with ThreadPoolExecutor(PEOPLE + 1) as threads:
        for _ in range(TIMES):
            parent, lease = narrow.running()
            asked = [threads.submit(submits, parent, one) for one in range(PEOPLE)]
            spawned = threads.submit(turns, lease)
            made = sum(one.result() for one in asked) + 2 * spawned.result()
            children = kit.store.get(parent).children
            assert len(children) == made == WIDTH
            assert all(kit.store.get(child.task_id).spec.parent_id == parent for child in children)

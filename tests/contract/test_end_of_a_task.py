"""The end of a task is one write: whatever dies, all that it means for others is done once, or nothing of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lockkit import Holder, holder, holders
from neuraphage.decide.children import child_id
from neuraphage.model.dependency import DependencyState, OnFailure
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, ChildChanges, FinishTo, SignalKind, SuspendTo
from storekit import StoreKit

FILE = "file:/work/a"
ENDS: dict[str, tuple[Callable[[Holder], object], DependencyState]] = {
    "completed": (lambda one: one.ends(FinishTo.COMPLETED, summary="Done."), DependencyState.COMPLETED),
    "failed": (lambda one: one.ends(FinishTo.FAILED, error="No.", recoverable=True), DependencyState.FAILED),
    "poisoned": (lambda one: one.suspends(SuspendTo.POISONED, detail={"error": "No."}), DependencyState.FAILED),
    "cancelled": (lambda one: one.suspends(SuspendTo.SHUTDOWN), DependencyState.CANCELLED),
}


def spec_of(parent: str, depth: int) -> TaskSpec:
    return TaskSpec(task_id=child_id(parent, "a"), name="n", prompt="Do it.", model="m", parent_id=parent, depth=depth)


@pytest.mark.parametrize("way", ENDS)
def test_all_that_an_end_means_is_done_by_the_write_that_ends_it(kit: StoreKit, way: str) -> None:
    """Locks and lease given back, the parent told, who waited released, subtasks ended; a repeat does nothing."""
    ends, state = ENDS[way]
    parent, lease = kit.running()
    new = ((spec_of(parent, 1), ChildWait.ALL),)
    kit.suspend(lease, SuspendTo.SUBTASKS, Changes(children=ChildChanges(new=new)), detail={"resource": "it"})
    one = Holder(kit, kit.claim(child_id(parent, "a"))).takes(FILE)
    other = holder(kit).waits(FILE)
    dependant = kit.after(one.id, on_failure=OnFailure.GO_ON)
    kit.store.create(spec_of(one.id, 2), "k")
    if way == "cancelled":
        kit.send(one.id, SignalKind.CANCEL)
    settled = ends(one)
    assert {turn.task_id for turn in settled.woken} == {parent, other.id, dependant}  # type: ignore[attr-defined]
    assert one.stands == (state.value, "")
    assert kit.store.get(parent).outcomes[one.id].state is state
    assert [kit.status(task_id) for task_id in (parent, other.id, dependant)] == [Status.QUEUED] * 3
    assert kit.status(child_id(one.id, "a")) is Status.CANCELLED
    assert holders(kit, FILE) == [other.id]
    assert kit.client.zscore(kit.keys.retention, one.id) is not None
    assert kit.client.pttl(kit.keys.task(one.id)) > 0
    before = kit.state()
    ends(one)
    assert kit.state() == before

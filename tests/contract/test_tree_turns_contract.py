"""Turns of a tree: each counted once, by the write that announces its call, and none begins beyond a limit."""

from __future__ import annotations

import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

from test_announced_contract import REQUEST, TURN_DONE, between_turns, claimed

from neuraphage.decide.children import child_id
from neuraphage.model.effect import MODEL_ENTRY, EffectState, ModelEffect, ToolEffect
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import (
    Changes,
    ChildChanges,
    ClaimVerdict,
    Committed,
    CommitVerdict,
    FinishTo,
    Lease,
    SignalKind,
    SuspendTo,
)
from storekit import MODEL_CALL, StoreKit

CHILDREN, LIMIT = 6, 4


def spec_of(parent: str, name: str, depth: int = 1) -> TaskSpec:
    return TaskSpec(
        task_id=child_id(parent, name), name=name, prompt=f"Do {name}.", model="m", parent_id=parent, depth=depth
    )


def announced(kit: StoreKit, lease: Lease, state: EffectState = EffectState.STARTED, **more: Any) -> Committed:
    """The commit that announces the call of a turn."""
    entry = ModelEffect(state=state, fence=lease.fence, request_id="r")
    return kit.store.commit(lease, Changes(journal=(entry,), **more))


def after(lease: Lease) -> Lease:
    """The lease after one more write."""
    return replace(lease, token=lease.token + 1)


def spawning(kit: StoreKit, lease: Lease, *names: str) -> list[str]:
    """The children that a turn has made, which its task waits for."""
    new = tuple((spec_of(lease.task_id, name), ChildWait.ALL) for name in names)
    kit.suspend(lease, SuspendTo.SUBTASKS, Changes(children=ChildChanges(new=new)), detail={"resource": "them"})
    return [child.task_id for child, _ in new]


def parent_of(kit: StoreKit, *names: str, limit: int | None = None) -> tuple[str, list[str]]:
    """A task that has made children in its first turn."""
    parent, lease = kit.running()
    assert announced(kit, lease).verdict is CommitVerdict.COMMITTED
    children = spawning(kit, after(lease), *names)
    if limit is not None:
        kit.send(parent, SignalKind.LIMIT, limits=LimitChange(max_tree_turns=limit))
    return parent, children


def turns(kit: StoreKit, *task_ids: str) -> list[int]:
    return [kit.store.get(task_id).tree_turns for task_id in task_ids]


def test_a_turn_counts_for_its_task_and_all_above(kit: StoreKit) -> None:
    """Three levels; that of the parent which was under way when it had no children counts too."""
    parent, (child, other) = parent_of(kit, "a", "b")
    assert turns(kit, parent, child) == [1, 0]
    lease = kit.claim(child)
    announced(kit, lease)
    (below,) = spawning(kit, after(lease), "c")
    announced(kit, kit.claim(below))
    assert turns(kit, parent, child, below, other) == [3, 2, 1, 0]


def test_a_turn_counts_once(kit: StoreKit) -> None:
    """Whoever dies after its announcement, repeats it, ends it, or goes on with it after a failure."""
    parent, (child,) = parent_of(kit, "a")
    lease = kit.claim(child)
    announced(kit, lease)
    announced(kit, lease)  # a repeat after a lost answer
    kit.recover(child)
    lease = kit.claim(child)
    announced(kit, lease)
    announced(kit, after(lease), EffectState.COMPLETED, add=MODEL_CALL)
    lease = after(after(lease))
    kit.finish(lease, FinishTo.FAILED, Changes(), error="No.", recoverable=True)
    kit.send(child, SignalKind.RETRY)
    lease = kit.claim(child)
    announced(kit, lease)
    assert turns(kit, parent, child) == [2, 1]
    kit.finish(after(lease), FinishTo.NEXT)
    announced(kit, kit.claim(child))
    assert turns(kit, parent, child) == [3, 2]


def test_a_reset_begins_further_turns(kit: StoreKit) -> None:
    """What was taken before stays counted, like money that was spent."""
    parent, (child,) = parent_of(kit, "a")
    lease = kit.claim(child)
    announced(kit, lease)
    kit.finish(after(lease), FinishTo.FAILED, error="No.", recoverable=True)
    kit.send(child, SignalKind.RESET)
    lease = kit.claim(child)
    announced(kit, lease)
    assert turns(kit, parent, child) == [3, 2]
    spawning(kit, after(lease), "c")
    assert turns(kit, parent, child) == [3, 2]


def test_no_turn_begins_beyond_the_limit_of_a_task_above(kit: StoreKit) -> None:
    """Nothing is written, the lease stands, and it is told whose limit it is; who raises it lets it begin."""
    parent, (child,) = parent_of(kit, "a", limit=1)
    lease = kit.claim(child)
    before = kit.state()
    refused = announced(kit, lease)
    assert refused.verdict is CommitVerdict.NO_TURNS
    assert refused.used_up is not None
    assert (refused.used_up.task_id, refused.used_up.limit, refused.used_up.used) == (parent, 1, 1)
    assert kit.state() == before
    kit.send(parent, SignalKind.LIMIT, limits=LimitChange(max_tree_turns=2))
    assert announced(kit, lease).verdict is CommitVerdict.COMMITTED
    assert kit.store.get(parent).limits.max_tree_turns == 2


def test_a_turn_that_is_under_way_goes_on_at_the_limit(kit: StoreKit) -> None:
    """Also with another worker: it was counted."""
    _, (child,) = parent_of(kit, "a", limit=2)
    announced(kit, kit.claim(child))
    kit.recover(child)
    lease = kit.claim(child)
    assert announced(kit, lease).verdict is CommitVerdict.COMMITTED
    assert announced(kit, after(lease), EffectState.COMPLETED, add=MODEL_CALL).verdict is CommitVerdict.COMMITTED


def test_a_task_alone_may_have_such_a_limit(kit: StoreKit) -> None:
    """From create on; then its claims announce nothing, since a commit counts the turn."""
    task_id = f"task-{uuid.uuid4()}"
    spec = TaskSpec(task_id=task_id, name="n", prompt="Do it.", model="m", limits=Limits(max_tree_turns=1))
    kit.store.create(spec, "k")
    lease = kit.claim(task_id)
    announced(kit, lease)
    kit.finish(after(lease), FinishTo.NEXT, TURN_DONE)
    answer, lease = claimed(kit, task_id)
    assert (answer.verdict, answer.journal) == (ClaimVerdict.GRANTED, {})
    assert announced(kit, lease).verdict is CommitVerdict.NO_TURNS


def test_a_limit_that_is_set_later_counts_what_was_taken_before(kit: StoreKit) -> None:
    """Also the turn whose call a claim has announced."""
    task_id = between_turns(kit)
    _, lease = claimed(kit, task_id)
    assert kit.client.hexists(kit.keys.turn(task_id), MODEL_ENTRY)
    kit.send(task_id, SignalKind.LIMIT, limits=LimitChange(max_tree_turns=2))
    assert turns(kit, task_id) == [2]
    assert announced(kit, lease).verdict is CommitVerdict.COMMITTED
    assert turns(kit, task_id) == [2]
    kit.finish(after(lease), FinishTo.NEXT)
    assert announced(kit, kit.claim(task_id)).verdict is CommitVerdict.NO_TURNS


def test_a_person_makes_a_child_of_a_task_at_work(kit: StoreKit) -> None:
    """Its turns count from then on, with those before."""
    task_id = between_turns(kit)
    claimed(kit, task_id)
    kit.store.create(spec_of(task_id, "a"), "k")
    announced(kit, kit.claim(child_id(task_id, "a")))
    assert turns(kit, task_id) == [3]


def test_a_task_without_family_and_limit_counts_nothing(kit: StoreKit) -> None:
    """No field of it is written, and a claim announces its call as before."""
    task_id = between_turns(kit)
    answer, _ = claimed(kit, task_id)
    assert answer.journal[MODEL_ENTRY].request_id == REQUEST
    assert kit.client.hmget(kit.keys.task(task_id), "tree", "turns_below") == [None, None]
    assert turns(kit, task_id) == [1]


def test_what_is_no_call_of_the_model_takes_no_turn(kit: StoreKit) -> None:
    """A commit of a tool's start, in whatever turn."""
    _, (child,) = parent_of(kit, "a", limit=1)
    lease = kit.claim(child)
    entry = ToolEffect(key="t1", state=EffectState.STARTED, fence=lease.fence, tool="edit")
    assert kit.store.commit(lease, Changes(journal=(entry,))).verdict is CommitVerdict.COMMITTED
    assert turns(kit, child) == [0]


def test_children_that_race_take_no_turn_too_many(kit: StoreKit) -> None:
    """By threads that wait for each other: exactly as many begin as the limit has left."""
    parent, children = parent_of(kit, *(f"c{one}" for one in range(CHILDREN)), limit=1 + LIMIT)
    leases = [kit.claim(child) for child in children]
    together = Barrier(CHILDREN)

    def begins(lease: Lease) -> bool:
        together.wait()
        return announced(kit, lease).verdict is CommitVerdict.COMMITTED

    with ThreadPoolExecutor(CHILDREN) as threads:
        begun = sum(threads.map(begins, leases))
    assert (begun, turns(kit, parent)) == (LIMIT, [1 + LIMIT])
    assert {kit.status(child) for child in children} == {Status.RUNNING}

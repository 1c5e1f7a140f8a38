"""claude-code#69578, nodetool#5489: subtasks got fresh allowances, and nothing left was read as no limit."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

from neuraphage.decide.children import child_id
from neuraphage.decide.limits import limit_reached
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import TaskSpec
from neuraphage.ports import Changes, ChildChanges, CommitVerdict, Lease, SignalKind, SuspendTo
from storekit import StoreKit

CHILDREN, POOL, CALL = 20, 1_000_000, 90_000


def children_of(kit: StoreKit, pool: int) -> tuple[str, list[str]]:
    """A task with so much money, and twenty subtasks of it that wait for a worker."""
    parent, lease = kit.running()
    kit.send(parent, SignalKind.LIMIT, limits=LimitChange(max_cost_microusd=pool))
    specs = [
        TaskSpec(
            task_id=child_id(parent, f"c{one}"), name="c", prompt="Do it.", model="m", parent_id=parent, depth=1,
            limits=Limits(max_cost_microusd=pool),
        )
        for one in range(CHILDREN)
    ]  # fmt: skip
    new = tuple((spec, ChildWait.ALL) for spec in specs)
    kit.suspend(lease, SuspendTo.SUBTASKS, Changes(children=ChildChanges(new=new)), detail={"resource": "them"})
    return parent, [spec.task_id for spec in specs]


def spends(kit: StoreKit, lease: Lease) -> None:
    """Calls of one subtask until it gets no money: it asks again while others hold some."""
    while True:
        begun = kit.store.commit(lease, Changes(reserve_microusd=CALL))
        if begun.shortage is not None and begun.shortage.is_exhausted:
            return
        if begun.verdict is not CommitVerdict.COMMITTED:
            continue
        lease = replace(lease, token=lease.token + 1)
        spent = {"cost_microusd": CALL, "model_calls": 1}
        kit.store.commit(lease, Changes(add=spent, spent={"m": spent}, reserve_microusd=0, outcome=True))
        lease = replace(lease, token=lease.token + 1)


def test_twenty_subtasks_that_race_one_pool_exceed_it_by_one_call_at_most(kit: StoreKit) -> None:
    """By threads, until none gets anything: the sum of what they cost is that of the tree."""
    parent, children = children_of(kit, POOL)
    leases = [kit.claim(child) for child in children]
    together = Barrier(CHILDREN)

    def race(lease: Lease) -> None:
        together.wait()
        spends(kit, lease)

    with ThreadPoolExecutor(CHILDREN) as threads:
        list(threads.map(race, leases))
    total = sum(kit.store.get(child).counters.cost_microusd for child in children)
    assert POOL <= total < POOL + CALL
    assert kit.store.get(parent).below_microusd == total


def test_a_death_while_money_is_reserved_gives_it_back_when_the_call_is_over(kit: StoreKit) -> None:
    """The dead one's reservation stands while its call may cost something, and goes with the end of its task."""
    _, (first, second, *_) = children_of(kit, POOL)
    kit.store.commit(kit.claim(first), Changes(reserve_microusd=POOL))
    kit.recover(first)
    lease = kit.claim(second)
    assert kit.store.commit(lease, Changes(reserve_microusd=CALL)).verdict is CommitVerdict.NO_MONEY
    kit.send(first, SignalKind.CANCEL)
    assert kit.store.commit(lease, Changes(reserve_microusd=CALL)).verdict is CommitVerdict.COMMITTED


def test_nothing_left_is_no_limit_less(kit: StoreKit) -> None:
    """A limit of nothing stops the tree before its first call."""
    parent, (first, *_) = children_of(kit, 0)
    refused = kit.store.commit(kit.claim(first), Changes(reserve_microusd=1))
    assert refused.verdict is CommitVerdict.NO_MONEY
    assert refused.shortage is not None
    assert (refused.shortage.of_task, refused.shortage.is_exhausted) in {(parent, True), (first, True)}
    assert limit_reached(kit.store.get(first)) is not None

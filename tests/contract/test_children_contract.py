"""Children: made by the write that gives the parent's lease back, told of by the write that ends them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from eventkit import stored_events
from neuraphage.decide.children import child_id
from neuraphage.errors import BadInput, CircularDependency, IllegalMove, TaskNotFound
from neuraphage.model.dependency import Dependency, DependencyState
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.message import Entry
from neuraphage.model.subtask import ChildWait, OnParentEnd
from neuraphage.model.task import CancelledDetail, Status, TaskSpec
from neuraphage.ports import (
    Changes,
    ChildChanges,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    Lease,
    SignalKind,
    SignalVerdict,
    SuspendTo,
)
from storekit import MODEL_CALL, StoreKit, question

ALL, ANY, NONE = ChildWait.ALL, ChildWait.ANY, ChildWait.LATER
BLOCKED, QUEUED, OUTBOX = (Status.BLOCKED, "waits"), (Status.QUEUED, "outbox"), (Status.RUNNING, "outbox")
CALL_COST = {"model_calls": 1, "cost_microusd": 60}


def spec_of(parent: str, name: str, **fields: object) -> TaskSpec:
    """A child of a task."""
    given = {"name": name, "prompt": f"Do {name}.", "model": "m", "parent_id": parent, "depth": 1, **fields}
    return TaskSpec(task_id=child_id(parent, name), **given)  # type: ignore[arg-type]  # fields of a spec


def stands(kit: StoreKit, task_id: str) -> tuple[Status, str]:
    return kit.status(task_id), kit.place(task_id)


def spawning(parent: str, *names: str, wait: ChildWait = ALL, **fields: object) -> Changes:
    """The changes of a turn that makes children."""
    return Changes(children=ChildChanges(new=tuple((spec_of(parent, name, **fields), wait) for name in names)))


def parent_of(kit: StoreKit, *names: str, wait: ChildWait = ALL, **fields: object) -> tuple[str, list[str]]:
    """A task that has made children, and these."""
    parent, lease = kit.running()
    kit.suspend(lease, SuspendTo.SUBTASKS, spawning(parent, *names, wait=wait, **fields), detail={"resource": "them"})
    return parent, [child_id(parent, name) for name in names]


def awaiting(kit: StoreKit, parent: str, wait: ChildWait, *children: str) -> Lease:
    """The parent claims and waits."""
    lease = kit.claim(parent)
    awaited = Changes(children=ChildChanges(awaited=tuple((child, wait) for child in children)))
    kit.suspend(lease, SuspendTo.SUBTASKS, awaited)
    return lease


def test_children_are_made_by_the_write_that_gives_the_lease_back(kit: StoreKit) -> None:
    """With messages to send; the parent holds nothing, and a repeat of the write makes nothing."""
    parent, lease = kit.running()
    changes = spawning(parent, "a", "b")
    settled = kit.suspend(lease, SuspendTo.SUBTASKS, changes, detail={"resource": "2 subtasks"})
    children = [child_id(parent, "a"), child_id(parent, "b")]
    assert [turn.task_id for turn in settled.woken] == children
    assert stands(kit, parent) == BLOCKED
    told = [event.data for event in stored_events(kit.store.context) if event.kind == "SubtaskSpawned"]
    assert told == [{"child": child, "name": name} for child, name in zip(children, "ab", strict=True)]
    assert [stands(kit, child) for child in children] == [QUEUED, QUEUED]
    record = kit.store.get(parent)
    assert [(one.task_id, one.wait, one.state) for one in record.children] == [
        (child, ALL, DependencyState.OPEN) for child in children
    ]
    before = kit.state()
    again = kit.suspend(lease, SuspendTo.SUBTASKS, changes, detail={"resource": "2 subtasks"})
    assert (again.status, kit.state()) == (Status.BLOCKED, before)
    assert kit.try_claim(children[0]).verdict is ClaimVerdict.GRANTED


def test_a_stale_parent_makes_no_children(kit: StoreKit) -> None:
    """Its lease was taken away: nothing of the write is there."""
    parent, lease = kit.running()
    kit.recover(parent)
    changes = spawning(parent, "a")
    assert kit.suspend(lease, SuspendTo.SUBTASKS, changes).verdict is CommitVerdict.STALE
    assert kit.client.exists(kit.keys.task(child_id(parent, "a"))) == 0


def test_a_child_that_is_there_is_not_made_again(kit: StoreKit) -> None:
    """A turn that is repeated after a lost answer finds it as it stands."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    kit.claim(child)
    lease = kit.claim(parent)
    kit.suspend(lease, SuspendTo.SUBTASKS, spawning(parent, "a"))
    assert kit.status(child) is Status.RUNNING
    assert len(kit.store.get(parent).children) == 1


@pytest.mark.parametrize("end", [Status.COMPLETED, Status.FAILED, Status.CANCELLED])
def test_the_end_of_a_child_tells_its_parent(kit: StoreKit, end: Status) -> None:
    """Status, words, turns and cost, in the write that ends it; the last one of several releases."""
    parent, (first, second) = parent_of(kit, "a", "b")
    kit.end(first, end)
    assert stands(kit, parent) == BLOCKED
    assert set(kit.store.get(parent).outcomes) == {first}
    ended = kit.end(second, end)
    assert [turn.task_id for turn in ended.woken] == [parent]
    assert stands(kit, parent) == QUEUED
    record = kit.store.get(parent)
    assert [one.state.value for one in record.children] == [end.value] * 2
    assert [one.wait for one in record.children] == [NONE, NONE]
    words = {Status.COMPLETED: "Done.", Status.FAILED: "No.", Status.CANCELLED: ""}
    assert record.outcomes[second].text == words[end]


def test_one_of_any_is_enough(kit: StoreKit) -> None:
    """The others work on, and tell their parent also while a worker has it."""
    parent, (first, second) = parent_of(kit, "a", "b", wait=NONE)
    assert stands(kit, parent) == OUTBOX
    awaiting(kit, parent, ANY, first, second)
    assert stands(kit, parent) == BLOCKED
    kit.end(second, Status.COMPLETED)
    assert stands(kit, parent) == QUEUED
    lease = kit.claim(parent)
    kit.end(first, Status.COMPLETED)
    assert kit.status(parent) is Status.RUNNING
    assert set(kit.store.get(parent).outcomes) == {first, second}
    awaited = Changes(children=ChildChanges(awaited=((first, ALL),), taken=(second,)))
    assert kit.suspend(lease, SuspendTo.SUBTASKS, awaited).place == "outbox"
    assert set(kit.store.get(parent).outcomes) == {first}


def test_the_outcome_outlives_the_child(kit: StoreKit) -> None:
    """It stands with the parent, which may be paused for longer than an ended task is kept."""
    parent, (child,) = parent_of(kit, "a")
    lease = kit.claim(child)
    kit.send(parent, SignalKind.PAUSE)
    kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    assert kit.store.delete(child, force=True)
    kit.send(parent, SignalKind.RESUME)
    assert stands(kit, parent) == QUEUED
    assert kit.store.get(parent).outcomes[child].text == "Done."


def test_a_paused_parent_waits_on_when_it_is_resumed(kit: StoreKit) -> None:
    """Its child is not over."""
    parent, (child,) = parent_of(kit, "a")
    kit.send(parent, SignalKind.PAUSE)
    kit.send(parent, SignalKind.RESUME)
    assert stands(kit, parent) == BLOCKED
    kit.end(child, Status.COMPLETED)
    assert stands(kit, parent) == QUEUED


def test_a_pause_that_came_before_the_write_makes_the_children_too(kit: StoreKit) -> None:
    """Else the journal would tell of children that there are not."""
    parent, lease = kit.running()
    kit.send(parent, SignalKind.PAUSE)
    assert kit.suspend(lease, SuspendTo.SUBTASKS, spawning(parent, "a")).status is Status.PAUSED
    assert kit.field(child_id(parent, "a"), "parent") == parent
    assert kit.status(child_id(parent, "a")) is Status.PAUSED
    kit.send(parent, SignalKind.RESUME)
    assert stands(kit, parent) == BLOCKED


def test_the_poll_finds_a_child_whose_end_was_lost(kit: StoreKit) -> None:
    """What a server has lost with its tail."""
    parent, (child,) = parent_of(kit, "a")
    kit.end(child, Status.COMPLETED)
    kit.client.hset(kit.keys.task(parent), mapping={"status": "Blocked", "children": f"{child} all open"})
    kit.client.hdel(kit.keys.task(parent), f"r:{child}")
    for zset, other in (
        (kit.keys.outbox, kit.keys.waits),
        (kit.keys.status(Status.QUEUED), kit.keys.status(Status.BLOCKED)),
    ):
        kit.client.zrem(zset, parent)
        kit.client.zadd(other, {parent: 1})
    assert kit.store.fire(parent, "waits") is not None
    assert stands(kit, parent) == QUEUED
    assert kit.store.get(parent).outcomes[child].text == "Done."


@pytest.mark.parametrize("how", OnParentEnd)
def test_the_end_of_a_parent_reaches_its_children(kit: StoreKit, how: OnParentEnd) -> None:
    """Cancelled where they stand, under a flag where they run; an orphan goes on by itself."""
    parent, (waits, runs) = parent_of(kit, "a", "b", wait=NONE, on_parent_end=how)
    lease = kit.claim(runs)
    kit.end(parent, Status.COMPLETED)
    if how is OnParentEnd.ORPHAN:
        assert (kit.status(waits), kit.status(runs)) == (Status.QUEUED, Status.RUNNING)
        assert kit.field(runs, "parent") is None
        return
    detail = kit.store.get(waits).detail
    assert isinstance(detail, CancelledDetail)
    assert detail.reason == f"its parent {parent} is Completed"
    assert kit.store.get(runs).cancel_requested
    assert kit.suspend(lease, SuspendTo.SHUTDOWN).verdict is CommitVerdict.CANCELLED


def test_a_cancel_goes_down_the_tree(kit: StoreKit) -> None:
    """Children of children too, in one write."""
    parent, (child,) = parent_of(kit, "a")
    lease = kit.claim(child)
    kit.suspend(lease, SuspendTo.SUBTASKS, spawning(child, "b"))
    kit.send(parent, SignalKind.CANCEL)
    assert [kit.status(one) for one in (parent, child, child_id(child, "b"))] == [Status.CANCELLED] * 3


def test_what_is_spent_counts_for_all_above(kit: StoreKit) -> None:
    """So do reservations of calls under way; an end gives them back."""
    parent, (child,) = parent_of(kit, "a", limits=Limits(max_turns=5, max_cost_microusd=100))
    lease = kit.claim(child)
    kit.suspend(lease, SuspendTo.SUBTASKS, spawning(child, "b"))
    below = child_id(child, "b")
    lease = kit.claim(below)
    assert kit.store.commit(lease, Changes(reserve_microusd=70)).verdict is CommitVerdict.COMMITTED
    assert [kit.number(one, "held_below") for one in (parent, child, below)] == [70, 70, 0]
    lease = replace(lease, token=lease.token + 1)
    kit.store.commit(lease, Changes(add=CALL_COST, reserve_microusd=0))
    assert [kit.number(one, "held_below") for one in (parent, child)] == [0, 0]
    assert [kit.number(one, "below") for one in (parent, child, below)] == [60, 60, 0]
    lease = replace(lease, token=lease.token + 1)
    kit.store.commit(lease, Changes(reserve_microusd=10))
    kit.recover(below)
    kit.send(below, SignalKind.CANCEL)
    assert [kit.number(one, "held_below") for one in (parent, child)] == [0, 0]


def test_a_call_has_no_room_where_one_above_has_none(kit: StoreKit) -> None:
    """Beside the call of a sibling it waits; a pool that is used up is told with the task whose limit it is."""
    parent, (first, second) = parent_of(kit, "a", "b")
    kit.send(parent, SignalKind.LIMIT, limits=LimitChange(max_turns=None, max_cost_microusd=100))
    one, two = kit.claim(first), kit.claim(second)
    assert kit.store.commit(one, Changes(reserve_microusd=90)).verdict is CommitVerdict.COMMITTED
    refused = kit.store.commit(two, Changes(reserve_microusd=20))
    assert refused.verdict is CommitVerdict.NO_MONEY
    assert refused.shortage is not None
    assert (refused.shortage.of_task, refused.shortage.is_exhausted) == (parent, False)
    kit.store.commit(
        replace(one, token=one.token + 1), Changes(add={**CALL_COST, "cost_microusd": 100}, reserve_microusd=0)
    )
    refused = kit.store.commit(two, Changes(reserve_microusd=20))
    assert refused.shortage is not None
    assert refused.shortage.is_exhausted


def test_a_person_makes_a_child(kit: StoreKit) -> None:
    """Its parent, which does not wait for it, is told of its end; who is over, full or gone takes none."""
    parent = kit.create()
    spec = spec_of(parent, "a")
    assert kit.store.create(spec, "k")[:2] == (True, spec.task_id)
    assert kit.store.create(spec, "k")[:2] == (False, spec.task_id)
    assert [(one.task_id, one.wait) for one in kit.store.get(parent).children] == [(spec.task_id, NONE)]
    kit.end(spec.task_id, Status.COMPLETED)
    assert kit.store.get(parent).outcomes[spec.task_id].text == "Done."
    assert "max_children" in refusal(kit.under(max_children=1), spec_of(parent, "b"), BadInput)
    kit.end(parent, Status.COMPLETED)
    assert "is over" in refusal(kit, spec_of(parent, "c"), IllegalMove)
    nobody = "task-00000000-0000-0000-0000-00000000dead"
    assert "to be the parent" in refusal(kit, spec_of(nobody, "d"), TaskNotFound)


def refusal(kit: StoreKit, spec: TaskSpec, error: type[Exception]) -> str:
    """What is said of a child that is not made; empty where it was made."""
    try:
        kit.store.create(spec, f"key-{spec.task_id}")
    except error as refused:
        return str(refused)
    return ""


def test_a_retried_parent_is_told_of_the_children_that_ended_with_it(kit: StoreKit) -> None:
    """It does not wait for what was cancelled."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    kit.finish(kit.claim(parent), FinishTo.FAILED, Changes(add=MODEL_CALL), error="No.", recoverable=True)
    assert kit.status(child) is Status.CANCELLED
    kit.send(parent, SignalKind.RETRY)
    awaiting(kit, parent, ALL, child)
    assert kit.place(parent) == "outbox"
    assert kit.store.get(parent).outcomes[child].state is DependencyState.CANCELLED


@pytest.mark.parametrize("kind", [SignalKind.RETRY, SignalKind.RESET, SignalKind.INPUT, SignalKind.RETRY_REPLY])
@pytest.mark.parametrize("is_late", [False, True], ids=["with its parent", "later"])
def test_who_is_led_back_to_work_knows_of_children_that_ended_meanwhile(
    kit: StoreKit, kind: SignalKind, is_late: bool
) -> None:
    """Whose end nobody could tell it of: by then it was over itself. It waits for none of them."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    lease = kit.claim(child) if is_late else None
    to = FinishTo.FAILED if kind in (SignalKind.RETRY, SignalKind.RESET) else FinishTo.COMPLETED
    said = Changes(
        add=MODEL_CALL, entries=(Entry(role="assistant", content=[{"type": "text", "text": "Done."}], turn=0),)
    )
    kit.finish(kit.claim(parent), to, said, error="No.", recoverable=True, summary="Done.")
    if lease is not None:
        kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert kit.send(parent, kind, text="go on").verdict.value == "ACCEPTED"
    kit.check()
    record = kit.store.get(parent)
    assert [(one.wait, one.state) for one in record.children] == [(NONE, DependencyState.CANCELLED)]
    assert record.outcomes[child].state is DependencyState.CANCELLED


def test_a_child_waits_for_none_of_those_above_it(kit: StoreKit) -> None:
    """Its parent may wait for it, and its end would cancel it: the circle is refused, and shown."""
    grand, (parent,) = parent_of(kit, "p")
    kit.suspend(kit.claim(parent), SuspendTo.SUBTASKS, spawning(parent, "a"))
    child, other = child_id(parent, "a"), kit.after(grand)
    for on, path in {
        parent: (parent, child),
        grand: (grand, parent, child),
        other: (other, grand, parent, child),
    }.items():
        refused = kit.depend(child, on)
        assert (refused.verdict, refused.cycle) == (SignalVerdict.CYCLE, path)
    assert kit.depend(child, kit.create()).verdict is SignalVerdict.ACCEPTED


def test_a_child_is_not_made_that_waits_for_those_above_it(kit: StoreKit) -> None:
    """Neither for its parent nor for one that waits for that; there is no such task after it."""
    parent = kit.create()
    for awaited in (parent, kit.after(parent)):
        spec = spec_of(parent, "a", blocked_by=(Dependency(task_id=awaited),))
        assert "waits for the parent" in refusal(kit, spec, CircularDependency)
        assert kit.client.exists(kit.keys.task(spec.task_id)) == 0
    kit.store.create(spec_of(parent, "b", blocked_by=(Dependency(task_id=kit.create()),)), "k")
    last = kit.create()
    for _ in range(10):
        last = kit.after(last)
    many = spec_of(parent, "c", blocked_by=(Dependency(task_id=last),))
    assert "graph_walk_max" in refusal(kit.under(graph_walk_max=10), many, BadInput)


def test_a_child_is_told_of_by_its_own_end(kit: StoreKit) -> None:
    """Each by the write that ends it, also where the state of another one was missed before."""
    parent, (first, second) = parent_of(kit, "a", "b", wait=NONE)
    kit.end(first, Status.COMPLETED)
    kit.client.hset(kit.keys.task(parent), "children", f"{first} later open\n{second} later open")
    kit.end(second, Status.COMPLETED)
    states = {one.task_id: one.state for one in kit.store.get(parent).children}
    assert states == {first: DependencyState.OPEN, second: DependencyState.COMPLETED}
    kit.broken_on_purpose = True


def test_a_parent_that_is_over_is_left_as_it_is(kit: StoreKit) -> None:
    """The end of a child that was cancelled with it writes nothing there."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    lease = kit.claim(child)
    kit.end(parent, Status.COMPLETED)
    before = kit.client.hgetall(kit.keys.task(parent))
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    assert kit.status(child) is Status.CANCELLED
    assert kit.client.hgetall(kit.keys.task(parent)) == before


def test_a_lock_is_waited_for_on(kit: StoreKit) -> None:
    """A task that waits for something else is not put to work by the end of a child."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    kit.suspend(kit.claim(parent), SuspendTo.BLOCKED, detail={"resource": "file:a"})
    kit.end(child, Status.COMPLETED)
    assert stands(kit, parent) == BLOCKED
    assert set(kit.store.get(parent).outcomes) == {child}


def test_an_orphan_takes_its_reservation_along(kit: StoreKit) -> None:
    """Nothing stays reserved above it when it goes on by itself."""
    grand, (parent,) = parent_of(kit, "p", wait=NONE)
    lease = kit.claim(parent)
    kit.suspend(lease, SuspendTo.SUBTASKS, spawning(parent, "a", wait=NONE, on_parent_end=OnParentEnd.ORPHAN))
    child = child_id(parent, "a")
    kit.store.commit(kit.claim(child), Changes(reserve_microusd=30))
    assert kit.number(grand, "held_below") == 30
    kit.end(parent, Status.COMPLETED)
    assert [kit.number(one, "held_below") for one in (grand, parent)] == [0, 0]
    assert kit.number(child, "reserved") == 30


def test_a_tree_at_its_limit_is_not_led_back_to_work(kit: StoreKit) -> None:
    """What children have spent counts as spent."""
    parent, (child,) = parent_of(kit, "a", wait=NONE)
    kit.store.commit(kit.claim(child), Changes(add=CALL_COST))
    kit.send(parent, SignalKind.PAUSE)
    kit.send(parent, SignalKind.LIMIT, limits=LimitChange(max_turns=None, max_cost_microusd=60))
    assert kit.send(parent, SignalKind.RESUME).verdict.value == "AT_LIMIT"


def test_a_pause_goes_down_and_a_resume_too(kit: StoreKit) -> None:
    """Who has a lease finds a flag; a child that a person has paused stays so."""
    parent, (waits, runs, asks, other) = parent_of(kit, "a", "b", "c", "d")
    kit.suspend(kit.claim(waits), SuspendTo.SUBTASKS, spawning(waits, "below"))
    below = child_id(waits, "below")
    lease = kit.claim(runs)
    kit.suspend(kit.claim(asks), SuspendTo.WAIT, Changes(prompts_opened=(question(),)))
    kit.send(other, SignalKind.PAUSE)
    kit.send(parent, SignalKind.PAUSE)
    assert [kit.status(one) for one in (waits, below, asks, other)] == [Status.PAUSED] * 4
    assert kit.suspend(lease, SuspendTo.PAUSE).status is Status.PAUSED
    woken = kit.send(parent, SignalKind.RESUME).woken
    assert {turn.task_id for turn in woken} == {below, runs}
    stood = [kit.status(one) for one in (parent, waits, below, runs, asks, other)]
    blocked, queued = Status.BLOCKED, Status.QUEUED
    assert stood == [blocked, blocked, queued, queued, Status.WAITING_FOR_USER, Status.PAUSED]


def test_a_pause_that_no_worker_has_seen_is_taken_back_from_children(kit: StoreKit) -> None:
    """The flag goes with the resume; one of a person stays."""
    parent, (one, two) = parent_of(kit, "a", "b")
    kit.claim(one)
    kit.claim(two)
    kit.send(two, SignalKind.PAUSE)
    kit.send(parent, SignalKind.PAUSE)
    kit.send(parent, SignalKind.RESUME)
    assert [kit.store.get(child).pause_requested for child in (one, two)] == [False, True]

"""Dependencies: who waits for a task is released, skipped or held in the script that ends it; no circle is closed."""

from __future__ import annotations

import contextlib

import pytest

from neuraphage.errors import BadInput, StoreError, TaskNotFound
from neuraphage.model.dependency import Dependency, DependencyState, OnFailure
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import CancelledDetail, StartedReason, Status, TaskSpec
from neuraphage.ports import Changes, ClaimVerdict, FinishTo, NextTurn, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import invariant
from neuraphage.store.edges import dependants
from neuraphage.store.repair import examine
from storekit import MODEL_CALL, StoreKit

BLOCK, SKIP, GO_ON = OnFailure
FAILURES = (Status.FAILED, Status.CANCELLED)
NOBODY = "task-00000000-0000-0000-0000-00000000dead"


def states(kit: StoreKit, task_id: str) -> list[str]:
    """Of the tasks that one waits for, as its record has them."""
    return [edge.state.value for edge in kit.store.get(task_id).dependencies]


def refusal(kit: StoreKit, awaited: str, error: type[Exception]) -> str:
    """What is said of a task that was to wait for this one; empty where it was made."""
    try:
        kit.after(awaited)
    except error as refused:
        return str(refused)
    return ""


def stands(kit: StoreKit, task_id: str) -> tuple[Status, str]:
    return kit.status(task_id), kit.place(task_id)


BLOCKED, QUEUED, OVER = (Status.BLOCKED, "waits"), (Status.QUEUED, "outbox"), (Status.CANCELLED, "")


def test_a_task_that_waits_is_blocked_from_its_create_on(kit: StoreKit) -> None:
    """It has never been in the outbox, no message of its create can claim it, and its create can be repeated."""
    first = kit.create()
    second = kit.after(first)
    assert stands(kit, second) == BLOCKED
    assert kit.try_claim(second).verdict is ClaimVerdict.NOT_RUNNABLE
    assert dependants(kit.store.context, first, 9) == [second]
    spec = kit.store.get(second).spec
    assert kit.store.create(spec, f"key-{second}")[:2] == (False, second)
    assert spec.blocked_by == (Dependency(task_id=first),)


@pytest.mark.parametrize("rule", OnFailure)
def test_the_end_of_the_last_one_releases(kit: StoreKit, rule: OnFailure) -> None:
    """In the write that ends it, once: with a message to send, and with what the next worker is told."""
    first, second = kit.create(), kit.create()
    waiting = kit.after(first, second, on_failure=rule)
    kit.end(first, Status.COMPLETED)
    assert stands(kit, waiting) == BLOCKED
    lease = kit.claim(second)
    ended = kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    assert ended.woken == (NextTurn(waiting, 2, 0),)
    assert stands(kit, waiting) == QUEUED
    record = kit.store.get(waiting)
    assert record.started_reason is StartedReason.UNBLOCKED
    assert states(kit, waiting) == ["Completed", "Completed"]
    before = kit.state()
    again = kit.store.finish(lease, Changes(add=MODEL_CALL), FinishTo.COMPLETED, 0, {"summary": "Done."})
    assert (again.status, kit.state()) == (Status.COMPLETED, before)
    assert kit.try_claim(waiting).verdict is ClaimVerdict.GRANTED


@pytest.mark.parametrize("end", FAILURES)
@pytest.mark.parametrize(("rule", "then"), [(BLOCK, BLOCKED), (SKIP, OVER), (GO_ON, QUEUED)], ids=str)
def test_what_a_failure_means_is_a_matter_of_the_edge(
    kit: StoreKit, end: Status, rule: OnFailure, then: tuple[Status, str]
) -> None:
    """Block waits on, skip is cancelled too and says why, go_on begins."""
    first = kit.create()
    waiting = kit.after(first, on_failure=rule)
    woken = kit.end(first, end).woken
    assert stands(kit, waiting) == then
    assert states(kit, waiting) == [end.value]
    assert [turn.task_id for turn in woken] == ([waiting] if rule is GO_ON else [])
    detail = kit.store.get(waiting).detail
    if isinstance(detail, CancelledDetail):
        assert detail.reason == f"skipped, since {first} is {end.value}"


def test_skipping_goes_down_the_graph(kit: StoreKit) -> None:
    """Who is skipped ends too: whoever waits for it is skipped, waits on or begins, in the same write."""
    first = kit.create()
    skipped = kit.after(first, on_failure=SKIP)
    below = kit.after(skipped, on_failure=SKIP)
    held, going = kit.after(below), kit.after(below, on_failure=GO_ON)
    woken = kit.end(first, Status.FAILED).woken
    assert [stands(kit, one) for one in (skipped, below, held, going)] == [OVER, OVER, BLOCKED, QUEUED]
    assert [turn.task_id for turn in woken] == [going]


def test_one_that_is_skipped_twice_ends_once(kit: StoreKit) -> None:
    """Two that it waits for end in the same write."""
    first = kit.create()
    sides = [kit.after(first, on_failure=SKIP) for _ in range(2)]
    below = kit.after(*sides, on_failure=SKIP)
    kit.end(first, Status.FAILED)
    assert stands(kit, below) == OVER
    assert [row[1][b"k"] for row in kit.client.xrange(kit.keys.events(below))].count(b"TaskCancelled") == 1


def test_a_chain_of_any_length_is_skipped(kit: StoreKit) -> None:
    """One after the other, not one within the other: Lua calls itself so often only."""
    first = kit.create()
    last = first
    for _ in range(300):
        last = kit.after(last, on_failure=SKIP)
    kit.end(first, Status.CANCELLED)
    assert stands(kit, last) == OVER


def test_each_way_to_end_releases(kit: StoreKit) -> None:
    """Whatever script ends it: finish, suspend, recover, cancel at once, under a lease and at a claim, and repair."""

    def recovered(task_id: str) -> object:
        kit.claim(task_id)
        kit.client.hset(kit.keys.task(task_id), "recoveries", 9)
        return kit.recover(task_id).woken

    def flagged(task_id: str) -> object:
        lease = kit.claim(task_id)
        kit.send(task_id, SignalKind.CANCEL)
        return kit.suspend(lease, SuspendTo.SHUTDOWN).woken

    def poisoned(task_id: str) -> object:
        return kit.suspend(kit.claim(task_id), SuspendTo.POISONED, detail={"error": "No.", "recoverable": False}).woken

    def gone_on(task_id: str) -> object:
        return kit.go_on(kit.claim(task_id), FinishTo.COMPLETED, summary="Done.").settled.woken

    ways = (
        recovered,
        flagged,
        poisoned,
        gone_on,
        *(lambda t, s=s: kit.end(t, s).woken for s in (*FAILURES, Status.COMPLETED)),
    )
    for way in ways:
        first = kit.create()
        waiting = kit.after(first, on_failure=GO_ON)
        assert way(first) == (NextTurn(waiting, 2, 0),)
        assert stands(kit, waiting) == QUEUED


def test_a_claim_that_ends_a_task_releases(kit: StoreKit) -> None:
    """A cancel flag that no lease has seen ends the task with its next claim."""
    first = kit.create()
    waiting = kit.after(first, on_failure=GO_ON)
    kit.client.hset(kit.keys.task(first), "cancel", 1)
    assert kit.try_claim(first).verdict is ClaimVerdict.NOT_RUNNABLE
    assert stands(kit, waiting) == QUEUED


def test_a_failed_one_that_is_retried_and_completes_releases(kit: StoreKit) -> None:
    """Who waits on has not been forgotten."""
    first = kit.create()
    waiting = kit.after(first)
    kit.end(first, Status.FAILED)
    assert stands(kit, waiting) == BLOCKED
    kit.send(first, SignalKind.RETRY)
    assert kit.end(first, Status.COMPLETED).woken == (NextTurn(waiting, 2, 0),)
    assert stands(kit, waiting) == QUEUED


def test_a_completed_one_that_goes_on_takes_nothing_back(kit: StoreKit) -> None:
    """Who was released is at work, whatever becomes of the conversation it had waited for."""
    first = kit.create()
    waiting = kit.after(first)
    kit.end(first, Status.COMPLETED)
    kit.send(first, SignalKind.INPUT, text="more")
    kit.end(first, Status.CANCELLED)
    assert stands(kit, waiting) == QUEUED
    assert states(kit, waiting) == ["Completed"]


def test_what_was_completed_once_counts_as_that(kit: StoreKit) -> None:
    """Its conversation goes on and is cancelled, while the other one is still waited for, and the poll has looked."""
    first, second = kit.create(), kit.create()
    waiting = kit.after(first, second)
    kit.end(first, Status.COMPLETED)
    kit.send(first, SignalKind.INPUT, text="more")
    kit.end(first, Status.CANCELLED)
    assert kit.store.fire(waiting, "blocked") is None
    kit.end(second, Status.COMPLETED)
    assert stands(kit, waiting) == QUEUED


@pytest.mark.parametrize(
    ("end", "rule", "then"),
    [
        (Status.COMPLETED, BLOCK, QUEUED), (Status.FAILED, BLOCK, BLOCKED), (Status.FAILED, GO_ON, QUEUED),
        (Status.CANCELLED, SKIP, OVER),
    ],
)  # fmt: skip
@pytest.mark.parametrize("later", [False, True])
def test_one_that_is_over_is_no_exception(
    kit: StoreKit, end: Status, rule: OnFailure, then: tuple[Status, str], later: bool
) -> None:
    """Whether it ended before the create or the dependency, or after it, comes to the same."""
    first = kit.put(end)
    waiting = kit.create() if later else kit.after(first, on_failure=rule)
    if later:
        kit.depend(waiting, first, rule)
    assert stands(kit, waiting) == then


@pytest.mark.parametrize("paused", [False, True])
def test_a_dependency_is_added_and_taken_away(kit: StoreKit, paused: bool) -> None:
    """A queued task is Blocked at once, a paused one once it is resumed; the last one taken away lets it begin."""
    first, second, task = kit.create(), kit.create(), kit.create()
    if paused:
        kit.send(task, SignalKind.PAUSE)
    for on in (first, second):
        assert kit.depend(task, on).verdict is SignalVerdict.ACCEPTED
    if paused:
        assert stands(kit, task) == (Status.PAUSED, "waits")
        kit.send(task, SignalKind.RESUME)
    assert stands(kit, task) == BLOCKED
    kit.undepend(task, first)
    assert stands(kit, task) == BLOCKED
    sent = kit.undepend(task, second)
    assert (sent.status, sent.place, stands(kit, task)) == (Status.QUEUED, "outbox", QUEUED)
    assert kit.try_claim(task).verdict is ClaimVerdict.GRANTED
    assert kit.store.get(task).dependencies == ()
    kinds = [row[1][b"k"] for row in kit.client.xrange(kit.keys.events(task))]
    assert [kinds.count(kind) for kind in (b"DependencyAdded", b"DependencyRemoved")] == [2, 2]


def test_a_paused_task_is_no_exception(kit: StoreKit) -> None:
    """What it waits for ends meanwhile: it stays paused, is skipped, or begins with its resumption."""
    first, other = kit.create(), kit.create()
    waiting, skipped = kit.after(first), kit.after(other, on_failure=SKIP)
    for task in (waiting, skipped):
        kit.send(task, SignalKind.PAUSE)
    kit.end(first, Status.COMPLETED)
    kit.end(other, Status.FAILED)
    assert stands(kit, waiting) == (Status.PAUSED, "waits")
    assert stands(kit, skipped) == OVER
    kit.send(waiting, SignalKind.RESUME)
    assert stands(kit, waiting) == QUEUED


def test_the_last_word_about_an_edge_holds(kit: StoreKit) -> None:
    """Added once more, it is the same edge with another rule."""
    first = kit.create()
    waiting = kit.after(first)
    kit.depend(waiting, first, GO_ON)
    assert kit.store.get(waiting).dependencies[0].on_failure is GO_ON
    kit.end(first, Status.FAILED)
    assert stands(kit, waiting) == QUEUED


def test_a_circle_is_refused_and_shown(kit: StoreKit) -> None:
    """As the way from the task that was to be waited for to the one that was to wait; nothing is changed."""
    first = kit.create()
    second = kit.after(first)
    third = kit.after(second)
    before = kit.state()
    for on, path in ((third, (third, second, first)), (first, (first,))):
        sent = kit.depend(first, on)
        assert (sent.verdict, sent.cycle) == (SignalVerdict.CYCLE, path)
    assert kit.state() == before


def test_edges_that_hold_nobody_up_close_no_circle(kit: StoreKit) -> None:
    """What has ended is waited for no more."""
    first = kit.create()
    second = kit.after(first, on_failure=GO_ON)
    kit.end(first, Status.FAILED)
    kit.send(first, SignalKind.RETRY)
    assert kit.depend(first, second).verdict is SignalVerdict.ACCEPTED


def test_bounds_of_the_graph(kit: StoreKit) -> None:
    """Each is a setting, and refuses whole."""
    small = kit.under(dependencies_max=1, dependants_max=2, graph_walk_max=10)
    first = kit.create()
    one, _ = kit.after(first), kit.after(first)
    task, other = kit.create(), kit.create()
    before = kit.state()
    assert "the most that dependants_max allows" in refusal(small, first, BadInput)
    assert small.depend(task, first).verdict is SignalVerdict.TOO_MANY
    assert small.depend(one, other).verdict is SignalVerdict.TOO_MANY
    assert kit.state() == before
    last = other
    for _ in range(11):
        last = kit.after(last)
    assert small.depend(task, last).verdict is SignalVerdict.TOO_MANY
    assert kit.depend(task, last).verdict is SignalVerdict.ACCEPTED


def test_who_is_not_there_cannot_be_waited_for(kit: StoreKit) -> None:
    """Nothing is stored, in particular no task that would wait for ever."""
    task = kit.create()
    before = kit.state()
    assert "no task" in refusal(kit, NOBODY, TaskNotFound)
    assert kit.depend(task, NOBODY).verdict is SignalVerdict.NO_SUCH_TASK
    assert kit.state() == before


def test_a_blocked_task_that_ends_is_waited_for_no_more(kit: StoreKit) -> None:
    """Its edges go with it: the end of what it had waited for concerns it no more."""
    first = kit.create()
    waiting = kit.after(first)
    kit.end(waiting, Status.CANCELLED)
    assert dependants(kit.store.context, first, 9) == []
    kit.end(first, Status.COMPLETED)
    assert stands(kit, waiting) == OVER


def test_a_task_blocked_by_a_lock_is_not_released_by_an_edge(kit: StoreKit) -> None:
    """It is over with those edges: one that is taken away puts it not to work."""
    first = kit.create()
    waiting = kit.after(first)
    kit.end(first, Status.COMPLETED)
    kit.suspend(kit.claim(waiting), SuspendTo.BLOCKED, detail={"resource": "file:a"})
    assert kit.undepend(waiting, first).verdict is SignalVerdict.ACCEPTED
    assert stands(kit, waiting) == BLOCKED
    assert kit.depend(waiting, kit.create()).verdict is SignalVerdict.ILLEGAL
    assert kit.store.fire(waiting, "blocked") is not None


def test_the_poll_wakes_nobody_who_waits_for_tasks(kit: StoreKit) -> None:
    """It looks at each in its turn, and finds what a lost write has left."""
    first = kit.create()
    waiting, later = kit.after(first), kit.after(first)
    kit.client.zadd(kit.keys.status(Status.BLOCKED), {waiting: 1, later: 2})
    assert kit.store.fire(waiting, "blocked") is None
    assert stands(kit, waiting) == BLOCKED
    assert kit.store.blocked_since(3, 9) == [later]
    kit.client.zrem(kit.keys.edges, f"{first} {waiting}")  # the end does not find it
    kit.end(first, Status.COMPLETED)
    assert stands(kit, waiting) == BLOCKED
    assert any("which is over" in text for text in invariant.violations(kit.store.context))
    assert kit.store.fire(waiting, "blocked") == NextTurn(waiting, 2, 0)
    assert stands(kit, waiting) == QUEUED


def test_a_deleted_one_counts_as_failed(kit: StoreKit) -> None:
    """Who waits on for a failed task waits for a person once that one is deleted."""
    first = kit.create()
    waiting = kit.after(first)
    kit.end(first, Status.FAILED)
    kit.store.delete(first, force=True)
    assert kit.store.fire(waiting, "blocked") is None
    assert states(kit, waiting) == [DependencyState.GONE.value]
    kit.undepend(waiting, first)
    assert stands(kit, waiting) == QUEUED


def test_a_damaged_one_holds_up_no_end(kit: StoreKit) -> None:
    """A record of another type among those that wait is left to repair; the others are released."""
    first = kit.create()
    bad, good = kit.after(first), kit.after(first)
    kit.client.delete(kit.keys.task(bad))
    kit.client.set(kit.keys.task(bad), "damaged")
    kit.broken_on_purpose = True
    with contextlib.suppress(StoreError):
        kit.end(first, Status.COMPLETED)
    assert (kit.status(first), kit.status(good)) == (Status.COMPLETED, Status.QUEUED)


def test_a_failed_task_begins_again_without_its_edges(kit: StoreKit) -> None:
    """Its record could not be used while it waited; who resets it does not mean it to wait."""
    first = kit.create()
    waiting = kit.after(first)
    kit.client.hdel(kit.keys.task(waiting), "marker")
    examine(kit.store.context, [waiting], RepairMode.REPAIR)
    assert kit.status(waiting) is Status.FAILED
    kit.send(waiting, SignalKind.RESET)
    assert stands(kit, waiting) == QUEUED


def test_the_strings_of_an_earlier_release_are_read(kit: StoreKit) -> None:
    """They were stored, and nothing acted on them."""
    spec = TaskSpec.model_validate(
        {"task_id": NOBODY, "name": "n", "prompt": "p", "model": "m", "blocked_by": [NOBODY]}
    )
    assert spec.blocked_by == (Dependency(task_id=NOBODY),)


def test_a_task_in_line_for_a_slot_can_be_given_a_dependency(kit: StoreKit) -> None:
    """It leaves the line, and stands in it again once that has ended."""
    one = kit.under(max_running=1)
    one.store.adjust()
    first, second, third = one.create(), one.create(), one.create()
    assert one.depend(second, third).verdict is SignalVerdict.ACCEPTED
    assert (one.status(second), one.field(second, "admission")) == (Status.BLOCKED, None)
    one.end(first, Status.COMPLETED)
    assert one.end(third, Status.COMPLETED).woken == (NextTurn(second, 3, 0),)

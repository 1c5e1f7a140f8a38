"""Slots: only so many tasks are at work; the others stand in line, and a slot moves on in the script that frees it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eventkit import stored_events
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, ClaimVerdict, FinishTo, Lease, NextTurn, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import invariant
from neuraphage.store.repair import examine, survey
from storekit import MODEL_CALL, StoreKit, question

OUTBOX, LINE = "outbox", "waits"
ENDS: dict[str, Callable[[StoreKit, Lease], object]] = {
    "completed": lambda kit, lease: kit.finish(lease, FinishTo.COMPLETED, summary="Done."),
    "failed": lambda kit, lease: kit.finish(lease, FinishTo.FAILED, error="No.", recoverable=True),
    "waits for a person": lambda kit, lease: kit.suspend(lease, SuspendTo.WAIT, Changes(prompts_opened=(question(),))),
    "talks": lambda kit, lease: kit.finish(lease, FinishTo.WAIT, Changes(prompts_opened=(question(),), add=MODEL_CALL)),
    "blocked": lambda kit, lease: kit.suspend(lease, SuspendTo.BLOCKED, detail={"resource": "file:a"}),
    "poisoned": lambda kit, lease: kit.suspend(lease, SuspendTo.POISONED),
}


def limited(kit: StoreKit, **settings: object) -> StoreKit:
    """The same store under other limits, which hold from now on."""
    other = kit.under(**settings)
    other.store.adjust()
    return other


def make(kit: StoreKit, number: int, priority: int = 2, **labels: str) -> str:
    """A new task with labels."""
    task_id = f"task-00000000-0000-0000-0000-{number:012d}"
    spec = TaskSpec(task_id=task_id, name="n", prompt="p", model="m", labels=labels, priority=priority)
    kit.store.create(spec, task_id)
    return task_id


def places(kit: StoreKit, *tasks: str) -> list[str]:
    return [kit.place(task) for task in tasks]


def events(kit: StoreKit, task_id: str) -> list[str]:
    return [row[1][b"k"].decode() for row in kit.client.xrange(kit.keys.events(task_id))]


def order(kit: StoreKit) -> list[str]:
    """Who has a slot after whom, where one has it at a time, each to its end."""
    begun: list[str] = []
    while at_work := list(map(bytes.decode, kit.client.zrange(kit.keys.outbox, 0, -1))):
        assert len(at_work) == 1
        begun += at_work
        kit.end(at_work[0], Status.COMPLETED)
    return begun


def test_only_so_many_are_put_to_work(kit: StoreKit) -> None:
    """The others are Queued in line: no message of their create can claim them."""
    one = limited(kit, max_running=1)
    first, second = one.create(), one.create()
    assert places(one, first, second) == [OUTBOX, LINE]
    assert one.status(second) is Status.QUEUED
    assert one.try_claim(second).verdict is ClaimVerdict.NOT_RUNNABLE
    assert events(one, first) == ["TaskCreated", "TaskScheduled"]
    assert events(one, second) == ["TaskCreated"]


@pytest.mark.parametrize("way", ENDS)
def test_a_slot_moves_on_in_the_script_that_frees_it(kit: StoreKit, way: str) -> None:
    """Whatever ends or suspends a task has the next one in the outbox, and names it for its message."""
    one = limited(kit, max_running=1)
    first, second, third = one.create(), one.create(), one.create()
    settled = ENDS[way](one, one.claim(first))
    assert settled.woken == (NextTurn(second, 2, 0),)  # type: ignore[attr-defined]  # Settled, by the table
    assert (*places(one, second, third), one.number(second, "seq")) == (OUTBOX, LINE, 2)
    assert events(one, second)[-1] == "TaskScheduled"
    assert one.try_claim(second).verdict is ClaimVerdict.GRANTED


@pytest.mark.parametrize("kind", [SignalKind.CANCEL, SignalKind.PAUSE])
def test_who_is_taken_back_gives_its_slot_or_its_place_in_line_back(kit: StoreKit, kind: SignalKind) -> None:
    """Also before a worker had it."""
    one = limited(kit, max_running=1)
    first, second, third = one.create(), one.create(), one.create()
    one.send(second, kind)
    assert invariant.violations(one.store.context) == []
    assert one.send(first, kind).woken == (NextTurn(third, 2, 0),)
    assert places(one, third) == [OUTBOX]


@pytest.mark.parametrize("kind", [SignalKind.CANCEL, SignalKind.PAUSE])
def test_a_flag_that_a_claim_meets_frees_the_slot(kit: StoreKit, kind: SignalKind) -> None:
    """A flag of an earlier lease is met by the next claim, which tells who goes on."""
    one = limited(kit, max_running=1)
    first, second = one.create(), one.create()
    one.client.hset(one.keys.task(first), kind.value, 1)
    answer = one.try_claim(first)
    assert (answer.verdict, answer.woken) == (ClaimVerdict.NOT_RUNNABLE, (NextTurn(second, 2, 0),))
    assert places(one, second) == [OUTBOX]


def test_a_slot_is_kept_between_turns_and_while_a_timer_runs(kit: StoreKit) -> None:
    """Running is at work, also while it waits for the model to take calls again."""
    one = limited(kit, max_running=1)
    first, second = one.create(), one.create()
    one.finish(one.claim(first), FinishTo.NEXT)
    assert places(one, first, second) == [OUTBOX, LINE]
    one.suspend(one.claim(first), SuspendTo.TIMER, due_ms=1)
    assert places(one, first, second) == ["timers", LINE]
    assert one.store.fire(first, "timers") is not None
    assert places(one, first, second) == [OUTBOX, LINE]


@pytest.mark.parametrize("recoveries", [0, 9])
def test_a_killed_holder_goes_on_or_frees_its_slot_by_recovery(kit: StoreKit, recoveries: int) -> None:
    """Who is recovered keeps it; who is given up gives it back in that script."""
    one = limited(kit, max_running=1)
    first, second = one.create(), one.create()
    one.claim(first)
    one.client.hset(one.keys.task(first), "recoveries", recoveries)
    woken = one.recover(first).woken
    assert places(one, first, second) == ([OUTBOX, LINE] if not recoveries else ["", OUTBOX])
    assert [turn.task_id for turn in woken] == ([second] if recoveries else [])


def test_who_has_begun_goes_before_those_who_have_not(kit: StoreKit) -> None:
    """An answered task waits for a slot as others do, and not behind all that came meanwhile."""
    one = limited(kit, max_running=1)
    first = one.waiting()
    second, third = one.create(), one.create()
    one.send(first, SignalKind.ANSWER, text="yes", prompt_id="ask-1")
    assert (one.status(first), *places(one, first, second, third)) == (Status.QUEUED, LINE, OUTBOX, LINE)
    one.end(second, Status.COMPLETED)
    assert places(one, first, third) == [OUTBOX, LINE]


@pytest.mark.parametrize("kind", [SignalKind.RESUME, SignalKind.RETRY, SignalKind.RESET, SignalKind.INPUT])
def test_whatever_leads_back_to_work_leads_to_the_line(kit: StoreKit, kind: SignalKind) -> None:
    """Resume, retry, reset and a message to one that is completed."""
    one = limited(kit, max_running=1)
    before = {SignalKind.RESUME: Status.PAUSED, SignalKind.INPUT: Status.COMPLETED}.get(kind, Status.FAILED)
    task_id = one.put(before)
    holder = one.create()
    answer = one.send(task_id, kind, text="go on")
    assert (answer.place, one.status(task_id)) == (LINE, Status.QUEUED)
    one.end(holder, Status.CANCELLED)
    assert places(one, task_id) == [OUTBOX]


def test_a_released_dependant_stands_in_line(kit: StoreKit) -> None:
    """The end of what it waits for is one thing, a free slot another."""
    one = limited(kit, max_running=1)
    first = one.create()
    waiting, other = one.after(first), one.create()
    woken = one.end(first, Status.COMPLETED).woken
    assert [turn.task_id for turn in woken] == [other]
    assert places(one, waiting, other) == [LINE, OUTBOX]
    assert one.end(other, Status.COMPLETED).woken == (NextTurn(waiting, 3, 0),)


def test_an_awaited_task_frees_its_slot_where_it_is_made_to_wait(kit: StoreKit) -> None:
    """A new dependency takes a task out of the outbox, and its slot goes on."""
    one = limited(kit, max_running=1)
    other = one.put(Status.FAILED)
    first, second = one.create(), one.create()
    assert one.depend(first, other).woken == (NextTurn(second, 2, 0),)
    assert places(one, second) == [OUTBOX]


def test_a_task_that_the_poll_wakes_is_scheduled_by_the_sweep(kit: StoreKit) -> None:
    """Its event says so, with the turn."""
    one = limited(kit, max_running=1)
    task_id = one.put(Status.BLOCKED)
    assert one.store.fire(task_id, "blocked") is not None
    told = [event for event in stored_events(one.store.context) if event.kind == "TaskScheduled"]
    assert [(event.cause, event.turn) for event in told] == [("person", 0), ("sweep", 0)]


def test_one_in_line_may_be_made_to_wait_for_another_task(kit: StoreKit) -> None:
    """It has not begun: it leaves the line, and stands in it again when that one has ended."""
    one = limited(kit, max_running=1)
    first, waiting, third = one.create(), one.create(), one.create()
    assert one.depend(waiting, third).verdict is SignalVerdict.ACCEPTED
    assert one.status(waiting) is Status.BLOCKED
    assert order(one) == [first, third, waiting]


def test_keys_take_turns(kit: StoreKit) -> None:
    """However many of one key stand in line, each other key has its turn in the next round."""
    one = limited(kit, max_running=1)
    for number in range(30):
        make(one, number, team="many")
    few = [make(one, 100 + number, team=f"few{number % 10}") for number in range(20)]
    begun = order(one)
    assert set(few[:10]) <= set(begun[:12])
    assert set(few) <= set(begun[:23])
    assert len(begun) == 50


@pytest.mark.real_redis
def test_a_thousand_of_one_key_put_the_first_turn_of_another_off_by_one_admission(real_kit: StoreKit) -> None:
    """Counted in admissions: with them, each of ten other keys has its first turn at most twice as late as without."""
    one = limited(real_kit, max_running=1)
    few = [f"few{number}" for number in range(10)]
    for number in range(1_000):
        make(one, number, team="many")
    for _ in range(7):  # of the thousand have had their turn when the others come
        one.end(one.client.zrange(one.keys.outbox, 0, -1)[0].decode(), Status.COMPLETED)
    firsts = [make(one, 2_000 + number, team=name) for number, name in enumerate(few)]
    for number, name in enumerate(few):  # they too have more to do than their first turn
        make(one, 3_000 + number, team=name)
    admitted: list[str] = []
    while not set(firsts) <= set(admitted):
        admitted.append(one.client.zrange(one.keys.outbox, 0, -1)[0].decode())
        one.end(admitted[-1], Status.COMPLETED)
    waits = admitted[1:]  # who was at work when they came is no part of the wait
    alone = {task: 1 + place for place, task in enumerate(firsts)}
    assert all(1 + waits.index(task) <= 2 * alone[task] for task in firsts)
    assert [task for task in waits if task in firsts] == firsts
    assert len(waits) <= 11


def test_who_comes_again_and_again_keeps_nobody_waiting(kit: StoreKit) -> None:
    """A key whose only task has had its turn begins with the next round, behind those who wait for this one."""
    one = limited(kit, max_running=1)
    make(one, 0, team="a")
    waiting = make(one, 1, team="z")
    for number in range(2, 6):
        make(one, number, team="b")
        holder = one.client.zrange(one.keys.outbox, 0, -1)[0].decode()
        one.end(holder, Status.COMPLETED)
    assert one.status(waiting) is Status.COMPLETED


def test_a_lower_number_comes_first_and_waiting_counts(kit: StoreKit) -> None:
    """A step is worth `priority_step_s`: who has waited for longer than that comes before the next one."""
    one = limited(kit, max_running=1, priority_step_s=3_600)
    holder = make(one, 0)
    low, usual, high = make(one, 1, 4), make(one, 2), make(one, 3, 0)
    one.end(holder, Status.COMPLETED)
    assert order(one) == [high, usual, low]
    soon = limited(one, max_running=1, priority_step_s=0.001)
    holder = make(soon, 10)
    low = make(soon, 11, 4)
    later = soon.store.now_ms() + 10
    while soon.store.now_ms() < later:
        pass
    high = make(soon, 12, 0)
    soon.end(holder, Status.COMPLETED)
    assert order(soon) == [low, high]


def test_a_label_has_limits_of_its_own_and_holds_up_no_other(kit: StoreKit) -> None:
    """`repo=web 1`: one of it at a time; the others of the line go past those that wait for it."""
    two = limited(kit, max_running=2, label_max_running=["repo=web 1"])
    first, second, other = make(two, 1, repo="web"), make(two, 2, repo="web"), make(two, 3, repo="cli")
    assert places(two, first, second, other) == [OUTBOX, LINE, OUTBOX]
    two.end(other, Status.COMPLETED)
    assert places(two, second) == [LINE]
    third = make(two, 4)
    assert places(two, third) == [OUTBOX]
    two.end(first, Status.COMPLETED)
    assert places(two, second) == [OUTBOX]


def test_each_value_of_a_label_may_have_a_limit(kit: StoreKit) -> None:
    """`repo=* 1` without any limit of all; a limit of one value goes before it."""
    each = limited(kit, label_max_running=["repo=* 1", "repo=big 2"])
    tasks = [make(each, n, repo=repo) for n, repo in enumerate(["a", "a", "b", "big", "big", "big"])]
    assert places(each, *tasks) == [OUTBOX, LINE, OUTBOX, OUTBOX, OUTBOX, LINE]
    assert places(each, make(each, 9)) == [OUTBOX]
    each.end(tasks[0], Status.FAILED)
    assert places(each, tasks[1]) == [OUTBOX]


def test_limits_that_change_hold_at_once(kit: StoreKit) -> None:
    """Who is at work stays so and counts; a higher limit has those in line begin, and none at all lets everybody."""
    (_, lease), second = kit.running(), kit.create()
    one = limited(kit, max_running=1)
    assert one.try_claim(second).verdict is ClaimVerdict.NOT_RUNNABLE
    assert places(one, second) == [LINE]
    third, fourth = one.create(), one.create()
    more = kit.under(max_running=3)
    assert [turn.task_id for turn in more.store.adjust()] == [second, third]
    assert places(more, second, third, fourth) == [OUTBOX, OUTBOX, LINE]
    limited(kit, max_running=1)
    one.finish(lease, FinishTo.COMPLETED, summary="Done.")
    assert places(one, fourth) == [LINE]
    kit.store.adjust()
    assert places(kit, fourth) == [OUTBOX]
    for task in (second, third, fourth):
        kit.end(task, Status.COMPLETED)
    kit.store.adjust()
    assert not kit.client.exists(kit.keys.admission, kit.keys.line, kit.keys.lanes)


def test_a_limit_of_a_label_that_comes_later_holds_for_those_in_line(kit: StoreKit) -> None:
    """They stood in line for a slot of all; now they need one of the label too."""
    one = limited(kit, max_running=1)
    holder, first, second = make(one, 0), make(one, 1, repo="web"), make(one, 2, repo="web")
    more = limited(kit, max_running=3, label_max_running=["repo=web 1"])
    assert places(more, holder, first, second) == [OUTBOX, OUTBOX, LINE]
    more.end(first, Status.COMPLETED)
    assert places(more, second) == [OUTBOX]


def test_without_limits_nothing_is_kept(kit: StoreKit) -> None:
    """No key, no field, no event."""
    kit.store.adjust()
    task_id = kit.create()
    assert not kit.client.exists(kit.keys.admission, kit.keys.line, kit.keys.lanes)
    assert kit.field(task_id, "admission") is None
    assert "TaskScheduled" not in events(kit, task_id)


DAMAGE: dict[str, Callable[[StoreKit, str, str, str], object]] = {
    "a slot that nobody counts": lambda kit, holder, *_: kit.client.zrem(kit.keys.line, f"s* {holder}"),
    "a slot of nobody": lambda kit, _, __, over: kit.client.zadd(kit.keys.line, {f"s* {over}": 0}),
    "in no line": lambda kit, _, waiting, __: kit.client.zrem(kit.keys.line, kit.field(waiting, "admission")),
    "knows of no line": lambda kit, _, waiting, __: (
        kit.client.zrem(kit.keys.line, kit.field(waiting, "admission")),
        kit.client.zrem(kit.keys.lanes, "2  "),
        kit.client.hdel(kit.keys.task(waiting), "admission"),
    ),
    "nobody looks at its lane": lambda kit, *_: kit.client.zrem(kit.keys.lanes, "2  "),
    "in the outbox too": lambda kit, _, waiting, __: kit.client.zadd(kit.keys.outbox, {waiting: 1}),
    "a task that is over has a slot": lambda kit, _, __, over: kit.client.hset(kit.keys.task(over), "admission", "s*"),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_repair_puts_slots_and_the_line_right(kit: StoreKit, what: str) -> None:
    """By the records: each task has its place, and no slot is without a holder."""
    one = limited(kit, max_running=1)
    over, holder, waiting = one.put(Status.COMPLETED), one.create(), one.create()
    DAMAGE[what](one, holder, waiting, over)
    assert invariant.violations(one.store.context) != []
    found = [row for rows in survey(one.store.context, RepairMode.REPAIR, 100) for row in rows]
    assert [text for row in found for text in row.findings]
    assert invariant.violations(one.store.context) == []
    one.store.adjust()
    at_work = {task for task in (holder, waiting) if one.place(task) == OUTBOX}
    for task in at_work:
        one.end(task, Status.COMPLETED)
    assert places(one, *{holder, waiting} - at_work) == [OUTBOX] * (2 - len(at_work))


def test_repair_wakes_who_waits_for_a_pool_that_has_room(kit: StoreKit) -> None:
    """No slot of it would come back, so nobody would look at the lane."""
    one = limited(kit, max_running=2, label_max_running=["repo=a 1"])
    holder, waiting = make(one, 1, repo="a"), make(one, 2, repo="a")
    one.store.adjust()
    assert one.client.zscore(one.keys.line, "prepo=a 2  repo=a") == 0
    one.client.zrem(one.keys.line, f"srepo=a {holder}")
    one.client.hset(one.keys.task(holder), "admission", "s*")
    assert "has room" in " ".join(invariant.violations(one.store.context))
    assert [row.findings for rows in survey(one.store.context, RepairMode.REPAIR, 100) for row in rows] != []
    assert invariant.violations(one.store.context) == []
    one.store.adjust()
    assert places(one, waiting) == [OUTBOX]


@pytest.mark.parametrize("key", ["admission", "line", "lanes"])
def test_a_damaged_key_of_admission_is_put_aside(kit: StoreKit, key: str) -> None:
    """Nothing is begun over it; then repair puts it aside and the records tell the rest."""
    one = limited(kit, max_running=1)
    holder, waiting = one.create(), one.create()
    one.client.delete(getattr(one.keys, key))
    one.client.set(getattr(one.keys, key), "damaged")
    before = one.state()
    for write in (lambda: one.send(holder, SignalKind.CANCEL), one.create, one.store.adjust):
        with pytest.raises(Exception, match="neuraphage repair"):
            write()
    assert one.state() == before
    for _ in range(2):
        list(survey(one.store.context, RepairMode.REPAIR, 100))
    one.store.adjust()
    assert examine(one.store.context, [holder, waiting], RepairMode.LOOK)[0].findings == ()
    for task in (holder, waiting):
        one.end(task, Status.COMPLETED)

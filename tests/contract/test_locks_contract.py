"""Locks: taken at once by the write that begins a call, or waited for without a process, in order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from eventkit import stored_events
from lockkit import EXCLUSIVE, SHARED, Holder, allowed, announced, effect, has_waited, holder, holders, lines
from neuraphage.model.effect import EffectState, MarkerName, Permission, ToolEffect
from neuraphage.model.lock import LockState
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import BlockedDetail, StartedReason, Status
from neuraphage.ports import Changes, CommitVerdict, FinishTo, NextTurn, SignalKind, SignalVerdict, SuspendTo
from neuraphage.store import invariant
from neuraphage.store.repair import examine, survey
from storekit import StoreKit, question

A, B = "file:/work/a b", "file:/work/c\nd"
"""Names may hold anything that a path may."""
NOBODY = "task-00000000-0000-0000-0000-00000000dead"
BLOCKED, QUEUED = ("Blocked", "waits"), ("Queued", "outbox")


def told(kit: StoreKit, task_id: str) -> list[str]:
    """Kinds of events of a task about its locks and its calls."""
    kinds = ("ToolStarted", "TaskBlocked", "ResourceLockWait", "ResourceLockAcquired", "ResourceLockReleased")
    return [
        event.kind for event in stored_events(kit.store.context) if event.task_id == task_id and event.kind in kinds
    ]


def test_what_is_free_is_taken_by_the_write_that_begins_the_call(kit: StoreKit) -> None:
    """Nothing is told of it where nobody waits; the end of the turn frees it."""
    one = holder(kit).takes(A, B)
    assert (holders(kit, A), holders(kit, B)) == ([one.id], [one.id])
    locks = kit.store.get(one.id).locks
    assert locks is not None
    assert (locks.state, [need.resource for need in locks.needs]) == (LockState.HOLDS, [A, B])
    assert one.ends().woken == ()
    assert (kit.client.exists(kit.keys.locks), kit.store.get(one.id).locks) == (0, None)
    assert told(kit, one.id) == ["ToolStarted"]


def test_who_may_not_begin_waits_without_a_lease(kit: StoreKit) -> None:
    """In the same write: what was noted before the call is stored, the call itself is not announced."""
    one = holder(kit).takes(A)
    two = holder(kit)
    asked = announced(two.lease, (A, B), call="mine")
    lease = two.lease
    answer = two.writes(asked)
    assert (answer.verdict, two.stands) == (CommitVerdict.BLOCKED, BLOCKED)
    record = kit.store.get(two.id)
    assert record.detail == BlockedDetail(resource=A, waiting_since_ms=kit.number(two.id, "since"), holder_task=one.id)
    assert record.marker.name is MarkerName.RESPONSE_RECEIVED
    assert kit.client.hgetall(kit.keys.turn(two.id)) == {}
    assert kit.client.llen(kit.keys.messages(two.id)) == 2
    assert told(kit, two.id) == ["TaskBlocked", "ResourceLockWait"]
    assert (lines(kit, A), lines(kit, B)) == ([("holds", one.id), ("waiting", two.id)], [("waiting", two.id)])
    before = kit.state()
    assert kit.store.commit(lease, asked) == answer
    assert kit.state() == before


def test_a_release_hands_over_to_the_next_in_order(kit: StoreKit) -> None:
    """In the script that frees: the first that waits has it, and goes on; the others wait on."""
    one = holder(kit).takes(A)
    two, three = holder(kit).waits(A, B), holder(kit).waits(A)
    settled = one.ends()
    assert settled.woken == (NextTurn(two.id, kit.number(two.id, "seq"), 0),)
    assert (two.stands, three.stands) == (QUEUED, BLOCKED)
    assert (holders(kit, A), holders(kit, B)) == ([two.id], [two.id])
    assert kit.store.get(two.id).started_reason is StartedReason.UNBLOCKED
    assert told(kit, one.id)[-1] == "ResourceLockReleased"
    assert told(kit, two.id)[-1] == "ResourceLockAcquired"
    again = two.again()
    assert again.takes(A, B).ends().woken[0].task_id == three.id


def test_who_needs_two_holds_neither_until_it_has_both(kit: StoreKit) -> None:
    """So nobody ever waits for one who waits."""
    one, two = holder(kit).takes(A), holder(kit).takes(B)
    both = holder(kit).waits(A, B)
    one.ends()
    assert (both.stands, holders(kit, A)) == (BLOCKED, [])
    two.ends()
    assert both.stands == QUEUED


def test_those_who_share_go_together_and_pass_by_nobody(kit: StoreKit) -> None:
    """Who came after one that wants it alone waits behind that one."""
    readers = [holder(kit).takes(A, mode=SHARED) for _ in range(2)]
    writer = holder(kit).waits(A)
    late = [holder(kit).waits(A, mode=SHARED) for _ in range(2)]
    readers[0].ends()
    assert writer.stands == BLOCKED
    readers[1].ends()
    assert (writer.stands, [one.stands for one in late]) == (QUEUED, [BLOCKED, BLOCKED])
    writer.again().ends()
    assert [one.stands for one in late] == [QUEUED, QUEUED]
    assert holders(kit, A) == [one.id for one in late]


def test_what_a_task_has_it_need_not_ask_for(kit: StoreKit) -> None:
    """Neither where others wait for it; shared becomes alone only where nobody else shares or waits."""
    one = holder(kit).takes(A, mode=SHARED).takes(A).takes(A, mode=SHARED)
    two = holder(kit).waits(A)
    one.takes(A).takes(B)
    assert holders(kit, A) == [one.id]
    assert one.ends().woken[0].task_id == two.id
    both = [two.again(), holder(kit).waits(A, mode=SHARED)]
    assert both[0].asks(A, mode=SHARED).verdict is CommitVerdict.COMMITTED


def test_two_that_share_and_want_it_alone_do_not_wait_for_each_other(kit: StoreKit) -> None:
    """Who has to wait gives up what it has."""
    one, two = holder(kit).takes(A, mode=SHARED), holder(kit).takes(A, mode=SHARED)
    one.waits(A)
    assert holders(kit, A) == [two.id]
    answer = two.asks(A)
    assert answer.settled is not None
    assert [turn.task_id for turn in answer.settled.woken] == [one.id]
    assert (one.stands, two.stands) == (QUEUED, BLOCKED)


@pytest.mark.parametrize("to", [SuspendTo.WAIT, SuspendTo.TIMER, SuspendTo.SHUTDOWN, SuspendTo.PAUSE, SuspendTo.MONEY])
def test_who_waits_for_anything_else_holds_nothing(kit: StoreKit, to: SuspendTo) -> None:
    """For a person, a time, a next process: what it held goes to the next."""
    one, two = holder(kit).takes(A), holder(kit).waits(A)
    opened = Changes(prompts_opened=(question(),) if to is SuspendTo.WAIT else ())
    assert [turn.task_id for turn in one.suspends(to, opened, due_ms=5).woken] == [two.id]


@pytest.mark.parametrize("to", [SuspendTo.WAIT, SuspendTo.SHUTDOWN])
def test_a_call_whose_outcome_nobody_knows_keeps_its_locks(kit: StoreKit, to: SuspendTo) -> None:
    """A command may outlive its worker: its lock lives until the outcome is known, and then as long as the turn."""
    one, two = holder(kit), holder(kit)
    one.asks(A, call="mine")
    two.waits(A)
    opened = Changes(prompts_opened=(question(),) if to is SuspendTo.WAIT else ())
    assert one.suspends(to, opened).woken == ()
    assert holders(kit, A) == [one.id]
    if to is SuspendTo.WAIT:
        kit.plant(one.id, "answer", question().prompt_id)
    next_one = one.again()
    next_one.writes(Changes(journal=(ToolEffect(key="mine", state=EffectState.COMPLETED),)))
    assert holders(kit, A) == [one.id]
    assert [turn.task_id for turn in next_one.ends().woken] == [two.id]


def test_who_waits_for_subtasks_holds_nothing(kit: StoreKit) -> None:
    """Its call is announced and not over, and touches nothing: the subtasks may need what their parent had."""
    one, two = holder(kit).takes(A), holder(kit).waits(A)
    awaiting = effect("spawned", one.lease.fence).model_copy(update={"children": (two.id,)})
    assert [turn.task_id for turn in one.suspends(SuspendTo.SHUTDOWN, Changes(journal=(awaiting,))).woken] == [two.id]


def test_one_with_an_unsettled_call_that_waits_for_others_keeps_its_locks(kit: StoreKit) -> None:
    """The poll of blocked tasks leaves it with them: it waits for tasks, not for a lock."""
    one, awaited = holder(kit), kit.create()
    one.asks(A)
    kit.recover(one.id)
    kit.send(one.id, SignalKind.PAUSE)
    kit.depend(one.id, awaited)
    kit.send(one.id, SignalKind.RESUME)
    assert one.stands == BLOCKED
    assert kit.store.fire(one.id, "blocked") is None
    assert (one.stands, holders(kit, A)) == (BLOCKED, [one.id])


@pytest.mark.parametrize("is_known", [True, False])
def test_recovery_frees_the_locks_of_a_dead_holder_when_its_call_is_settled(kit: StoreKit, is_known: bool) -> None:
    """Else its next turn holds them, finds out what came of the call, and frees them."""
    one, two = holder(kit), holder(kit)
    one.takes(A) if is_known else one.asks(A)
    two.waits(A)
    kit.recover(one.id)
    assert two.stands == (QUEUED if is_known else BLOCKED)
    assert holders(kit, A) == [two.id if is_known else one.id]


@pytest.mark.parametrize("way", ["cancel", "cancel under a lease", "fail", "complete", "pause", "poison", "recover"])
def test_whatever_ends_or_stops_a_holder_frees(kit: StoreKit, way: str) -> None:
    """Also with a call under way where it ends the task; the next one that waits goes on."""
    one = holder(kit)
    one.asks(A, call="mine")
    two = holder(kit).waits(A)
    if way == "recover":
        kit.client.hset(kit.keys.task(one.id), "recoveries", 9)
        kit.recover(one.id)
    elif way == "poison":
        one.suspends(SuspendTo.POISONED, detail={"error": "No.", "recoverable": False})
    elif way in ("fail", "complete"):
        one.ends(FinishTo(f"{way}d" if way == "complete" else "failed"), error="No.", recoverable=True, summary="Yes.")
    elif way == "pause":
        one.writes(Changes(journal=(ToolEffect(key="mine", state=EffectState.COMPLETED),)))
        kit.send(one.id, SignalKind.PAUSE)
        one.suspends(SuspendTo.PAUSE)
    else:
        if way == "cancel":
            one.suspends(SuspendTo.SHUTDOWN)
        kit.send(one.id, SignalKind.CANCEL)
        if way != "cancel":
            one.suspends(SuspendTo.PAUSE)
    assert (two.stands, holders(kit, A)) == (QUEUED, [two.id])


@pytest.mark.parametrize("way", [SignalKind.CANCEL, SignalKind.PAUSE])
def test_who_stops_waiting_leaves_its_place(kit: StoreKit, way: SignalKind) -> None:
    """And those behind it come nearer: here one that may share with the holder."""
    one = holder(kit).takes(A, mode=SHARED)
    two, three = holder(kit).waits(A), holder(kit).waits(A, mode=SHARED)
    assert [turn.task_id for turn in kit.send(two.id, way).woken] == [three.id]
    assert holders(kit, A) == [one.id, three.id]
    if way is SignalKind.PAUSE:
        kit.send(two.id, SignalKind.RESUME)
        two.again().waits(A)


def test_who_was_handed_a_lock_and_is_stopped_hands_it_on(kit: StoreKit) -> None:
    """Before its next turn begins: by a pause, by an edge, and by a flag that its claim meets."""
    one = holder(kit).takes(A)
    two, three, four, five = (holder(kit).waits(A) for _ in range(4))
    one.ends()
    kit.send(two.id, SignalKind.PAUSE)
    assert three.stands == QUEUED
    kit.depend(three.id, one.id)
    assert (three.stands, four.stands) == (BLOCKED, QUEUED)
    kit.client.hset(kit.keys.task(four.id), "pause", 1)
    assert [turn.task_id for turn in kit.try_claim(four.id).woken] == [five.id]
    assert (four.stands, five.stands) == (("Paused", "waits"), QUEUED)


@pytest.mark.parametrize("flag", [SignalKind.PAUSE, SignalKind.CANCEL])
def test_a_flag_goes_before_waiting(kit: StoreKit, flag: SignalKind) -> None:
    """Whose pause or end was asked for does not begin to wait: its next claim resolves that."""
    holder(kit).takes(A)
    two = holder(kit)
    kit.send(two.id, flag)
    settled = two.asks(A).settled
    assert settled is not None
    assert (settled.place, two.stands) == ("outbox", ("Running", "outbox"))
    kit.check()
    assert [row.findings for row in examine(kit.store.context, [two.id], RepairMode.LOOK)] == [()]
    kit.try_claim(two.id)
    assert two.stands[0] == ("Paused" if flag is SignalKind.PAUSE else "Cancelled")


def test_a_lock_that_was_freed_meanwhile_is_no_fault(kit: StoreKit) -> None:
    """It was in question when the hash was read; by now nothing of it is there."""
    task = holder(kit).takes(A)
    task.ends()
    told = examine(kit.store.context, [task.id], RepairMode.LOOK, locks=[(task.id, A)])
    assert [row.findings for row in told] == [()]


def test_what_a_person_has_allowed_is_kept_while_the_call_waits(kit: StoreKit) -> None:
    """The entry stands as it was before the call was announced, and is not asked about again."""
    holder(kit).takes(A)
    two = holder(kit)
    two.waits(A, call="mine", before=allowed("mine"))
    claimed = kit.store.get(two.id)
    assert claimed.locks is not None
    assert claimed.locks.call == "mine"
    raw = kit.client.hget(kit.keys.turn(two.id), "mine")
    assert EffectState.PLANNED.value.encode() in raw
    assert Permission.GRANTED.value.encode() in raw


def test_a_call_waits_so_long_only(kit: StoreKit) -> None:
    """The poll of blocked tasks comes by when its time is over; then it is told who has the lock."""
    one, two = holder(kit).takes(A, mode=SHARED), holder(kit).waits(A, call="mine")
    three = holder(kit).waits(A, mode=SHARED)
    settings = kit.store.context.settings
    due = kit.store.now_ms() - int(settings.wait_poll_s * 1000)
    wait_ms = int(settings.lock_wait_s * 1000)
    assert kit.store.blocked_since(due + wait_ms - 30_000, 9) == []
    assert kit.store.blocked_since(due + wait_ms, 9) == [two.id, three.id]
    assert kit.store.fire(two.id, "blocked") is None
    has_waited(kit, two.id)
    assert kit.store.fire(two.id, "blocked") is not None
    locks = kit.store.get(two.id).locks
    assert locks is not None
    assert (locks.state, locks.holder_task, locks.call) == (LockState.LATE, one.id, "mine")
    assert (two.stands, three.stands) == (QUEUED, QUEUED)
    two.again().ends()
    assert kit.store.get(two.id).locks is None


def test_who_has_waited_too_long_has_no_place(kit: StoreKit) -> None:
    """Also where others stand before it."""
    one = holder(kit).takes(A)
    first, second = holder(kit).waits(A), holder(kit).waits(A)
    has_waited(kit, second.id)
    assert kit.store.fire(second.id, "blocked") is not None
    assert lines(kit, A) == [("holds", one.id), ("waiting", first.id)]


def test_the_poll_finds_what_came_free_without_a_word(kit: StoreKit) -> None:
    """A server that has lost its tail, or a key that was put aside."""
    holder(kit).takes(A)
    two = holder(kit).waits(A)
    kit.client.hset(kit.keys.locks, A, f"waiting {EXCLUSIVE} {two.id} 1")
    kit.broken_on_purpose = True
    assert kit.store.fire(two.id, "blocked") is not None
    assert holders(kit, A) == [two.id]


def test_a_place_that_no_record_stands_behind_keeps_nobody_waiting(kit: StoreKit) -> None:
    """It goes with the next release."""
    one = holder(kit).takes(A)
    raw = kit.client.hget(kit.keys.locks, A).decode()
    kit.client.hset(kit.keys.locks, A, f"{raw}\nwaiting {EXCLUSIVE} task-none 1")
    two = holder(kit).waits(A)
    one.ends()
    assert (two.stands, lines(kit, A)) == (QUEUED, [("holds", two.id)])


def test_a_person_can_break_a_lock(kit: StoreKit) -> None:
    """Of one that holds it, and nobody else's; the next goes on, the history tells who did it, the rest stays held."""
    one = holder(kit).takes(A, B)
    two = holder(kit).waits(A)
    before = kit.state()
    assert kit.send(two.id, SignalKind.UNLOCK, text=A).verdict is SignalVerdict.NOT_HELD
    assert kit.state() == before
    broken = kit.send(one.id, SignalKind.UNLOCK, "key", text=A, who="ann")
    assert (broken.verdict, [turn.task_id for turn in broken.woken]) == (SignalVerdict.ACCEPTED, [two.id])
    assert (holders(kit, A), holders(kit, B)) == ([two.id], [one.id])
    told_of = [event for event in stored_events(kit.store.context) if event.kind == "ResourceLockBroken"]
    assert [(event.task_id, event.cause, event.data["who"]) for event in told_of] == [(one.id, "person", "ann")]
    assert kit.send(one.id, SignalKind.UNLOCK, "key", text=A).verdict is SignalVerdict.REPEATED
    kit.send(one.id, SignalKind.UNLOCK, text=B)
    assert kit.store.get(one.id).locks is None
    one.ends()
    assert holders(kit, A) == [two.id]


DAMAGES: dict[str, Callable[[StoreKit, Holder, Holder], object]] = {
    "all is gone": lambda kit, one, two: kit.client.delete(kit.keys.locks),
    "another type": lambda kit, one, two: (kit.client.delete(kit.keys.locks), kit.client.set(kit.keys.locks, "x")),
    "a line of nobody": lambda kit, one, two: kit.client.hset(kit.keys.locks, "file:x", f"holds exclusive {two.id} 1"),
    "a line of no task": lambda kit, one, two: kit.client.hset(kit.keys.locks, "file:x", f"holds exclusive {NOBODY} 1"),
    "its record is broken": lambda kit, one, two: kit.client.hset(kit.keys.task(one.id), "locks", "{"),
    "it says nothing": lambda kit, one, two: kit.client.hdel(kit.keys.task(one.id), "locks"),
    "the one that waits says nothing": lambda kit, one, two: kit.client.hdel(kit.keys.task(two.id), "locks"),
    "it is over": lambda kit, one, two: ended_with_locks(kit, one),
}


def ended_with_locks(kit: StoreKit, one: Holder) -> None:
    raw = kit.field(one.id, "locks") or ""
    lines_of_all = kit.client.hgetall(kit.keys.locks)
    kit.send(one.id, SignalKind.CANCEL)
    one.suspends(SuspendTo.PAUSE)
    kit.client.hset(kit.keys.task(one.id), "locks", raw)
    kit.client.hset(kit.keys.locks, mapping=lines_of_all)


@pytest.mark.parametrize("damage", DAMAGES)
def test_repair_has_record_and_locks_agree(kit: StoreKit, damage: str) -> None:
    """It is told first and changed then; a second look finds nothing, and who waits is not forgotten."""
    one, two = holder(kit).takes(A, B), holder(kit).waits(A)
    DAMAGES[damage](kit, one, two)
    looked = [row for part in survey(kit.store.context, RepairMode.LOOK, 100) for row in part]
    assert [row for row in looked if row.findings]
    list(survey(kit.store.context, RepairMode.REPAIR, 100))
    list(survey(kit.store.context, RepairMode.REPAIR, 100))
    assert invariant.violations(kit.store.context) == []
    if kit.status(two.id) is Status.BLOCKED and kit.store.get(two.id).locks is None:
        assert kit.store.fire(two.id, "blocked") is not None  # the poll finds it
    if kit.store.get(one.id).place == "leases":
        one.ends()
    assert kit.status(two.id) is Status.QUEUED

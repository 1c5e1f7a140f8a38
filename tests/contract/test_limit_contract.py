"""Limits that people raise, and what leads a task back to work under them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from uuid import UUID

import pytest

from neuraphage.decide.limits import limit_reached
from neuraphage.model.effect import EffectState, ModelEffect, ToolEffect
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, CommitVerdict, FinishTo, SignalKind, SignalVerdict, SuspendTo
from storekit import ASK, MODEL_CALL, TALK, StoreKit, question, text_entry

OK, AT_LIMIT, NO = SignalVerdict.ACCEPTED, SignalVerdict.AT_LIMIT, SignalVerdict.ILLEGAL
TURN = {"model_calls": 1, "cost_microusd": 100}


def worked(kit: StoreKit, turns: int, to: FinishTo = FinishTo.FAILED) -> str:
    """A task that has ended after so many turns, each of which cost 100; a failed turn is begun and not counted."""
    task_id = kit.create()
    for _ in range(turns):
        kit.finish(kit.claim(task_id), FinishTo.NEXT, Changes(add=TURN))
    detail = {"error": "No.", "recoverable": True, "summary": "Done."}
    kit.store.finish(kit.claim(task_id), Changes(), to, turns, detail)
    return task_id


def set_limits(kit: StoreKit, task_id: str, turns: int | None = None, cost: int | None = None) -> SignalVerdict:
    """Send the signal."""
    change = LimitChange(max_turns=turns, max_cost_microusd=cost)
    return kit.send(task_id, SignalKind.LIMIT, limits=change).verdict


def test_limits_stand_in_the_record_and_not_in_the_spec(kit: StoreKit) -> None:
    """Each alone; the other stays as it is, and what was asked at create never changes."""
    task_id = kit.create()
    assert kit.store.get(task_id).limits == kit.store.get(task_id).spec.limits == Limits()
    assert set_limits(kit, task_id, turns=70) is OK
    assert kit.store.get(task_id).limits == Limits(max_turns=70)
    assert set_limits(kit, task_id, cost=5) is OK
    record = kit.store.get(task_id)
    assert record.limits == Limits(max_turns=70, max_cost_microusd=5)
    assert record.spec.limits == Limits()


@pytest.mark.parametrize("kind", [SignalKind.RETRY, SignalKind.RESET])
def test_a_higher_limit_leads_a_failed_task_back(kit: StoreKit, kind: SignalKind) -> None:
    """Nothing that would fail at once is accepted. A limit set before, or with the signal itself, lets it go on."""
    for before in (False, True):
        task_id = worked(kit, 2)
        set_limits(kit, task_id, turns=2, cost=200)
        stood = kit.state()
        assert kit.send(task_id, kind).verdict is AT_LIMIT
        assert kit.send(task_id, kind, limits=LimitChange(max_cost_microusd=200)).verdict is AT_LIMIT
        assert kit.state() == stood
        change = LimitChange(max_turns=3, max_cost_microusd=201)
        if before:
            set_limits(kit, task_id, change.max_turns, change.max_cost_microusd)
        assert kit.send(task_id, kind, **({} if before else {"limits": change})).verdict is OK
        record = kit.store.get(task_id)
        assert record.limits == Limits(max_turns=3, max_cost_microusd=201)
        assert (record.status, record.counters.cost_microusd) == (Status.QUEUED, 200)


@pytest.mark.parametrize(
    "change", [LimitChange(max_turns=1), LimitChange(max_cost_microusd=100)], ids=["turns", "money"]
)
def test_a_paused_task_at_its_limit_is_not_resumed(kit: StoreKit, change: LimitChange) -> None:
    """It would fail at once. With a higher limit it goes on, and so does one that has a reply to work off."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, Changes(add=TURN))
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.LIMIT, limits=change)
    stood = kit.state()
    assert kit.send(task_id, SignalKind.RESUME).verdict is AT_LIMIT
    assert kit.state() == stood
    assert set_limits(kit, task_id, turns=2, cost=101) is OK
    assert kit.send(task_id, SignalKind.RESUME).verdict is OK
    lease = kit.claim(task_id)
    kit.send(task_id, SignalKind.PAUSE)
    reply = ModelEffect(state=EffectState.COMPLETED)
    kit.store.suspend(lease, Changes(journal=(reply,), add=TURN), SuspendTo.PAUSE)
    kit.send(task_id, SignalKind.LIMIT, limits=change)
    assert kit.send(task_id, SignalKind.RESUME).verdict is OK


def test_a_reset_counts_turns_anew_and_money_on(kit: StoreKit) -> None:
    """A task at its limit of turns begins anew without a higher one; one that has spent its money does not."""
    task_id = worked(kit, 2)
    set_limits(kit, task_id, turns=2)
    assert kit.send(task_id, SignalKind.RETRY).verdict is AT_LIMIT
    assert kit.send(task_id, SignalKind.RESET).verdict is OK
    counters = kit.store.get(task_id).counters
    assert (counters.iteration, counters.cost_microusd) == (0, 200)
    kit.store.finish(kit.claim(task_id), Changes(), FinishTo.FAILED, 0, {"error": "No.", "recoverable": True})
    set_limits(kit, task_id, turns=1, cost=200)
    assert kit.send(task_id, SignalKind.RESET).verdict is AT_LIMIT


def test_a_reset_counts_from_its_own_first_turn(kit: StoreKit) -> None:
    """Where the former work began says nothing about the new one."""
    task_id = worked(kit, 2, FinishTo.COMPLETED)
    kit.send(task_id, SignalKind.INPUT, text="more")
    iteration = kit.number(task_id, "iteration")
    assert kit.store.get(task_id).turns_from == iteration
    kit.store.finish(kit.claim(task_id), Changes(), FinishTo.FAILED, iteration, {"error": "No.", "recoverable": True})
    kit.send(task_id, SignalKind.RESET)
    assert kit.store.get(task_id).turns_from == 0


def test_a_reply_that_is_there_is_worked_off_at_the_limit(kit: StoreKit) -> None:
    """Only the next call is forbidden: tools that a paid reply has asked for may still run."""
    task_id, lease = kit.running()
    set_limits(kit, task_id, cost=100)
    reply = ModelEffect(state=EffectState.COMPLETED)
    kit.store.finish(lease, Changes(journal=(reply,), add=TURN), FinishTo.FAILED, 0, {"error": "", "recoverable": True})
    assert limit_reached(kit.store.get(task_id)) is not None
    assert kit.send(task_id, SignalKind.RESET).verdict is AT_LIMIT, "it would ask anew"
    assert kit.send(task_id, SignalKind.RETRY).verdict is OK


@pytest.mark.parametrize(("turns", "cost", "done"), list(product((0, 1, 2, 3), (0, 100, 200, 201), (0, 2))), ids=str)
def test_the_scripts_know_the_same_limits(kit: StoreKit, turns: int, cost: int, done: int) -> None:
    """A retry is refused if and only if the turn would fail at once; the limits are those of create or set later."""
    task_id = worked(kit, done)
    set_limits(kit, task_id, turns, cost)
    forbidden = limit_reached(kit.store.get(task_id)) is not None
    assert kit.send(task_id, SignalKind.RETRY).verdict is (AT_LIMIT if forbidden else OK)


def created(kit: StoreKit, task_id: str, limits: Limits, **fields: int) -> str:
    """A task that was asked for with these limits, whose record has further or other fields."""
    kit.store.create(TaskSpec(task_id=task_id, name="n", prompt="p", model="m", limits=limits), f"key of {task_id}")
    if fields:
        kit.client.hset(kit.keys.task(task_id), mapping=fields)
    return task_id


LIMITED = f"task-{UUID(int=0x11)}"


def test_the_limits_of_create_are_fields_of_the_record(kit: StoreKit) -> None:
    """From the first moment on, beside those that the spec keeps as what was asked for."""
    asked = Limits(max_turns=7, max_cost_microusd=70)
    task_id = created(kit, LIMITED, asked)
    assert (kit.field(task_id, "max_turns"), kit.field(task_id, "max_cost_microusd")) == ("7", "70")
    record = kit.store.get(task_id)
    assert record.limits == record.spec.limits == asked


@pytest.mark.parametrize("field", ["max_turns", "max_cost_microusd"])
@pytest.mark.parametrize("holds", [0, 1])
def test_the_fields_hold_and_not_the_spec(kit: StoreKit, field: str, holds: int) -> None:
    """For who reads the record, and for the scripts: with a lower field nothing begins, with a higher one it does."""
    task_id = created(kit, LIMITED, Limits(**{field: 1 - holds}), **{field: holds})
    assert getattr(kit.store.get(task_id).limits, field) == holds
    settled = kit.store.finish(
        kit.claim(task_id), Changes(), FinishTo.LIMITED, 0, {"error": "No.", "recoverable": True}
    )
    assert settled.status is (Status.RUNNING if holds else Status.FAILED)
    if not holds:
        assert kit.send(task_id, SignalKind.RETRY).verdict is AT_LIMIT
        kit.client.hset(kit.keys.task(task_id), field, 1)
        assert kit.send(task_id, SignalKind.RETRY).verdict is OK


@pytest.mark.parametrize("field", ["max_turns", "max_cost_microusd"])
@pytest.mark.parametrize("asked", [0, 1])
def test_a_record_without_fields_obeys_its_spec(kit: StoreKit, field: str, asked: int) -> None:
    """An earlier release stored it: of what has no field the spec tells, and one field says nothing of the other."""
    for gone in ((field,), ("max_turns", "max_cost_microusd")):
        task_id = created(kit, f"task-{UUID(int=len(gone))}", Limits(**{field: asked}))
        kit.client.hdel(kit.keys.task(task_id), *gone)
        assert kit.store.get(task_id).limits == Limits(**{field: asked})
        lease = kit.claim(task_id)
        settled = kit.store.finish(lease, Changes(), FinishTo.LIMITED, 0, {"error": "No.", "recoverable": True})
        assert settled.status is (Status.RUNNING if asked else Status.FAILED)


def test_the_limits_of_create_hold_until_others_are_set(kit: StoreKit) -> None:
    """Those of the settings too, which are given for every task."""
    task_id = worked(kit, 50)
    assert kit.store.get(task_id).spec.limits.max_turns == 50
    assert kit.send(task_id, SignalKind.RETRY).verdict is AT_LIMIT
    assert kit.send(task_id, SignalKind.RETRY, limits=LimitChange(max_turns=51)).verdict is OK


@pytest.mark.parametrize("status", [Status.COMPLETED, Status.FAILED])
def test_limits_of_an_ended_task_keep_it_no_longer(kit: StoreKit, status: Status) -> None:
    """Nothing of it stays for ever, even if its idempotency keys had gone before."""
    task_id = kit.put(status)
    kit.client.delete(kit.keys.signals(task_id))
    assert set_limits(kit, task_id, turns=9) is OK
    assert kit.leaked_keys() == []
    assert kit.client.zscore(kit.keys.retention, task_id) is not None


def test_limits_of_a_cancelled_task_are_refused(kit: StoreKit) -> None:
    """It is over for good; and a signal without limits says nothing."""
    task_id = kit.put(Status.CANCELLED)
    assert set_limits(kit, task_id, turns=9) is NO
    assert set_limits(kit, kit.create()) is NO


# --- a limit that is raised while a turn fails at it ---


@pytest.mark.parametrize("raised", [False, True])
def test_a_limit_raised_since_the_claim_begins_the_turn_again(kit: StoreKit, raised: bool) -> None:
    """The turn is not counted and its journal stays, as when it fails."""
    task_id = kit.create()
    set_limits(kit, task_id, turns=0)
    lease = kit.claim(task_id)
    if raised:
        set_limits(kit, task_id, turns=1)
    entry = ToolEffect(key="t1", state=EffectState.PLANNED)
    settled = kit.finish(lease, FinishTo.LIMITED, Changes(journal=(entry,)), error="No.", recoverable=True)
    expected = (Status.RUNNING, "outbox") if raised else (Status.FAILED, "")
    assert (settled.status, settled.place, settled.iteration) == (*expected, 0)
    assert (kit.status(task_id), kit.place(task_id)) == expected
    assert kit.client.hexists(kit.keys.turn(task_id), "t1")
    again = kit.store.finish(lease, Changes(journal=(entry,)), FinishTo.LIMITED, 0, {})
    assert again == settled


# --- where turns are counted from ---


def test_a_message_that_begins_new_work_counts_turns_anew(kit: StoreKit) -> None:
    """One to a completed task, one that is waited for, and one that waits itself when the model ends its turn."""
    task_id = worked(kit, 2, FinishTo.COMPLETED)
    kit.send(task_id, SignalKind.INPUT, text="more")
    assert kit.store.get(task_id).turns_from == 3
    lease = kit.claim(task_id)
    kit.plant(task_id)
    kit.finish(lease, FinishTo.COMPLETED)  # the message was not read: it goes on
    assert (kit.place(task_id), kit.store.get(task_id).turns_from) == ("outbox", 4)
    lease = kit.claim(task_id)
    kit.finish(lease, FinishTo.WAIT, Changes(prompts_opened=(question(TALK),), add=MODEL_CALL))  # nor now
    assert (kit.place(task_id), kit.store.get(task_id).turns_from) == ("outbox", 5)


@pytest.mark.parametrize("paused", [False, True])
def test_a_message_that_was_waited_for_counts_turns_anew(kit: StoreKit, paused: bool) -> None:
    """Also when it came while the task was paused."""
    task_id = kit.create()
    for to in (FinishTo.NEXT, FinishTo.WAIT):
        opened = (question(TALK),) if to is FinishTo.WAIT else ()
        kit.finish(kit.claim(task_id), to, Changes(prompts_opened=opened, add=MODEL_CALL))
    if paused:
        kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.INPUT, text="more")
    if paused:
        kit.send(task_id, SignalKind.RESUME)
    assert (kit.place(task_id), kit.store.get(task_id).turns_from) == ("outbox", 2)


@pytest.mark.parametrize("paused", [False, True])
def test_an_answer_inside_the_work_counts_on(kit: StoreKit, paused: bool) -> None:
    """A permission is part of the work on one message; so is a message that nobody waits for."""
    task_id = kit.create()
    kit.finish(kit.claim(task_id), FinishTo.NEXT)
    kit.send(task_id, SignalKind.INPUT, text="by the way")
    kit.suspend(kit.claim(task_id), SuspendTo.WAIT, Changes(prompts_opened=(question(),)))
    if paused:
        kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.ANSWER, text="yes", prompt_id=ASK)
    if paused:
        kit.send(task_id, SignalKind.RESUME)
    assert (kit.place(task_id), kit.store.get(task_id).turns_from) == ("outbox", 0)


# --- a message to a completed task ---


def test_a_completed_task_goes_on_with_a_message(kit: StoreKit) -> None:
    """Its conversation is there, the message waits for the next turn, its keys are kept, nobody else can write."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.COMPLETED, Changes(entries=(text_entry("Done."),), add=MODEL_CALL), summary="Done.")
    fence, seq = kit.number(task_id, "fence"), kit.number(task_id, "seq")
    kit.client.delete(kit.keys.inbox(task_id))
    assert kit.send(task_id, SignalKind.INPUT, text="more").place == "outbox"
    assert (kit.number(task_id, "fence"), kit.number(task_id, "seq")) == (fence + 1, seq + 1)
    assert kit.client.zscore(kit.keys.retention, task_id) is None
    for key in (kit.keys.task, kit.keys.messages, kit.keys.events, kit.keys.inbox, kit.keys.signals):
        assert kit.client.pttl(key(task_id)) == -1
    assert kit.store.commit(replace(lease, token=1), Changes()).verdict is CommitVerdict.STALE
    claimed = kit.try_claim(task_id)
    assert [item.text for _, item in claimed.inbox] == ["more"]
    assert (len(claimed.entries), claimed.journal) == (2, {})


def test_no_message_wakes_a_completed_task_that_could_not_go_on(kit: StoreKit) -> None:
    """Without its conversation, or with its money spent, it stays completed."""
    spent, bare = worked(kit, 1, FinishTo.COMPLETED), kit.put(Status.COMPLETED)
    set_limits(kit, spent, cost=100)
    kit.client.delete(kit.keys.messages(bare))
    before = kit.state()
    assert kit.send(spent, SignalKind.INPUT, text="more").verdict is AT_LIMIT
    assert kit.send(bare, SignalKind.INPUT, text="more").verdict is NO
    assert kit.state() == before

"""suspend: each target, with each signal that can change it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.model.effect import EffectState, ToolEffect
from neuraphage.model.task import PausedDetail, StartedReason, Status
from neuraphage.ports import Changes, CommitVerdict, SignalKind, SuspendTo
from storekit import ASK, TALK, StoreKit, question, text_entry

ASKING = Changes(prompts_opened=(question(),))
TARGETS = tuple(SuspendTo)


def details(to: SuspendTo) -> dict[str, Any]:
    """The further arguments of a target."""
    if to is SuspendTo.POISONED:
        return {"detail": {"error": "broken", "recoverable": False}}
    return {"detail": {"resource": "file:a"}} if to is SuspendTo.BLOCKED else {}


@pytest.mark.parametrize(
    ("to", "status", "place"),
    [
        (SuspendTo.WAIT, Status.WAITING_FOR_USER, "waits"),
        (SuspendTo.TIMER, Status.RUNNING, "timers"),
        (SuspendTo.PAUSE, Status.RUNNING, "outbox"),
        (SuspendTo.SHUTDOWN, Status.RUNNING, "outbox"),
        (SuspendTo.BLOCKED, Status.BLOCKED, "waits"),
        (SuspendTo.POISONED, Status.FAILED, ""),
    ],
)
def test_moves_to_its_target(kit: StoreKit, to: SuspendTo, status: Status, place: str) -> None:
    """Without signals each target leads to its own place, keeps the iteration and raises seq."""
    task_id, lease = kit.running()
    changes = ASKING if to is SuspendTo.WAIT else Changes(entries=(text_entry("one"),))
    settled = kit.suspend(lease, to, changes, due_ms=kit.store.now_ms() + 60_000, **details(to))
    assert settled.verdict is CommitVerdict.COMMITTED
    assert (settled.status, settled.place, settled.seq, settled.iteration) == (status, place, 2, 0)
    assert (kit.status(task_id), kit.place(task_id), kit.number(task_id, "seq")) == (status, place, 2)


@pytest.mark.parametrize("to", TARGETS)
def test_cancel_comes_first(kit: StoreKit, to: SuspendTo) -> None:
    """A cancel that came before ends the task, whatever the worker wanted; what it wrote is kept."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.CANCEL, text="enough")
    changes = Changes(entries=(text_entry("one"),), prompts_opened=(question(deadline_ms=5),))
    settled = kit.suspend(lease, to, changes, **details(to))
    assert (settled.verdict, settled.status, settled.place) == (CommitVerdict.CANCELLED, Status.CANCELLED, "")
    record = kit.store.get(task_id)
    assert record.detail.reason == "enough"  # type: ignore[union-attr]  # the status above says which detail it is
    assert (record.place, record.prompts, record.pause_requested) == (None, (), False)
    assert kit.client.llen(kit.keys.messages(task_id)) == 2


@pytest.mark.parametrize("to", [t for t in TARGETS if t is not SuspendTo.POISONED])
def test_pause_comes_next(kit: StoreKit, to: SuspendTo) -> None:
    """A pause that came before stops the task; its flag is used up."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    settled = kit.suspend(lease, to, ASKING, due_ms=5, **details(to))
    assert (settled.verdict, settled.status, settled.place) == (CommitVerdict.COMMITTED, Status.PAUSED, "waits")
    record = kit.store.get(task_id)
    assert isinstance(record.detail, PausedDetail)
    assert (record.detail.reason, record.pause_requested, record.place) == ("user", False, "waits")


def test_a_poisoned_task_fails_even_when_paused(kit: StoreKit) -> None:
    """A record that cannot be read is not parked for later."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.suspend(lease, SuspendTo.POISONED, **details(SuspendTo.POISONED)).status is Status.FAILED
    assert kit.field(task_id, "pause") is None


def test_a_pause_whose_flag_is_gone_goes_on(kit: StoreKit) -> None:
    """Resume was faster than the worker: the task goes to the outbox, not to Paused."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    assert kit.suspend(lease, SuspendTo.PAUSE).place == "outbox"
    assert kit.status(task_id) is Status.RUNNING


def test_an_answer_that_was_faster_goes_on(kit: StoreKit) -> None:
    """The prompt was committed, answered, and only then the worker suspends: the outbox, not a wait."""
    task_id, lease = kit.running()
    kit.store.commit(lease, ASKING)
    kit.plant(task_id, "answer", ASK)
    settled = kit.suspend(replace(lease, token=1), SuspendTo.WAIT)
    assert (settled.status, settled.place) == (Status.RUNNING, "outbox")
    assert kit.store.get(task_id).started_reason is StartedReason.USER_INPUT


def test_input_does_not_answer_a_permission(kit: StoreKit) -> None:
    """Plain input in the inbox leaves a permission prompt waiting."""
    task_id, lease = kit.running()
    kit.plant(task_id)
    assert kit.suspend(lease, SuspendTo.WAIT, ASKING).status is Status.WAITING_FOR_USER


def test_input_answers_a_conversation(kit: StoreKit) -> None:
    """Input that came before the prompt opened counts for a conversation prompt."""
    task_id, lease = kit.running()
    kit.plant(task_id)
    opened = Changes(prompts_opened=(question(TALK),))
    assert kit.suspend(lease, SuspendTo.WAIT, opened).place == "outbox"


def test_consumed_input_does_not_wake(kit: StoreKit) -> None:
    """What the suspend itself consumes is not taken for news."""
    task_id, lease = kit.running()
    raw = kit.plant(task_id)
    opened = Changes(prompts_opened=(question(TALK),), consumed=(raw,))
    assert kit.suspend(lease, SuspendTo.WAIT, opened).status is Status.WAITING_FOR_USER


def test_an_answer_to_another_prompt_does_not_wake(kit: StoreKit) -> None:
    """Only an answer to a prompt that is still open ends the wait."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question("old"), question("new"))))
    kit.plant(task_id, "answer", "old")
    settled = kit.suspend(replace(lease, token=1), SuspendTo.WAIT, Changes(prompts_closed=("old",)))
    assert settled.status is Status.WAITING_FOR_USER


def test_a_wait_with_a_deadline(kit: StoreKit) -> None:
    """The deadline of an opened prompt is stored, and gone once it is answered."""
    task_id = kit.waiting(question(deadline_ms=77))
    assert kit.client.zscore(kit.keys.deadlines, f"{task_id}|{ASK}") == 77
    kit.plant(task_id, "answer", ASK)
    assert kit.client.zcard(kit.keys.deadlines) == 0


def test_a_timer_keeps_its_time(kit: StoreKit) -> None:
    """The due time is stored as given."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=1_900_000_000_123)
    assert kit.client.zscore(kit.keys.timers, task_id) == 1_900_000_000_123


@pytest.mark.parametrize("reason", ["", "recovered"])
def test_a_shutdown_counts_no_recovery(kit: StoreKit, reason: str) -> None:
    """A drained worker's task goes on at once and is no nearer to poison."""
    task_id, lease = kit.running()
    kit.suspend(lease, SuspendTo.SHUTDOWN, reason=reason)
    record = kit.store.get(task_id)
    assert (record.counters.recoveries, record.counters.recoveries_total) == (0, 0)
    assert (kit.field(task_id, "reason") or "") == reason


def test_the_journal_stays(kit: StoreKit) -> None:
    """A suspended turn keeps its journal, and adds to it."""
    task_id, lease = kit.running()
    one, two = (ToolEffect(key=k, state=EffectState.STARTED) for k in ("a", "b"))
    kit.store.commit(lease, Changes(journal=(one,)))
    kit.suspend(replace(lease, token=1), SuspendTo.SHUTDOWN, Changes(journal=(two,)))
    assert set(kit.client.hgetall(kit.keys.turn(task_id))) == {b"a", b"b"}


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("flag", [None, SignalKind.PAUSE, SignalKind.CANCEL])
def test_a_replay_gets_the_same_answer(kit: StoreKit, to: SuspendTo, flag: SignalKind | None) -> None:
    """The same suspend again is answered word for word and writes nothing."""
    task_id, lease = kit.running()
    if flag:
        kit.send(task_id, flag)
    first = kit.suspend(lease, to, ASKING, due_ms=kit.store.now_ms() + 9_000, **details(to))
    before = kit.state()
    assert kit.suspend(lease, to, ASKING, due_ms=1, **details(to)) == first
    assert kit.state() == before


@pytest.mark.parametrize("to", TARGETS)
def test_refusals_write_nothing(kit: StoreKit, to: SuspendTo) -> None:
    """STALE (fence, claim, no lease) and LOST leave everything as it was."""
    _, lease = kit.running()
    before = kit.state()
    for changed in (replace(lease, fence=9), replace(lease, claim_id="other")):
        assert kit.suspend(changed, to, ASKING).verdict is CommitVerdict.STALE
    assert kit.suspend(replace(lease, token=3), to, ASKING).verdict is CommitVerdict.LOST
    assert kit.state() == before
    kit.suspend(lease, SuspendTo.SHUTDOWN)
    before = kit.state()
    assert kit.suspend(replace(lease, token=1), to, ASKING).verdict is CommitVerdict.STALE
    assert kit.state() == before

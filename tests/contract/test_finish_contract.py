"""finish: each way a turn ends, with each signal that can change it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.errors import DamagedKey
from neuraphage.model.effect import EffectState, ModelEffect, ToolEffect
from neuraphage.model.prompt import InboxItem
from neuraphage.model.task import Status
from neuraphage.ports import Changes, CommitVerdict, FinishTo, Lease, RecoverVerdict, SignalKind
from neuraphage.store.encode import inbox_bytes
from storekit import ASK, MODEL_CALL, TALK, StoreKit, question, text_entry

TALKING = Changes(prompts_opened=(question(TALK),), add=MODEL_CALL)
TARGETS = tuple(FinishTo)
PER_TASK = ("task", "messages", "events", "why", "turn", "inbox", "signals")


def changes_of(to: FinishTo) -> Changes:
    """What a turn that ends this way writes."""
    return TALKING if to is FinishTo.WAIT else Changes(entries=(text_entry("end"),), add=MODEL_CALL)


def with_journal(kit: StoreKit) -> tuple[str, Lease]:
    """A running task whose journal has an entry."""
    task_id, lease = kit.running()
    call = ModelEffect(state=EffectState.COMPLETED)
    kit.store.commit(lease, Changes(journal=(call,)))
    return task_id, replace(lease, token=1)


@pytest.mark.parametrize(
    ("to", "status", "place", "iteration"),
    [
        (FinishTo.NEXT, Status.RUNNING, "outbox", 1),
        (FinishTo.WAIT, Status.WAITING_FOR_USER, "waits", 1),
        (FinishTo.COMPLETED, Status.COMPLETED, "", 1),
        (FinishTo.FAILED, Status.FAILED, "", 0),
    ],
)
def test_ends_the_turn(kit: StoreKit, to: FinishTo, status: Status, place: str, iteration: int) -> None:
    """Each target leads to its place; only a failed turn keeps iteration and journal, to be retried from."""
    task_id, lease = with_journal(kit)
    settled = kit.finish(lease, to, changes_of(to), summary="s", error="e", recoverable=True)
    assert settled.verdict is CommitVerdict.COMMITTED
    assert (settled.status, settled.place, settled.seq, settled.iteration) == (status, place, 2, iteration)
    assert (kit.status(task_id), kit.place(task_id), kit.number(task_id, "iteration")) == (status, place, iteration)
    assert kit.client.exists(kit.keys.turn(task_id)) == (1 if to is FinishTo.FAILED else 0)


@pytest.mark.parametrize("to", TARGETS)
def test_cancel_comes_first(kit: StoreKit, to: FinishTo) -> None:
    """A cancel that came before ends the task as Cancelled; the turn's changes are kept."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.CANCEL)
    settled = kit.finish(lease, to, changes_of(to))
    assert (settled.verdict, settled.status) == (CommitVerdict.CANCELLED, Status.CANCELLED)
    assert (kit.status(task_id), kit.place(task_id)) == (Status.CANCELLED, "")
    assert kit.number(task_id, "model_calls") == 1


@pytest.mark.parametrize("to", [FinishTo.NEXT, FinishTo.WAIT])
def test_pause_comes_next(kit: StoreKit, to: FinishTo) -> None:
    """A pause takes effect between turns and uses its flag up."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    settled = kit.finish(lease, to, changes_of(to))
    assert (settled.status, settled.place) == (Status.PAUSED, "waits")
    assert kit.field(task_id, "pause") is None
    assert kit.number(task_id, "iteration") == 1


@pytest.mark.parametrize("to", [FinishTo.COMPLETED, FinishTo.FAILED])
def test_an_ending_turn_is_not_paused(kit: StoreKit, to: FinishTo) -> None:
    """A task that ends has nothing left to pause."""
    task_id, lease = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.finish(lease, to).place == ""
    assert kit.field(task_id, "pause") is None


def test_unread_input_makes_completed_go_on(kit: StoreKit) -> None:
    """A message that no turn has read is never dropped."""
    task_id, lease = kit.running()
    raw = kit.plant(task_id)
    settled = kit.finish(lease, FinishTo.COMPLETED)
    assert (settled.status, settled.place, settled.iteration) == (Status.RUNNING, "outbox", 1)
    assert kit.inbox(task_id) == [raw]


def test_an_unread_answer_makes_completed_go_on(kit: StoreKit) -> None:
    """An accepted answer is never dropped either, even when its prompt was closed meanwhile."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(TALK),)))
    raw = kit.plant(task_id, "answer", TALK)
    kit.store.commit(replace(lease, token=1), Changes(prompts_closed=(TALK,)))
    assert kit.finish(replace(lease, token=2), FinishTo.COMPLETED).place == "outbox"
    assert kit.inbox(task_id) == [raw]


def test_words_that_schema_1_kept_as_an_answer_are_not_lost(kit: StoreKit) -> None:
    """They stood in the inbox as an answer to a prompt whose id said what it was, also when that prompt was closed."""
    task_id, lease = kit.running()
    sent = InboxItem(kind="answer", key="k", text="words", prompt_id=TALK)
    kit.client.rpush(kit.keys.inbox(task_id), inbox_bytes(sent))
    assert kit.finish(lease, FinishTo.COMPLETED, Changes(add=MODEL_CALL)).place == "outbox"
    ((_, read),) = kit.try_claim(task_id).inbox
    assert (read.kind, read.text) == ("input", "words")


def test_an_unread_answer_to_an_open_prompt_makes_completed_go_on(kit: StoreKit) -> None:
    """Also one to a permission that the turn has asked for and did not wait for."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),)))
    raw = kit.plant(task_id, "answer", ASK)
    assert kit.finish(replace(lease, token=1), FinishTo.COMPLETED).place == "outbox"
    assert kit.inbox(task_id) == [raw]


def test_input_read_in_the_turn_lets_it_complete(kit: StoreKit) -> None:
    """Input consumed by an earlier commit of the turn holds nothing up."""
    task_id, lease = kit.running()
    raw = kit.plant(task_id)
    kit.store.commit(lease, Changes(consumed=(raw,)))
    assert kit.finish(replace(lease, token=1), FinishTo.COMPLETED).status is Status.COMPLETED


@pytest.mark.parametrize(("kind", "place"), [("input", "outbox"), ("answer", "")])
def test_what_the_last_write_takes_in(kit: StoreKit, kind: str, place: str) -> None:
    """Input that only the finish takes in was read by no model yet; an answer was read by the turn."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),)))
    raw = kit.plant(task_id, kind, ASK if kind == "answer" else None)
    changes = Changes(consumed=(raw,), prompts_closed=(ASK,), add=MODEL_CALL)
    assert kit.finish(replace(lease, token=1), FinishTo.COMPLETED, changes).place == place
    assert kit.inbox(task_id) == []


def test_an_answer_without_its_prompt_holds_nothing_up(kit: StoreKit) -> None:
    """An answer left over from a failed turn does not keep the retried task from ending for ever."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),)))
    kit.plant(task_id, "answer", ASK)
    kit.finish(replace(lease, token=1), FinishTo.FAILED, error="e", recoverable=True)
    kit.send(task_id, SignalKind.RETRY)
    assert len(kit.inbox(task_id)) == 1
    assert kit.finish(kit.claim(task_id), FinishTo.COMPLETED).status is Status.COMPLETED


def test_unread_input_and_pause(kit: StoreKit) -> None:
    """Going on with unread input still respects a pause."""
    task_id, lease = kit.running()
    kit.plant(task_id)
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.finish(lease, FinishTo.COMPLETED).status is Status.PAUSED
    assert kit.send(task_id, SignalKind.RESUME).place == "outbox"


@pytest.mark.parametrize("kind", ["input", "answer"])
def test_a_wait_whose_word_is_there_goes_on(kit: StoreKit, kind: str) -> None:
    """A conversational turn that ends after the person has spoken goes on at once."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(TALK),)))
    kit.plant(task_id, kind, TALK if kind == "answer" else None)
    settled = kit.finish(replace(lease, token=1), FinishTo.WAIT, TALKING)
    assert (settled.status, settled.place, settled.iteration) == (Status.RUNNING, "outbox", 1)


def test_another_iteration_is_lost(kit: StoreKit) -> None:
    """A worker that holds another turn number has missed something."""
    _, lease = kit.running()
    before = kit.state()
    assert kit.store.finish(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 1, {}).verdict is CommitVerdict.LOST
    assert kit.state() == before


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("flag", [None, SignalKind.PAUSE, SignalKind.CANCEL, SignalKind.INPUT])
def test_a_replay_gets_the_same_answer(kit: StoreKit, to: FinishTo, flag: SignalKind | None) -> None:
    """The same finish again is answered word for word and writes nothing, whatever happened inside."""
    task_id, lease = kit.running()
    if flag:
        kit.send(task_id, flag)
    detail = {"error": "e", "summary": "s"}
    first = kit.store.finish(lease, changes_of(to), to, 0, detail)
    before = kit.state()
    assert kit.store.finish(lease, changes_of(to), to, 0, detail) == first
    assert kit.state() == before


def test_a_replay_is_known_after_the_next_turn_was_queued_and_failed(kit: StoreKit) -> None:
    """A late replay of the last finish is still answered, though the fence has moved by a cancel."""
    task_id, lease = kit.running()
    first = kit.finish(lease, FinishTo.NEXT)
    kit.send(task_id, SignalKind.CANCEL)
    before = kit.state()
    assert kit.store.finish(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 0, {}) == first
    assert kit.state() == before


def test_a_replay_after_the_next_claim_is_stale(kit: StoreKit) -> None:
    """Once another claim holds the task, an old finish is stale and counts no turn."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT)
    kit.claim(task_id, "p2")
    before = kit.state()
    assert kit.store.finish(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 0, {}).verdict is CommitVerdict.STALE
    assert kit.state() == before


@pytest.mark.parametrize("to", TARGETS)
def test_refusals_write_nothing(kit: StoreKit, to: FinishTo) -> None:
    """STALE and LOST leave everything as it was."""
    _, lease = kit.running()
    before = kit.state()
    for changed in (replace(lease, fence=9), replace(lease, claim_id="other")):
        assert kit.finish(changed, to).verdict is CommitVerdict.STALE
    assert kit.finish(replace(lease, token=3), to).verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_how_long_an_ended_task_is_kept(kit: StoreKit) -> None:
    """Conversation, record and history for thirty days; journal, inbox and signal keys for one."""
    task_id, _ = kit.running()
    kit.recover(task_id)
    kit.plant(task_id)
    call = ToolEffect(key="act", state=EffectState.COMPLETED)
    kit.finish(kit.claim(task_id), FinishTo.FAILED, Changes(journal=(call,)), error="e", recoverable=True)
    kept_days = {name: kit.client.pttl(getattr(kit.keys, name)(task_id)) / 86_400_000 for name in PER_TASK}
    long, short = ("task", "messages", "events", "why"), ("turn", "inbox", "signals")
    assert {name: round(days, 2) for name, days in kept_days.items()} == dict.fromkeys(long, 30) | dict.fromkeys(
        short, 1
    )
    due_ms = kit.client.zscore(kit.keys.retention, task_id) - kit.store.now_ms()
    assert round(due_ms / 86_400_000, 2) == 30


@pytest.mark.parametrize("to", [FinishTo.COMPLETED, FinishTo.FAILED])
def test_an_ended_task_is_no_suspect(kit: StoreKit, to: FinishTo) -> None:
    """Its holder was late, then ended it after all: nothing of the suspicion is left, also for years."""
    task_id, lease = kit.running()
    kit.expire_lease(task_id)
    assert kit.recover(task_id, "expired").verdict is RecoverVerdict.SUSPECT
    assert kit.client.hexists(kit.keys.suspects, task_id)
    kit.finish(lease, to, error="e", recoverable=True)
    assert not kit.client.exists(kit.keys.suspects)


@pytest.mark.parametrize("to", [FinishTo.COMPLETED, FinishTo.FAILED, FinishTo.WAIT])
def test_an_end_whose_keys_are_damaged_is_not_begun(kit: StoreKit, to: FinishTo) -> None:
    """What only the end of a task touches is looked at before it, and holds up no turn that goes on."""
    task_id, lease = kit.running()
    damaged = kit.keys.status(
        {FinishTo.COMPLETED: Status.COMPLETED, FinishTo.FAILED: Status.FAILED}.get(to, Status.PAUSED)
    )
    kit.client.set(damaged, "damaged")
    before = kit.state()
    with pytest.raises(DamagedKey, match="neuraphage repair"):
        kit.finish(lease, to, changes_of(to), error="e", recoverable=True)
    assert kit.state() == before
    assert kit.finish(lease, FinishTo.NEXT).place == "outbox"
    kit.client.delete(damaged)
    assert kit.place(task_id) == "outbox"


def test_an_ended_task_closes_its_prompts(kit: StoreKit) -> None:
    """No prompt, deadline or remembered answer outlives the task; its keys are on their way out."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(deadline_ms=7), question(TALK))))
    kit.plant(task_id, "answer", ASK)
    kit.finish(replace(lease, token=1), FinishTo.FAILED, error="e", recoverable=True)
    fields = kit.client.hgetall(kit.keys.task(task_id))
    assert not [name for name in fields if name.startswith((b"p:", b"a:"))]
    assert kit.client.zcard(kit.keys.deadlines) == 0
    assert kit.client.zscore(kit.keys.retention, task_id) > kit.store.now_ms()

"""signal: each kind in each status, and what makes a repeat harmless."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from neuraphage.errors import BadInput
from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect, ToolEffect
from neuraphage.model.limits import LimitChange
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import Changes, FinishTo, SignalKind, SignalVerdict, SuspendTo
from patience import PATIENCE_S
from storekit import ASK, MODEL_CALL, TALK, StoreKit, item, question, text_entry

Q, R, W, B, P, C, F, X = Status
OK, NO, SHUT = SignalVerdict.ACCEPTED, SignalVerdict.ILLEGAL, SignalVerdict.PROMPT_NOT_OPEN
NONE, FREE = SignalVerdict.NO_DEPENDENCY, SignalVerdict.NOT_HELD
# status before -> (verdict, status after, place after) for each kind; the Running task is leased,
# WaitingForUser has the permission prompt ASK open, no other status has a prompt.
TABLE: dict[SignalKind, dict[Status, tuple[SignalVerdict, Status, str]]] = {
    SignalKind.INPUT: {
        Q: (OK, Q, "outbox"), R: (OK, R, "leases"), W: (OK, W, "waits"), B: (OK, B, "waits"), P: (OK, P, "waits"),
        C: (OK, Q, "outbox"), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.ANSWER: {
        Q: (SHUT, Q, "outbox"), R: (SHUT, R, "leases"), W: (OK, Q, "outbox"), B: (SHUT, B, "waits"),
        P: (SHUT, P, "waits"), C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.PAUSE: {
        Q: (OK, P, "waits"), R: (OK, R, "leases"), W: (OK, P, "waits"), B: (OK, P, "waits"), P: (NO, P, "waits"),
        C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.RESUME: {
        Q: (NO, Q, "outbox"), R: (NO, R, "leases"), W: (NO, W, "waits"), B: (NO, B, "waits"), P: (OK, Q, "outbox"),
        C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.CANCEL: {
        Q: (OK, X, ""), R: (OK, R, "leases"), W: (OK, X, ""), B: (OK, X, ""), P: (OK, X, ""),
        C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.RETRY: {
        Q: (NO, Q, "outbox"), R: (NO, R, "leases"), W: (NO, W, "waits"), B: (NO, B, "waits"), P: (NO, P, "waits"),
        C: (NO, C, ""), F: (OK, Q, "outbox"), X: (NO, X, ""),
    },
    SignalKind.RESET: {
        Q: (NO, Q, "outbox"), R: (NO, R, "leases"), W: (NO, W, "waits"), B: (NO, B, "waits"), P: (NO, P, "waits"),
        C: (NO, C, ""), F: (OK, Q, "outbox"), X: (NO, X, ""),
    },
    SignalKind.RETRY_REPLY: {
        Q: (NO, Q, "outbox"), R: (NO, R, "leases"), W: (NO, W, "waits"), B: (NO, B, "waits"), P: (NO, P, "waits"),
        C: (OK, Q, "outbox"), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.DEPEND: {
        Q: (OK, B, "waits"), R: (NO, R, "leases"), W: (NO, W, "waits"), B: (NO, B, "waits"), P: (OK, P, "waits"),
        C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.UNDEPEND: {
        Q: (NONE, Q, "outbox"), R: (NONE, R, "leases"), W: (NONE, W, "waits"), B: (NONE, B, "waits"),
        P: (NONE, P, "waits"), C: (NO, C, ""), F: (NO, F, ""), X: (NO, X, ""),
    },
    SignalKind.UNLOCK: {
        Q: (FREE, Q, "outbox"), R: (FREE, R, "leases"), W: (FREE, W, "waits"), B: (FREE, B, "waits"),
        P: (FREE, P, "waits"), C: (FREE, C, ""), F: (FREE, F, ""), X: (FREE, X, ""),
    },
    SignalKind.MODEL: {
        Q: (OK, Q, "outbox"), R: (OK, R, "leases"), W: (OK, W, "waits"), B: (OK, B, "waits"), P: (OK, P, "waits"),
        C: (OK, C, ""), F: (OK, F, ""), X: (NO, X, ""),
    },
    SignalKind.LIMIT: {
        Q: (OK, Q, "outbox"), R: (OK, R, "leases"), W: (OK, W, "waits"), B: (OK, B, "waits"), P: (OK, P, "waits"),
        C: (OK, C, ""), F: (OK, F, ""), X: (NO, X, ""),
    },
}  # fmt: skip
MORE: dict[SignalKind, dict[str, Any]] = {
    SignalKind.ANSWER: {"prompt_id": ASK},
    SignalKind.LIMIT: {"limits": LimitChange(max_turns=7)},
    SignalKind.MODEL: {"choice": ModelChoice(model="openai:m")},
}
"""What a kind of signal needs beside its text."""
ROWS = [(kind, status) for kind in SignalKind for status in Status]


@pytest.mark.parametrize(("kind", "status"), ROWS, ids=lambda value: value.value)
def test_every_kind_in_every_status(kit: StoreKit, kind: SignalKind, status: Status) -> None:
    """The verdict, status and place of all pairs; a refusal changes nothing, a repeat changes nothing more."""
    task_id, more = kit.put(status), MORE.get(kind, {}) | kit.edge(kind)
    before, seq = kit.state(), kit.number(task_id, "seq")
    sent = kit.send(task_id, kind, "key-1", text="words", **more)
    verdict, after, place = TABLE[kind][status]
    assert (sent.verdict, sent.status, sent.place) == (verdict, after, place)
    assert (kit.status(task_id), kit.place(task_id)) == (after, place)
    if verdict is not OK:
        assert kit.state() == before
        return
    moved = after is not status or place != {P: "waits"}.get(status, place)
    assert kit.number(task_id, "seq") == seq + (1 if moved else 0)
    assert sent.seq == kit.number(task_id, "seq")
    between = kit.state()
    again = kit.send(task_id, kind, "key-1", text="words", **more)
    assert (again.verdict, again.status, again.place) == (SignalVerdict.REPEATED, after, place)
    assert kit.state() == between


@pytest.mark.parametrize("kind", list(SignalKind))
def test_a_missing_task_is_not_found(kit: StoreKit, kind: SignalKind) -> None:
    """A signal to nobody writes nothing."""
    task_id, more = (
        "task-00000000-0000-0000-0000-00000000dead",
        {"prompt_id": ASK, **MORE.get(kind, {}), **kit.edge(kind)},
    )
    before = kit.state()
    assert kit.send(task_id, kind, **more).verdict is SignalVerdict.NOT_FOUND
    assert kit.state() == before


@pytest.mark.parametrize("status", [s for s in Status if s not in TERMINAL])
def test_an_open_prompt_takes_its_answer_in_every_status(kit: StoreKit, status: Status) -> None:
    """While the prompt is open, its answer is accepted once, wherever the task stands."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(), question("other"))))
    lease = replace(lease, token=1)
    if status is B:
        kit.suspend(lease, SuspendTo.BLOCKED)
    elif status in (W, Q):
        kit.suspend(lease, SuspendTo.WAIT)
        if status is Q:
            kit.plant(task_id, "answer", "other")
    elif status is P:
        kit.send(task_id, SignalKind.PAUSE)
        kit.suspend(lease, SuspendTo.PAUSE)
    assert kit.status(task_id) is status
    raw = kit.plant(task_id, "answer", ASK)
    assert (item(raw).prompt_id, item(raw).text, item(raw).by) == (ASK, "words", "user")
    before = kit.state()
    assert kit.send(task_id, SignalKind.ANSWER, "a second answer", prompt_id=ASK).verdict is SHUT
    assert kit.state() == before


def test_a_closed_prompt_takes_no_answer(kit: StoreKit) -> None:
    """Once closed, a prompt is not open."""
    task_id, lease = kit.running()
    kit.store.commit(lease, Changes(prompts_opened=(question(),)))
    kit.store.commit(replace(lease, token=1), Changes(prompts_closed=(ASK,)))
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id=ASK).verdict is SHUT
    assert kit.inbox(task_id) == []


def test_input_wakes_a_conversation(kit: StoreKit) -> None:
    """A task that waits for the person's next message goes on with any input."""
    task_id = kit.waiting(question(TALK))
    assert kit.send(task_id, SignalKind.INPUT, text="go on").status is Q
    assert kit.place(task_id) == "outbox"


def test_an_answer_in_a_conversation_is_words_to_the_model(kit: StoreKit) -> None:
    """It wakes the task, and a worker reads it as it reads any message; the prompt is known by its kind alone."""
    task_id = kit.waiting(Prompt(prompt_id="next", kind=PromptKind.CONVERSATION, text="Your turn."))
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id="next", text="go on").place == "outbox"
    assert kit.send(task_id, SignalKind.ANSWER, "other", prompt_id="next").verdict is SignalVerdict.PROMPT_NOT_OPEN
    ((_, sent),) = kit.try_claim(task_id).inbox
    assert (sent.kind, sent.text, sent.prompt_id) == ("input", "go on", "next")


def test_input_answers_no_permission(kit: StoreKit) -> None:
    """It waits for the next request; the task goes on waiting for its answer."""
    task_id = kit.waiting()
    assert kit.send(task_id, SignalKind.INPUT, text="hello").status is Status.WAITING_FOR_USER
    assert kit.place(task_id) == "waits"


def test_a_full_inbox_refuses_input(kit: StoreKit) -> None:
    """At the limit no more input is accepted, and nothing changes."""
    task_id = kit.waiting()
    for _ in range(kit.store.context.settings.max_inbox_items):
        kit.plant(task_id)
    before = kit.state()
    assert kit.send(task_id, SignalKind.INPUT).verdict is SignalVerdict.FULL
    assert kit.state() == before


def test_a_full_inbox_takes_the_answer_that_is_waited_for(kit: StoreKit) -> None:
    """Otherwise a task with a full inbox could never be answered, and never read its inbox."""
    task_id = kit.waiting()
    for _ in range(kit.store.context.settings.max_inbox_items):
        kit.plant(task_id)
    assert kit.send(task_id, SignalKind.ANSWER, prompt_id=ASK).place == "outbox"


def test_text_over_the_limit_is_refused_before_it_is_sent(kit: StoreKit) -> None:
    """The limit on one entry holds for signals of every kind."""
    task_id = kit.create()
    long = "x" * (kit.store.context.settings.max_entry_bytes + 1)
    for kind in (SignalKind.INPUT, SignalKind.CANCEL):
        with pytest.raises(BadInput, match="max_entry_bytes"):
            kit.send(task_id, kind, text=long)


def test_resume_without_the_answer_waits_again(kit: StoreKit) -> None:
    """Pausing a question and resuming it leads back to the question."""
    task_id = kit.waiting()
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.send(task_id, SignalKind.RESUME).status is W
    assert kit.place(task_id) == "waits"


def test_resume_with_the_answer_goes_on(kit: StoreKit) -> None:
    """An answer given while paused is used at resume."""
    task_id = kit.waiting()
    kit.send(task_id, SignalKind.PAUSE)
    kit.plant(task_id, "answer", ASK)
    assert kit.status(task_id) is P
    assert kit.send(task_id, SignalKind.RESUME).place == "outbox"


@pytest.mark.parametrize(("kind", "flag"), [(SignalKind.PAUSE, "pause"), (SignalKind.CANCEL, "cancel")])
def test_flags_nudge_the_holder(kit: StoreKit, kind: SignalKind, flag: str) -> None:
    """While a process holds the task, pause and cancel are flags and are announced at once."""
    task_id, _ = kit.running()
    with kit.client.pubsub(ignore_subscribe_messages=True) as channel:
        channel.subscribe(kit.keys.nudge)
        channel.get_message(timeout=PATIENCE_S)
        kit.send(task_id, kind)
        message = channel.get_message(timeout=PATIENCE_S)
    assert message["data"] == task_id.encode()
    assert kit.field(task_id, flag) == "1"
    assert kit.place(task_id) == "leases"


def test_resume_takes_a_pause_back(kit: StoreKit) -> None:
    """A pause that no worker has seen yet is withdrawn, and a second resume has nothing to do."""
    task_id, _ = kit.running()
    kit.send(task_id, SignalKind.PAUSE)
    assert kit.send(task_id, SignalKind.RESUME).verdict is OK
    assert kit.field(task_id, "pause") is None
    assert kit.send(task_id, SignalKind.RESUME).verdict is NO


@pytest.mark.parametrize("kind", [SignalKind.RETRY, SignalKind.RESET])
def test_revival_shuts_the_former_holder_out(kit: StoreKit, kind: SignalKind) -> None:
    """retry and reset raise fence and seq, keep the task's keys again, and count."""
    task_id = kit.put(F)
    fence, seq = kit.number(task_id, "fence"), kit.number(task_id, "seq")
    kit.send(task_id, kind)
    assert (kit.number(task_id, "fence"), kit.number(task_id, "seq")) == (fence + 1, seq + 1)
    assert kit.number(task_id, "retry_count") == 1
    assert kit.client.zscore(kit.keys.retention, task_id) is None
    for key in (kit.keys.task, kit.keys.messages, kit.keys.events):
        assert kit.client.pttl(key(task_id)) == -1


def test_retry_goes_on_from_the_failed_turn(kit: StoreKit) -> None:
    """retry keeps conversation, iteration and tool journal, and forgets only the failed model call."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, Changes(entries=(text_entry("turn 0"),), add=MODEL_CALL))
    lease = kit.claim(task_id)
    call = ModelEffect(state=EffectState.FAILED, error="no")
    tool = ToolEffect(key="tool-1", state=EffectState.COMPLETED)
    kit.finish(lease, FinishTo.FAILED, Changes(journal=(call, tool)), error="no", recoverable=True)
    kit.send(task_id, SignalKind.RETRY)
    claimed = kit.try_claim(task_id)
    assert claimed.record is not None
    assert claimed.record.counters.iteration == 1
    assert set(claimed.journal) == {"tool-1"}
    assert len(claimed.entries) == 2


def test_reset_archives_and_starts_over(kit: StoreKit) -> None:
    """reset keeps the first message only; the old conversation expires in an archive."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, Changes(entries=(text_entry("turn 0"),), add=MODEL_CALL))
    call = ModelEffect(state=EffectState.COMPLETED)
    begun = Changes(journal=(call,), marker=Marker(name=MarkerName.RESPONSE_RECEIVED, response_hash="h"))
    kit.finish(kit.claim(task_id), FinishTo.FAILED, begun, error="no", recoverable=False)
    fence = kit.number(task_id, "fence")
    kit.send(task_id, SignalKind.RESET)
    archive = kit.keys.archive(task_id, str(fence))
    assert kit.client.llen(archive) == 2
    assert kit.client.pttl(archive) > 0
    assert kit.client.llen(kit.keys.messages(task_id)) == 1
    claimed = kit.try_claim(task_id)
    assert claimed.record is not None
    assert (claimed.record.counters.iteration, claimed.record.marker.name.value) == (0, "task_created")
    assert claimed.journal == {}


def test_an_unrecoverable_failure_offers_no_retry(kit: StoreKit) -> None:
    """Only reset leads out of it."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.FAILED, error="no", recoverable=False)
    assert kit.send(task_id, SignalKind.RETRY).verdict is NO
    assert kit.send(task_id, SignalKind.RESET).verdict is OK


@pytest.mark.parametrize("kind", [SignalKind.RETRY, SignalKind.RESET])
def test_nothing_revives_a_task_without_its_conversation(kit: StoreKit, kind: SignalKind) -> None:
    """Without the first message there is nothing to start from."""
    task_id = kit.put(F)
    kit.client.delete(kit.keys.messages(task_id))
    before = kit.state()
    assert kit.send(task_id, kind).verdict is NO
    assert kit.state() == before


def test_remembered_keys_are_capped(kit: StoreKit) -> None:
    """The idempotency keys of a task never grow past their limit, and the newest stay."""
    task_id = kit.create()
    kit.client.zadd(kit.keys.signals(task_id), {f"old-{n}": n for n in range(1_000)})
    kit.send(task_id, SignalKind.INPUT, "newest")
    assert kit.client.zcard(kit.keys.signals(task_id)) == 1_000
    assert kit.client.zscore(kit.keys.signals(task_id), "newest") is not None


def test_a_deadline_of_a_prompt_that_is_gone_goes_too(kit: StoreKit) -> None:
    """The sweep's answer to it is refused once and for all; it must not come back to every sweep."""
    task_id = kit.create()
    kit.client.zadd(kit.keys.deadlines, {f"{task_id}|gone": 1})
    sent = kit.send(task_id, SignalKind.ANSWER, text="no", prompt_id="gone", by="timeout")
    assert sent.verdict is SignalVerdict.PROMPT_NOT_OPEN
    assert kit.client.zcard(kit.keys.deadlines) == 0


def test_resets_are_counted(kit: StoreKit) -> None:
    """Retries are none: their turn goes on with the calls that it had begun."""
    task_id = kit.put(F)
    for kind in (SignalKind.RETRY, SignalKind.RESET, SignalKind.RESET):
        kit.send(task_id, kind)
        kit.finish(kit.claim(task_id), FinishTo.FAILED, error="no", recoverable=True)
    assert kit.store.get(task_id).resets == 2

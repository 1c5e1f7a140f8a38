"""retry_reply: the model is asked again for its last reply; what hides that one is added, nothing is taken away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.decide.superseding import superseding
from neuraphage.model.base import SCHEMA_VERSION
from neuraphage.model.message import Entry
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.task import Status
from neuraphage.ports import Changes, FinishTo, SignalKind, SignalVerdict
from neuraphage.store import queries
from storekit import ASK, MODEL_CALL, TALK, StoreKit, question, text_entry

OK, NO, AT_LIMIT = SignalVerdict.ACCEPTED, SignalVerdict.ILLEGAL, SignalVerdict.AT_LIMIT
REPLY = Entry(role="assistant", content=[{"type": "text", "text": "Hm."}])
AGAIN = SignalKind.RETRY_REPLY


def rested(kit: StoreKit) -> str:
    """A conversation whose model has ended its turn with a reply: it waits for the person's next message."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.WAIT, Changes(entries=(REPLY,), add=MODEL_CALL, prompts_opened=(question(TALK),)))
    assert kit.status(task_id) is Status.WAITING_FOR_USER
    return task_id


def completed(kit: StoreKit) -> str:
    """A task that the model has ended with a reply."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.COMPLETED, Changes(entries=(REPLY,), add=MODEL_CALL), summary="Hm.")
    return task_id


BOTH = pytest.mark.parametrize("status", [Status.WAITING_FOR_USER, Status.COMPLETED])


def put(kit: StoreKit, status: Status) -> str:
    """A task that stands there with a reply as its last entry."""
    return rested(kit) if status is Status.WAITING_FOR_USER else completed(kit)


def stored(kit: StoreKit, task_id: str) -> list[dict[str, object]]:
    """The conversation."""
    return queries.conversation(kit.store.context, task_id)


@BOTH
def test_an_entry_is_added_and_a_turn_is_due(kit: StoreKit, status: Status) -> None:
    """Nothing of the conversation goes; the prompt that waited for a message does, and costs stay counted."""
    task_id = put(kit, status)
    before, record = stored(kit, task_id), kit.store.get(task_id)
    sent = kit.send(task_id, AGAIN)
    assert (sent.verdict, sent.status, sent.place) == (OK, Status.QUEUED, "outbox")
    assert stored(kit, task_id) == [
        *before,
        {"role": "user", "content": [], "turn": 0, "v": SCHEMA_VERSION, "supersedes": 1},
    ]
    now = kit.store.get(task_id)
    assert now.prompts == ()
    assert now.counters == record.counters
    assert now.turns_from == now.counters.iteration
    assert kit.leaked_keys() == []
    kit.check()
    claimed = kit.try_claim(task_id)
    assert [entry.get("supersedes") for entry in claimed.entries] == [None, None, 1]


def test_the_claim_of_a_process_that_knows_the_conversation_reads_it(kit: StoreKit) -> None:
    """Who has written the reply holds it in memory, and what is added behind it is read."""
    task_id = rested(kit)
    kit.send(task_id, AGAIN)
    assert kit.try_claim(task_id).entries[-1]["supersedes"] == 1


@BOTH
def test_a_repeat_adds_nothing(kit: StoreKit, status: Status) -> None:
    """Under the same key, also once the task has gone on."""
    task_id = put(kit, status)
    assert kit.send(task_id, AGAIN, "again").verdict is OK
    between = kit.state()
    assert kit.send(task_id, AGAIN, "again").verdict is SignalVerdict.REPEATED
    assert kit.send(task_id, AGAIN, "again", entry=None).verdict is SignalVerdict.REPEATED
    assert kit.state() == between
    kit.finish(kit.claim(task_id), FinishTo.COMPLETED, Changes(entries=(REPLY,)))
    ended = kit.state()
    assert kit.send(task_id, AGAIN, "again").verdict is SignalVerdict.REPEATED
    assert kit.state() == ended


@BOTH
def test_another_reply_than_the_one_that_was_meant_stays(kit: StoreKit, status: Status) -> None:
    """The conversation was read at a seq; at any other one nothing is superseded."""
    task_id = put(kit, status)
    seq = kit.number(task_id, "seq")
    sent = kit.plant(task_id)
    taken = Changes(entries=(text_entry("go on"), REPLY), consumed=(sent,))
    lease = kit.claim(task_id)
    kit.store.commit(lease, taken)
    kit.finish(replace(lease, token=1), FinishTo.COMPLETED)
    assert kit.status(task_id) is Status.COMPLETED
    before = kit.state()
    assert kit.send(task_id, AGAIN, seq=seq, entry=superseding(1, 1)).verdict is SignalVerdict.GONE_ON
    assert kit.state() == before


@BOTH
def test_where_there_is_no_reply_nothing_is_added(kit: StoreKit, status: Status) -> None:
    """The caller found only results of tools."""
    task_id = put(kit, status)
    before = kit.state()
    assert kit.send(task_id, AGAIN, entry=None).verdict is SignalVerdict.NO_REPLY
    assert kit.state() == before


def test_a_task_that_asks_something_else_is_left_alone(kit: StoreKit) -> None:
    """A permission or a question stands in the midst of a turn."""
    for prompt in (question(), Prompt(prompt_id=ASK, kind=PromptKind.QUESTION, text="Which?")):
        task_id = kit.waiting(prompt)
        assert kit.send(task_id, AGAIN).verdict is NO
        assert [one.prompt_id for one in kit.store.get(task_id).prompts] == [ASK]


def test_a_conversation_that_is_gone_is_not_begun_by_it(kit: StoreKit) -> None:
    """An ended task whose messages are gone stays as it is."""
    task_id = completed(kit)
    kit.client.delete(kit.keys.messages(task_id))
    assert kit.send(task_id, AGAIN).verdict is NO
    assert not kit.client.exists(kit.keys.messages(task_id))


@BOTH
def test_at_its_limit_of_money_it_waits(kit: StoreKit, status: Status) -> None:
    """What the superseded reply has cost counts. The limit of turns counts anew."""
    task_id = put(kit, status)
    kit.client.hset(kit.keys.task(task_id), mapping={"max_turns": 1, "max_cost_microusd": 100, "cost_microusd": 100})
    before = kit.state()
    assert kit.send(task_id, AGAIN).verdict is AT_LIMIT
    assert kit.state() == before
    kit.client.hset(kit.keys.task(task_id), "max_cost_microusd", 101)
    assert kit.send(task_id, AGAIN).verdict is OK


@BOTH
def test_an_older_worker_sees_that_a_newer_release_wrote(kit: StoreKit, status: Status) -> None:
    """The entry is of this schema, so the record says so."""
    task_id = put(kit, status)
    kit.client.hset(kit.keys.task(task_id), "schema", 1)
    kit.send(task_id, AGAIN)
    assert kit.field(task_id, "schema") == str(SCHEMA_VERSION)


def test_no_former_holder_writes_to_an_ended_task_that_goes_on(kit: StoreKit) -> None:
    """Its fence is raised."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.COMPLETED, Changes(entries=(REPLY,)))
    kit.send(task_id, AGAIN)
    before = kit.state()
    assert kit.number(task_id, "fence") == lease.fence + 1
    assert kit.store.commit(replace(lease, token=2), Changes(entries=(REPLY,))).verdict.value == "STALE"
    assert kit.state() == before


def test_who_did_it_to_which_prompt_is_told(kit: StoreKit) -> None:
    """For those who come later, and for who answers the prompt that is gone."""
    talking, ended = rested(kit), completed(kit)
    kit.send(talking, AGAIN, who="anna")
    kit.send(ended, AGAIN)
    told = [queries.events(kit.store.context, task_id)[-1] for task_id in (talking, ended)]
    assert [event.kind for event in told] == ["ReplySuperseded"] * 2
    assert told[0].data == {"first": 1, "by": "user", "who": "anna", "prompt": TALK}
    assert told[1].data == {"first": 1, "by": "user"}

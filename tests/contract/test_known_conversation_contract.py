"""What a process remembers of a conversation is used only while it is certainly how the stored one begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from neuraphage.model.task import Status
from neuraphage.ports import Changes, Claimed, FinishTo, Lease, SignalKind, SuspendTo
from neuraphage.store.conversations import Conversations, KnownConversation
from storekit import MODEL_CALL, TALK, StoreKit, question, text_entry


def said(text: str) -> Changes:
    """A turn that adds one entry."""
    return Changes(entries=(text_entry(text),), add=MODEL_CALL)


def turn(kit: StoreKit, task_id: str, text: str) -> Lease:
    """A whole turn of one entry, under a claim id as long as real ones are."""
    lease = kit.claim(task_id, claim=f"{next(kit.claims):016x}")
    kit.finish(lease, FinishTo.NEXT, said(text))
    return lease


def texts(claimed: Claimed) -> list[str]:
    """The conversation of a claim."""
    return [entry["content"][0]["text"] for entry in claimed.entries]


def forget(kit: StoreKit) -> None:
    """Make the store a process that knows nothing."""
    kit.store.context = replace(kit.store.context)


def test_the_next_turn_reads_the_same_with_and_without_memory(kit: StoreKit) -> None:
    """Entries of create, commit, suspend and finish are remembered exactly as they read back."""
    task_id = kit.create()
    lease = kit.claim(task_id)
    kit.store.commit(lease, said("one"))
    kit.finish(replace(lease, token=1), FinishTo.NEXT, said("x" * 5_000))
    snapshot = kit.snapshot()
    with_memory = kit.try_claim(task_id)
    kit.restore(snapshot)
    forget(kit)
    without = kit.try_claim(task_id)
    assert with_memory.entries == without.entries
    assert texts(without) == ["Do it.", "one", "x" * 5_000]


def test_memory_is_used(kit: StoreKit) -> None:
    """What is known is not read again: a planted change of an old entry stays unseen by the process that wrote it."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    kit.client.lset(kit.keys.messages(task_id), 1, orjson.dumps({"role": "user", "content": [{"text": "planted"}]}))
    assert texts(kit.try_claim(task_id)) == ["Do it.", "one"]


def test_what_turns_make_of_it_is_known_as_long(kit: StoreKit) -> None:
    """A memo is handed out again, also by the write that goes on, and when others wrote in between; a task that began
    anew has a new one."""
    task_id = kit.create()
    first = kit.try_claim(task_id)
    assert first.lease is not None
    first.memo["made"] = 1
    kit.finish(first.lease, FinishTo.NEXT, said("one"))
    second = kit.try_claim(task_id)
    assert second.lease is not None
    third = kit.go_on(second.lease, changes=said("two")).claimed
    assert isinstance(third, Claimed)
    assert (first.memo, second.memo, third.memo) == ({"made": 1},) * 3
    kit.recover(task_id)
    mine = kit.store.context
    forget(kit)
    turn(kit, task_id, "three")
    kit.store.context = mine
    fourth = kit.try_claim(task_id)
    assert fourth.memo == {"made": 1}
    assert fourth.lease is not None
    kit.finish(fourth.lease, FinishTo.FAILED, error="x", recoverable=True)
    kit.send(task_id, SignalKind.RESET)
    assert kit.try_claim(task_id).memo == {}


def by_others(kit: StoreKit, task_id: str, *said_then: str) -> None:
    """Turns of other processes."""
    mine = kit.store.context
    for text in said_then:
        forget(kit)
        turn(kit, task_id, text)
    kit.store.context = mine


def plant(kit: StoreKit, task_id: str, at: int) -> None:
    """Change an entry behind everybody's back, to see who reads it."""
    kit.client.lset(kit.keys.messages(task_id), at, orjson.dumps({"role": "user", "content": [{"text": "planted"}]}))


def test_what_others_have_added_is_all_that_is_read(kit: StoreKit) -> None:
    """Processes that take turns with each other read what is new to them; after some turns of others everything."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    by_others(kit, task_id, "two", "three")
    plant(kit, task_id, 1)
    plant(kit, task_id, 3)
    fourth = kit.try_claim(task_id)
    assert texts(fourth) == ["Do it.", "one", "two", "planted"]
    assert fourth.lease is not None
    kit.finish(fourth.lease, FinishTo.NEXT, said("four"))
    by_others(kit, task_id, "5", "6", "7", "8", "9")
    assert texts(kit.try_claim(task_id)) == ["Do it.", "planted", "two", "planted", "four", "5", "6", "7", "8", "9"]


@pytest.mark.parametrize("talks", [False, True])
def test_who_waits_keeps_no_list_of_claims(kit: StoreKit, *, talks: bool) -> None:
    """A waiting task takes little room; who had it last goes on from what it knows."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    lease = kit.claim(task_id)
    assert kit.client.hget(kit.keys.task(task_id), "trail")
    asks = Changes((text_entry("two"),), add=MODEL_CALL, prompts_opened=(question(TALK) if talks else question(),))
    settled = kit.finish(lease, FinishTo.WAIT, asks) if talks else kit.suspend(lease, SuspendTo.WAIT, asks)
    assert settled.status is Status.WAITING_FOR_USER
    assert kit.client.hget(kit.keys.task(task_id), "trail") is None
    plant(kit, task_id, 1)
    if talks:
        kit.plant(task_id)
    else:
        kit.plant(task_id, "answer", question().prompt_id)
    assert texts(kit.try_claim(task_id)) == ["Do it.", "one", "two"]


@pytest.mark.parametrize("others", range(7))
def test_a_process_is_forgotten_after_some_turns_of_others(kit: StoreKit, others: int) -> None:
    """The record keeps the last claims of a task: as many whole ones as 80 characters hold."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    plant(kit, task_id, 1)
    names = [str(number) for number in range(others)]
    by_others(kit, task_id, *names)
    trail = kit.client.hget(kit.keys.task(task_id), "trail") or b""
    assert len(trail) <= 80
    claimed = kit.try_claim(task_id)
    first = texts(claimed)[1]
    assert texts(claimed) == ["Do it.", first, *names]
    assert claimed.record is not None
    kept = kit.client.hget(kit.keys.task(task_id), "trail").count(b":1")
    assert first == ("one" if others < kept else "planted"), kept


def test_a_reset_in_between_is_noticed(kit: StoreKit) -> None:
    """The conversation begins anew, and has grown since to more than was known."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    mine = kit.store.context
    forget(kit)
    kit.finish(kit.claim(task_id), FinishTo.FAILED, error="x", recoverable=True)
    kit.send(task_id, SignalKind.RESET)
    turn(kit, task_id, "other one")
    kit.store.context = mine
    assert texts(kit.try_claim(task_id)) == ["Do it.", "other one"]


def test_a_lost_tail_is_noticed(kit: StoreKit) -> None:
    """The server lost this process's last turn, and somebody else took another way from there, just as long."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    snapshot = kit.snapshot()
    turn(kit, task_id, "lost")
    kit.restore(snapshot)
    mine = kit.store.context
    forget(kit)
    turn(kit, task_id, "two")
    kit.store.context = mine
    assert texts(kit.try_claim(task_id)) == ["Do it.", "one", "two"]


def test_a_tail_lost_inside_the_last_claim_is_noticed(kit: StoreKit) -> None:
    """The claim id is the same, the token is older."""
    task_id = kit.create()
    lease = kit.claim(task_id)
    snapshot = kit.snapshot()
    kit.store.commit(lease, said("lost"))
    kit.restore(snapshot)
    kit.recover(task_id)
    assert texts(kit.try_claim(task_id)) == ["Do it."]


def test_the_token_counts(kit: StoreKit) -> None:
    """A record of the same claim with another token is another history, however long its list is."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    kit.client.hset(kit.keys.task(task_id), "token", 0)
    kit.client.lset(kit.keys.messages(task_id), 1, orjson.dumps({"role": "user", "content": [{"text": "other"}]}))
    assert texts(kit.try_claim(task_id)) == ["Do it.", "other"]


def test_a_list_that_is_shorter_than_known_is_read_as_it_is(kit: StoreKit) -> None:
    """A conversation that lost entries under an unchanged record is shown, not papered over from memory."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    kit.client.rpop(kit.keys.messages(task_id))
    assert texts(kit.try_claim(task_id)) == ["Do it."]


def test_a_write_that_was_not_confirmed_is_not_taken_for_known(kit: StoreKit) -> None:
    """A write that this process never saw the answer of is read from the server."""
    task_id = kit.create()
    lease = kit.claim(task_id)
    mine = kit.store.context
    forget(kit)
    kit.finish(lease, FinishTo.NEXT, said("one"))
    kit.store.context = mine
    assert texts(kit.try_claim(task_id)) == ["Do it.", "one"]


def test_a_refused_write_makes_nothing_known(kit: StoreKit) -> None:
    """Entries of a stale write are not part of the conversation."""
    task_id = kit.create()
    lease = kit.claim(task_id)
    kit.recover(task_id)
    kit.finish(lease, FinishTo.NEXT, said("stale"))
    assert texts(kit.try_claim(task_id)) == ["Do it."]


def test_a_repeated_claim_gets_the_whole_conversation(kit: StoreKit) -> None:
    """The first answer was lost: what stood in the record before is gone, so nothing known is trusted."""
    task_id = kit.create()
    seq = kit.number(task_id, "seq")
    first = kit.try_claim(task_id, seq=seq, claim="again")
    kit.store.context.conversations.put(task_id, KnownConversation("older", 0, [{"role": "user", "content": []}], 1))
    assert kit.try_claim(task_id, seq=seq, claim="again").entries == first.entries


def test_the_oldest_go_first_and_sizes_add_up() -> None:
    """Memory is limited by bytes, counted over takes, puts and advances."""
    known = Conversations(max_bytes=100)
    row: dict[str, Any] = {"role": "user"}
    for name in "abc":
        known.put(name, KnownConversation("c", 0, [row], 40))
    assert known.take("a") is None
    known.advance("b", "c", 0, [row], 20)
    assert known.take("c") is not None
    grown = known.take("b")
    assert grown is not None
    assert (grown.token, len(grown.entries), grown.size_bytes) == (1, 2, 60)
    known.put("huge", KnownConversation("c", 0, [row], 101))
    assert known.take("huge") is None
    known.put("grown", KnownConversation("c", 0, [row], 60))
    known.put("other", KnownConversation("c", 0, [row], 20))
    known.advance("other", "c", 0, [row], 60)
    assert known.take("grown") is None
    known.advance("other", "c", 0, [row], 1)
    assert known.take("other") is None

"""What a process remembers of a conversation is used only while it is certainly how the stored one begins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson

from neuraphage.ports import Changes, Claimed, FinishTo, Lease
from neuraphage.store.conversations import Conversations, KnownConversation
from storekit import MODEL_CALL, StoreKit, text_entry


def said(text: str) -> Changes:
    """A turn that adds one entry."""
    return Changes(entries=(text_entry(text),), add=MODEL_CALL)


def turn(kit: StoreKit, task_id: str, text: str) -> Lease:
    """A whole turn of one entry."""
    lease = kit.claim(task_id)
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
    """A memo is handed out again while nobody else writes, also by the write that goes on; else it is a new one."""
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
    assert kit.try_claim(task_id).memo == {}


def test_another_process_in_between_is_noticed(kit: StoreKit) -> None:
    """A turn by somebody else changes the claim id, so everything is read again."""
    task_id = kit.create()
    turn(kit, task_id, "one")
    mine = kit.store.context
    forget(kit)
    turn(kit, task_id, "two")
    kit.store.context = mine
    assert texts(kit.try_claim(task_id)) == ["Do it.", "one", "two"]


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

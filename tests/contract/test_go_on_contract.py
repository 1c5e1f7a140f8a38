"""go_on: the end of a turn and the claim of the next one as one write, with the effects of the two."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import orjson
import pytest

from neuraphage.model.effect import EffectState, ModelEffect, ToolEffect
from neuraphage.model.event import Event
from neuraphage.model.task import Status
from neuraphage.ports import (
    Changes,
    Claimed,
    ClaimUnreadableError,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    GoneOn,
    Lease,
    SignalKind,
    SuspendTo,
)
from storekit import MODEL_CALL, TALK, StoreKit, question, text_entry

TARGETS = tuple(FinishTo)
FLAGS = (None, SignalKind.PAUSE, SignalKind.CANCEL, SignalKind.INPUT)
TIMES = re.compile(r"\b1[0-9]{12}(-[0-9]+)?\b")
DETAIL = {"error": "e", "summary": "s", "recoverable": True}


def changes_of(to: FinishTo) -> Changes:
    """What a turn that ends this way writes."""
    opened = (question(TALK),) if to is FinishTo.WAIT else ()
    tool = ToolEffect(key="act", state=EffectState.COMPLETED)
    return Changes(
        entries=(text_entry("end"),),
        journal=(tool,),
        add=MODEL_CALL,
        prompts_opened=opened,
        events=(Event(kind="Tick"),),
    )


def leased(kit: StoreKit, flag: SignalKind | None = None) -> tuple[str, Lease]:
    """A running task with a journal, in its second turn, and what a person has sent."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT)
    lease = kit.claim(task_id)
    kit.store.commit(lease, Changes(journal=(ModelEffect(state=EffectState.COMPLETED),)))
    if flag:
        kit.send(task_id, flag)
    return task_id, replace(lease, token=1)


def granted(gone_on: GoneOn) -> Claimed:
    """The claim of the next turn, which was granted."""
    claimed = gone_on.claimed
    assert isinstance(claimed, Claimed)
    assert claimed.verdict is ClaimVerdict.GRANTED
    return claimed


def told(kit: StoreKit) -> str:
    """All that is stored, but for times."""
    state = {
        key: (sorted(content.items()) if isinstance(content, dict) else content, expires)
        for key, (content, expires) in kit.state().items()
    }
    return TIMES.sub("~", repr(sorted(state.items())))


def test_ends_the_turn_and_takes_the_next_one(kit: StoreKit) -> None:
    """The answer of finish says where the task went, and that of claim has all that the next turn needs."""
    task_id, lease = leased(kit)
    gone_on = kit.go_on(lease, changes=changes_of(FinishTo.NEXT), claim="c9")
    settled, claimed = gone_on.settled, granted(gone_on)
    assert (settled.verdict, settled.status, settled.place) == (CommitVerdict.COMMITTED, Status.RUNNING, "outbox")
    assert (settled.seq, settled.iteration) == (3, 2)
    assert claimed.lease == Lease(task_id, 3, "c9", 0)
    assert claimed.record is not None
    assert (claimed.record.counters.iteration, claimed.record.seq, claimed.record.owner) == (2, 3, "p1")
    assert (claimed.journal, claimed.inbox) == ({}, ())
    assert [entry["content"][0]["text"] for entry in claimed.entries] == ["Do it.", "end"]
    assert kit.place(task_id) == "leases"
    expiry = kit.client.zscore(kit.keys.leases, task_id)
    assert expiry == claimed.now_ms + kit.store.context.lease_ms == claimed.record.lease_until_ms
    assert kit.store.commit(Lease(task_id, 3, "c9", 0), Changes()).verdict is CommitVerdict.COMMITTED


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("flag", FLAGS)
def test_has_the_effects_of_the_two(kit: StoreKit, to: FinishTo, flag: SignalKind | None) -> None:
    """What is stored is what finish and claim would have left, also where there is nothing to claim."""
    task_id, lease = leased(kit, flag)
    before = kit.snapshot()
    gone_on = kit.go_on(lease, to, changes_of(to), claim="next", **DETAIL)
    stored, answer = told(kit), gone_on.settled
    kit.restore(before)
    settled = kit.finish(lease, to, changes_of(to), **DETAIL)
    assert settled == answer
    if settled.place == "outbox" and settled.iteration == 2:
        again = kit.try_claim(task_id, claim="next")
        mine = granted(gone_on)
        assert (mine.lease, mine.inbox, mine.entries, mine.journal) == (
            again.lease,
            again.inbox,
            again.entries,
            again.journal,
        )
    else:
        assert gone_on.claimed is None
    assert told(kit) == stored


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("flag", FLAGS)
def test_a_replay_gets_the_same_answer(kit: StoreKit, to: FinishTo, flag: SignalKind | None) -> None:
    """The same write again is answered alike and writes nothing: one fence, one turn, one claim."""
    _, lease = leased(kit, flag)

    def write() -> GoneOn:
        return kit.store.go_on(lease, changes_of(to), to, 1, DETAIL, process_id="p1", claim_id="next")

    first, before = write(), kit.state()
    again = write()
    assert kit.state() == before
    assert again.settled == first.settled
    assert (again.claimed is None) == (first.claimed is None)
    if first.claimed is not None:
        one, other = granted(first), granted(again)
        assert (one.lease, one.entries, one.inbox) == (other.lease, other.entries, other.inbox)


def test_a_late_replay_writes_nothing(kit: StoreKit) -> None:
    """It may come when the next turn has written, and when that one is over: then it is stale."""
    task_id, lease = leased(kit)

    def write() -> GoneOn:
        return kit.store.go_on(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 1, {}, process_id="p1", claim_id="next")

    held = granted(write()).lease
    assert held is not None
    kit.store.commit(held, Changes(entries=(text_entry("later"),)))
    before = kit.state()
    again = granted(write()).lease
    assert again == replace(held, token=1)
    assert kit.state() == before
    kit.recover(task_id)
    before = kit.state()
    assert write() == GoneOn(replace(kit.finish(lease, FinishTo.NEXT), verdict=CommitVerdict.STALE))
    assert kit.state() == before


def test_a_claim_that_only_looks_the_same_is_none(kit: StoreKit) -> None:
    """The id of the next claim in the record is a repeat under its lease alone."""
    task_id, lease = leased(kit)
    kit.client.hset(kit.keys.task(task_id), "claim", "next")
    kit.client.zrem(kit.keys.leases, task_id)
    kit.client.zadd(kit.keys.outbox, {task_id: 1})
    before = kit.state()
    assert kit.go_on(lease, claim="next").verdict is CommitVerdict.STALE
    assert kit.state() == before


def test_a_finish_that_was_written_before_is_gone_on_from(kit: StoreKit) -> None:
    """The end of the turn is not written twice, and the next one is claimed while it waits."""
    task_id, lease = leased(kit)
    settled = kit.finish(lease, FinishTo.NEXT)
    gone_on = kit.store.go_on(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 1, {}, process_id="p1", claim_id="next")
    assert gone_on.settled == settled
    assert granted(gone_on).lease == Lease(task_id, 3, "next", 0)
    assert kit.number(task_id, "model_calls") == 2


def test_a_next_turn_that_moved_on_is_not_claimed(kit: StoreKit) -> None:
    """The end was written before, and the task has moved since: the claim is of the seq that the end had given."""
    task_id, lease = leased(kit)
    settled = kit.finish(lease, FinishTo.NEXT)
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    before = kit.state()
    gone_on = kit.store.go_on(lease, Changes(add=MODEL_CALL), FinishTo.NEXT, 1, {}, process_id="p1", claim_id="next")
    assert gone_on == GoneOn(settled, Claimed(ClaimVerdict.STALE))
    assert kit.state() == before


@pytest.mark.parametrize("to", TARGETS)
def test_refusals_write_nothing(kit: StoreKit, to: FinishTo) -> None:
    """STALE and LOST leave everything as it was, and claim nothing."""
    _, lease = leased(kit)
    before = kit.state()
    for changed in (replace(lease, fence=9), replace(lease, claim_id="other")):
        assert kit.go_on(changed, to).verdict is CommitVerdict.STALE
    assert kit.go_on(replace(lease, token=3), to).verdict is CommitVerdict.LOST
    ending = (lease, Changes(add=MODEL_CALL), to, 7, {})
    assert kit.store.go_on(*ending, process_id="p", claim_id="n").verdict is CommitVerdict.LOST
    assert kit.state() == before


def test_the_former_lease_is_over(kit: StoreKit) -> None:
    """The turn before can neither write nor renew, and a message of the new turn finds it leased."""
    task_id, lease = leased(kit)
    kit.go_on(lease)
    before = kit.state()
    for token in (0, 1, 2):
        assert kit.store.commit(replace(lease, token=token), Changes()).verdict is CommitVerdict.STALE
    assert [answer.held for answer in kit.store.renew([lease])[1]] == [False]
    assert kit.try_claim(task_id, process="p2").verdict is ClaimVerdict.LEASED
    assert kit.state() == before


def test_a_turn_that_begins_again_at_its_limit_is_left(kit: StoreKit) -> None:
    """It is no next turn: its message is sent like any other."""
    task_id, lease = leased(kit)
    gone_on = kit.go_on(lease, FinishTo.LIMITED, **DETAIL)
    assert (gone_on.settled.place, gone_on.settled.iteration, gone_on.claimed) == ("outbox", 1, None)
    assert kit.place(task_id) == "outbox"


def test_a_death_behind_it_is_recovered(kit: StoreKit) -> None:
    """The next turn is under a lease like any other, which the watcher takes from a process that is gone."""
    task_id, lease = leased(kit)
    kit.go_on(lease, changes=changes_of(FinishTo.NEXT))
    kit.recover(task_id)
    claimed = kit.try_claim(task_id, process="p2")
    assert claimed.record is not None
    assert (claimed.record.counters.iteration, claimed.record.counters.recoveries_total, claimed.journal) == (2, 1, {})


def test_what_cannot_be_read_is_reported_with_its_lease(kit: StoreKit) -> None:
    """The end of the turn is told, and the holder of the broken record can still end the task."""
    task_id, lease = leased(kit)
    kit.client.hset(kit.keys.task(task_id), "created_at", "never")
    gone_on = kit.go_on(lease)
    assert gone_on.settled.place == "outbox"
    assert isinstance(gone_on.claimed, ClaimUnreadableError)
    ended = kit.suspend(gone_on.claimed.lease, SuspendTo.POISONED, detail={"error": "broken", "recoverable": False})
    assert ended.status is Status.FAILED
    kit.broken_on_purpose = True


# --- what this process knows of the conversation ---


def texts(claimed: Any) -> list[str]:
    """The conversation of a claim."""
    return [entry["content"][0]["text"] for entry in claimed.entries]


def test_what_is_known_is_not_read_again(kit: StoreKit) -> None:
    """A planted change of an old entry stays unseen; so does one of an entry that the write itself adds."""
    task_id, lease = leased(kit)
    first = granted(kit.go_on(lease, changes=Changes(entries=(text_entry("one"),), add=MODEL_CALL)))
    assert first.lease is not None
    planted = orjson.dumps({"role": "user", "content": [{"text": "planted"}]})
    kit.client.lset(kit.keys.messages(task_id), 1, planted)
    then = granted(kit.go_on(first.lease, changes=Changes(entries=(text_entry("x" * 5_000),), add=MODEL_CALL)))
    assert texts(then) == ["Do it.", "one", "x" * 5_000]


def test_a_process_that_knows_nothing_reads_it_all(kit: StoreKit) -> None:
    """As after a claim whose conversation was too large to be kept."""
    _, lease = leased(kit)
    kit.store.context = replace(kit.store.context)
    assert texts(granted(kit.go_on(lease, changes=changes_of(FinishTo.NEXT)))) == ["Do it.", "end"]


def test_a_write_that_claims_nothing_keeps_what_is_known(kit: StoreKit) -> None:
    """The claim after a pause reads only what is new."""
    task_id, lease = leased(kit, SignalKind.PAUSE)
    kit.go_on(lease, changes=changes_of(FinishTo.NEXT))
    kit.client.lset(kit.keys.messages(task_id), 1, orjson.dumps({"role": "user", "content": [{"text": "planted"}]}))
    kit.send(task_id, SignalKind.RESUME)
    assert texts(kit.try_claim(task_id)) == ["Do it.", "end"]


def test_a_refused_write_makes_nothing_known(kit: StoreKit) -> None:
    """Entries of a stale write are not part of the conversation."""
    task_id, lease = leased(kit)
    assert kit.go_on(replace(lease, fence=9), changes=changes_of(FinishTo.NEXT)).verdict is CommitVerdict.STALE
    kit.recover(task_id)
    assert texts(kit.try_claim(task_id)) == ["Do it."]

"""A claim that goes straight on announces the call of the model; what is not sent is taken back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import orjson
import pytest

from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect, ToolEffect, model_effect
from neuraphage.model.event import Event, EventKind
from neuraphage.ports import (
    Changes,
    Claimed,
    ClaimUnreadableError,
    ClaimVerdict,
    FinishTo,
    Lease,
    SignalKind,
    SuspendTo,
)
from storekit import MODEL_CALL, StoreKit

REQUEST = "req-1"
TURN_DONE = Changes(add=MODEL_CALL, marker=Marker(name=MarkerName.TOOL_COMPLETED, tool="edit", tool_use_id="t1"))
OF_ONE_RUN = ("token", "verdict", "trail", "spec", "since", "saved_at", "created_at", "started_at")
MARKER = Marker(name=MarkerName.REQUEST_SENT, request_id=REQUEST)


def between_turns(kit: StoreKit) -> str:
    """A task whose first turn is over, and whose second waits in the outbox."""
    task_id, lease = kit.running()
    kit.finish(lease, FinishTo.NEXT, TURN_DONE)
    return task_id


def claimed(kit: StoreKit, task_id: str, request: str = REQUEST, claim: str = "c2") -> tuple[Claimed, Lease]:
    """A claim that was granted."""
    answer = kit.try_claim(task_id, claim=claim, request=request)
    assert answer.verdict is ClaimVerdict.GRANTED
    assert answer.lease is not None
    return answer, answer.lease


def stored(kit: StoreKit, task_id: str) -> dict[str, str]:
    """The fields of a task, without times, the number of its writes, and what belongs to that."""
    found = {name.decode(): value.decode() for name, value in kit.client.hgetall(kit.keys.task(task_id)).items()}
    return {name: value for name, value in found.items() if name not in OF_ONE_RUN}


def told(kit: StoreKit, task_id: str) -> list[tuple[bytes, Any]]:
    """The events of a task, without their times."""
    return [(row[b"k"], orjson.loads(row[b"d"])) for _, row in kit.client.xrange(kit.keys.events(task_id))]


def test_the_announcement_is_what_a_commit_would_have_written(kit: StoreKit) -> None:
    """Journal, marker and event."""
    announced, plain = between_turns(kit), between_turns(kit)
    answer, lease = claimed(kit, announced)
    _, other = claimed(kit, plain, request="")
    entry = ModelEffect(state=EffectState.STARTED, fence=lease.fence, request_id=REQUEST, attempt=1)
    data = {"request_id": REQUEST, "attempt": 1, "fence": lease.fence}
    event = Event(kind=EventKind.REQUEST_SENT, data=data)
    assert kit.store.commit(other, Changes(journal=(entry,), marker=MARKER, events=(event,))).cancel is False
    assert answer.journal == {"model": entry} == kit.store.claim(plain, 2, "p1", "c2").journal
    assert answer.record is not None
    assert answer.record.marker == MARKER
    assert stored(kit, announced) == stored(kit, plain)
    assert told(kit, announced) == told(kit, plain)
    kit.check()


def test_a_repeat_is_told_the_same(kit: StoreKit) -> None:
    """The answer was lost: the second one shows the announcement, and no second one is made."""
    task_id = between_turns(kit)
    first, _ = claimed(kit, task_id)
    before = kit.state()
    again = kit.store.claim(task_id, 2, "p1", "c2", REQUEST)
    assert (again.journal, kit.state()) == (first.journal, before)


def test_the_end_of_a_turn_announces_for_the_next_one(kit: StoreKit) -> None:
    """go_on, as a claim of its own would."""
    task_id, lease = kit.running()
    gone_on = kit.go_on(lease, FinishTo.NEXT, TURN_DONE, request=REQUEST)
    assert isinstance(gone_on.claimed, Claimed)
    entry = model_effect(gone_on.claimed.journal)
    assert entry is not None
    assert (entry.request_id, entry.state) == (REQUEST, EffectState.STARTED)
    assert kit.store.get(task_id).marker == MARKER


def first_turn(kit: StoreKit) -> str:
    return kit.create()


def with_words(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    kit.send(task_id, SignalKind.INPUT)
    return task_id


def at_its_limit(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    kit.client.hset(kit.keys.task(task_id), "max_turns", 1)
    return task_id


def in_mid_turn(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    lease = kit.claim(task_id)
    kit.suspend(lease, SuspendTo.SHUTDOWN, replace(TURN_DONE, journal=(ToolEffect(key="t1", state="started"),)))
    return task_id


def after_a_pause(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    kit.send(task_id, SignalKind.PAUSE)
    kit.send(task_id, SignalKind.RESUME)
    return task_id


def after_a_death(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    kit.claim(task_id)
    kit.recover(task_id)
    return task_id


def with_a_strange_marker(kit: StoreKit) -> str:
    task_id = between_turns(kit)
    kit.client.hset(kit.keys.task(task_id), "marker", '{"name":"waiting_for_user"}')
    return task_id


SOMETHING_FIRST = {
    made.__name__: made
    for made in (
        first_turn,
        with_words,
        at_its_limit,
        in_mid_turn,
        after_a_pause,
        after_a_death,
        with_a_strange_marker,
    )
}


@pytest.mark.parametrize("made", SOMETHING_FIRST)
def test_nothing_is_announced_where_something_else_comes_first(kit: StoreKit, made: str) -> None:
    """What is to be told, taken in or waited for comes before the call; limits and half a turn decide otherwise."""
    answer, _ = claimed(kit, SOMETHING_FIRST[made](kit))
    assert model_effect(answer.journal) is None
    assert answer.record is not None
    assert answer.record.marker.name is not MarkerName.REQUEST_SENT
    kit.check()


def test_who_names_no_request_announces_none(kit: StoreKit) -> None:
    """A claim that is not to call the model."""
    answer, _ = claimed(kit, between_turns(kit), request="")
    assert answer.journal == {}


def test_an_announcement_that_was_not_sent_is_taken_back(kit: StoreKit) -> None:
    """The lease is given back before the call: the next one finds no call that may be billed."""
    task_id = between_turns(kit)
    _, lease = claimed(kit, task_id)
    kit.suspend(lease, SuspendTo.SHUTDOWN, unsent=True)
    assert kit.client.hgetall(kit.keys.turn(task_id)) == {}
    answer, _ = claimed(kit, task_id, "req-2", "c3")
    assert answer.journal == {}
    kit.check()


def test_only_the_announcement_of_the_own_claim_is_taken_back(kit: StoreKit) -> None:
    """A call that a former lease had announced may have been sent."""
    task_id = between_turns(kit)
    claimed(kit, task_id)
    kit.recover(task_id)
    answer, lease = claimed(kit, task_id, claim="c3")
    kit.suspend(lease, SuspendTo.SHUTDOWN, unsent=True)
    inherited, lease = claimed(kit, task_id, claim="c4")
    assert inherited.journal == answer.journal != {}


def test_an_outcome_is_not_taken_back(kit: StoreKit) -> None:
    """What has come back under this very lease stays, whatever the write calls unsent."""
    task_id = between_turns(kit)
    _, lease = claimed(kit, task_id)
    done = ModelEffect(state=EffectState.COMPLETED, fence=lease.fence)
    kit.store.commit(lease, Changes(journal=(done,)))
    kit.suspend(replace(lease, token=1), SuspendTo.SHUTDOWN, unsent=True)
    assert claimed(kit, task_id, claim="c5")[0].journal == {"model": done}


def test_nothing_is_announced_in_what_a_newer_release_wrote(kit: StoreKit) -> None:
    """It is to be given back as it was."""
    task_id = between_turns(kit)
    kit.client.hset(kit.keys.task(task_id), "schema", 99)
    with pytest.raises(ClaimUnreadableError):
        kit.try_claim(task_id, request=REQUEST)
    assert kit.client.hgetall(kit.keys.turn(task_id)) == {}
    assert "RequestSent" not in [kind.decode() for kind, _ in told(kit, task_id)]

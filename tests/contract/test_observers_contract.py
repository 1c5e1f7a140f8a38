"""What is stored of observers: their places and what they failed on, written by one process at a time."""

from __future__ import annotations

from neuraphage.model.observed import ObserverPlace, PutBy
from neuraphage.store.observers import RedisObservers
from storekit import StoreKit

HOLD_MS = 60_000
PLACE = ObserverPlace(after="5-0", begun="6-0")
ROW = PutBy(
    observer="o", event_id="6-0", kind="TaskCompleted", attempts=1, due_ms=7, error="away", data={"summary": "x"}
)


def test_one_process_tells_events_until_it_ends(kit: StoreKit) -> None:
    """Another one is refused meanwhile."""
    store = RedisObservers(kit.store.context)
    assert store.begin("a", HOLD_MS)
    assert not store.begin("b", HOLD_MS)
    store.end("b")
    assert not store.begin("b", HOLD_MS)
    store.end("a")
    assert store.begin("b", HOLD_MS)


def test_who_was_followed_by_another_notes_nothing(kit: StoreKit) -> None:
    """Neither a place nor what was failed on, nor that it was settled."""
    store = RedisObservers(kit.store.context)
    assert store.begin("a", HOLD_MS)
    assert store.note("a", "o", PLACE, ROW, HOLD_MS)
    assert not store.note("b", "o", ObserverPlace(after="0-0"), ROW.model_copy(update={"attempts": 9}), HOLD_MS)
    assert not store.settle("b", ROW, HOLD_MS)
    assert store.places() == {"o": PLACE}
    assert store.put_by() == [ROW]


def test_each_note_holds_on(kit: StoreKit) -> None:
    """So who tells many events is not followed in their midst."""
    store = RedisObservers(kit.store.context)
    assert store.begin("a", HOLD_MS)
    kit.client.pexpire(kit.keys.observing, 1_000)
    assert store.note("a", "o", PLACE, None, HOLD_MS)
    assert kit.client.pttl(kit.keys.observing) > 1_000
    assert store.put_by() == []


def test_what_is_settled_is_gone_and_what_is_asked_for_again_begins_anew(kit: StoreKit) -> None:
    """A person can ask while another process tells events."""
    store = RedisObservers(kit.store.context)
    assert store.begin("a", HOLD_MS)
    assert store.note("a", "o", None, ROW, HOLD_MS)
    assert store.places() == {}
    assert store.again(ROW)
    assert [(row.attempts, row.due_ms) for row in store.put_by()] == [(0, 0)]
    assert store.settle("a", ROW, HOLD_MS)
    assert store.put_by() == []
    assert not store.again(ROW)

"""Observers: told of each event at least once, in order, later than it happened; what they fail on is tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.errors import BadInput
from neuraphage.hooks import Observed, observer
from neuraphage.hooks.declaring import Hook
from neuraphage.hooks.observers import LoadedObservers
from neuraphage.model.hook import OBSERVER_POINTS
from neuraphage.runtime.observing import NOTHING, SKIPPED, Observing
from neuraphage.store.observers import RedisObservers
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]


def observing(rig: Rig, *hooks: Hook, attempts: int = 3) -> Observing:
    store = RedisObservers(rig.store.context)
    return Observing(store, LoadedObservers(hooks), rig.store.clock, attempts, 0)


def keeping(told: list[Observed], *kinds: str, name: str = "keep") -> Hook:
    return observer(*kinds, name=name)(told.append)


def test_each_event_is_told_once_in_its_order(make_rig: MakeRig) -> None:
    """From the first run on; those of other kinds are passed over."""
    told: list[Observed] = []
    rig = make_rig(says("Done."), calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    hook = keeping(told, "TaskCreated", "ToolStarted", "TaskCompleted")
    rig.run("Before any observer was there.")
    assert observing(rig, hook).run("a") == NOTHING
    task_id = rig.run()
    assert observing(rig, hook).run("b") == "told 3, failed 0"
    assert observing(rig, hook).run("c") == NOTHING
    assert [(one.event, one.task_id, one.recovered, one.attempt) for one in told] == [
        (kind, task_id, False, 1) for kind in ("TaskCreated", "ToolStarted", "TaskCompleted")
    ]
    assert told[1].data["tool"] == "act"
    assert len({one.event_id for one in told}) == 3


def test_an_event_whose_telling_was_cut_off_is_told_again_as_such(make_rig: MakeRig) -> None:
    """The process died in the observer: the next one tells it again, and says so; those before it are not repeated."""
    told: list[tuple[str, bool]] = []

    @observer("TaskCreated", "TaskCompleted")
    def dies(event: Observed) -> None:
        told.append((event.event, event.recovered))

    rig = make_rig(says("Done."))
    observing(rig, dies).run("a")
    rig.run()
    first = observing(rig, dies)
    call = first.observers._calls.call  # type: ignore[attr-defined]  # as a kill in the midst of a call

    def killed(hook: Hook, payload: Observed, interrupt: Any) -> None:
        call(hook, payload, interrupt)
        if payload.event == "TaskCompleted":
            raise Killed

    first.observers._calls.call = killed  # type: ignore[attr-defined]  # likewise
    with pytest.raises(Killed):
        first.run("b")
    rig.client.delete(rig.store.context.keys.observing)  # its hold runs out
    observing(rig, dies).run("c")
    assert told == [("TaskCreated", False), ("TaskCompleted", False), ("TaskCompleted", True)]


def test_an_event_that_ends_each_process_is_put_by_in_the_end(make_rig: MakeRig) -> None:
    """Its tries are counted before they are made, so what came behind it is told, and nothing dies for ever."""
    told: list[tuple[str, int]] = []
    hook = keeping([], "TaskCreated", "TaskCompleted")

    def deadly(_: Hook, payload: Observed, __: Any) -> None:
        told.append((payload.event, payload.attempt))
        if payload.event == "TaskCreated":
            raise Killed

    rig = make_rig(says("Done."))
    observing(rig, hook).run("a")
    rig.run()
    deaths = 0
    for token in "bcdefg":
        one = observing(rig, hook)
        one.observers._calls.call = deadly  # type: ignore[attr-defined]  # as code that ends its process
        try:
            one.run(token)
        except Killed:
            deaths += 1
            rig.client.delete(rig.store.context.keys.observing)  # its hold runs out
    assert deaths == 3
    assert told == [("TaskCreated", 1), ("TaskCreated", 2), ("TaskCreated", 3), ("TaskCompleted", 1)]
    (row,) = RedisObservers(rig.store.context).put_by()
    assert (row.kind, row.attempts, row.due_ms) == ("TaskCreated", 3, None)


def test_only_one_process_tells_and_one_that_was_overtaken_notes_nothing(make_rig: MakeRig) -> None:
    """So no place is ever set back."""
    rig = make_rig(says("Done."))
    hook = keeping([], "TaskCreated")
    observing(rig, hook).run("a")
    store = RedisObservers(rig.store.context)
    assert store.begin("other", 60_000)
    assert observing(rig, hook).run("b") == SKIPPED
    before = store.places()

    def overtaken(event: Observed) -> None:
        rig.client.set(rig.store.context.keys.observing, "another")

    rig.client.delete(rig.store.context.keys.observing)
    rig.run()
    observing(rig, observer("TaskCreated", name="keep")(overtaken)).run("c")
    assert store.places()["keep"].after == before["keep"].after
    assert rig.client.get(rig.store.context.keys.observing) == b"another"
    rig.client.delete(rig.store.context.keys.observing)


def test_what_fails_is_tried_again_and_then_kept_for_people(make_rig: MakeRig) -> None:
    """It holds up no other event, and each try is counted, by its number and as a repeat."""
    tries: list[tuple[str, int, bool]] = []

    @observer("TaskCreated", "TaskCompleted")
    def fails(event: Observed) -> None:
        tries.append((event.event, event.attempt, event.recovered))
        if event.event == "TaskCreated":
            raise OSError("the chat is away")

    rig = make_rig(says("Done."))
    observing(rig, fails).run("a")
    rig.run()
    store = RedisObservers(rig.store.context)
    for token in "bcdef":
        observing(rig, fails).run(token)
    assert tries == [
        ("TaskCreated", 1, False), ("TaskCompleted", 1, False), ("TaskCreated", 2, True), ("TaskCreated", 3, True),
    ]  # fmt: skip
    (row,) = store.put_by()
    assert (row.observer, row.kind, row.attempts, row.due_ms) == ("fails", "TaskCreated", 3, None)
    assert row.error == "it failed with OSError: the chat is away"
    assert store.again(row)
    observing(rig, keeping(told := [], "TaskCreated", "TaskCompleted", name="fails")).run("g")
    assert [(one.event, one.attempt) for one in told] == [("TaskCreated", 1)]
    assert store.put_by() == []
    assert not store.again(row)


def test_events_that_were_dropped_before_they_were_told_are_told_of(make_rig: MakeRig) -> None:
    """An observer that was away for too long finds that among what it failed on, and goes on behind the gap."""
    rig = make_rig(says("Done."))
    hook = keeping(told := [], "TaskCompleted")
    observing(rig, hook).run("a")
    rig.submit("Its events are dropped.")
    observing(rig, keeping([], "TaskCreated", name="keep")).run("b")
    rig.drain()
    keys = rig.store.context.keys
    last = rig.client.xrevrange(keys.all_events, count=1)[0][0]
    rig.client.xtrim(keys.all_events, minid=last, approximate=False)
    observing(rig, hook).run("c")
    (row,) = RedisObservers(rig.store.context).put_by()
    assert row.due_ms is None
    assert "dropped" in row.error or "lost" in row.error
    assert [one.event for one in told] == ["TaskCompleted"]


def test_each_observer_has_its_own_place(make_rig: MakeRig) -> None:
    """A new one is told of what happens from then on, whatever the others have been told."""
    rig = make_rig(says("Done."), says("Done."))
    first, second = (
        keeping(one := [], "TaskCompleted", name="first"),
        keeping(two := [], "TaskCompleted", name="second"),
    )
    observing(rig, first).run("a")
    rig.run()
    observing(rig, first, second).run("b")
    rig.run()
    observing(rig, first, second).run("c")
    assert (len(one), len(two)) == (2, 1)


def test_without_observers_nothing_is_read_or_written(make_rig: MakeRig) -> None:
    """And a run whose server is away is left to the next one."""
    rig = make_rig()
    rig.client.connection_pool.disconnect()
    assert observing(rig).run("a") == NOTHING
    assert rig.client.keys("*observ*") == []


@pytest.mark.parametrize("kinds", [(), ("PreToolUse",), ("TaskCompleted", "Nonsense")])
def test_an_observer_is_declared_for_events(kinds: tuple[str, ...]) -> None:
    """What a guard judges has not happened."""
    with pytest.raises(BadInput, match="is no event"):
        observer(*kinds)


def test_every_point_of_observers_can_be_observed() -> None:
    """Also those that nothing fires yet: an event of that name is told from the release on that writes it."""
    assert len(OBSERVER_POINTS) == 19
    for point in OBSERVER_POINTS:
        assert observer(point.value)(print).points == (point.value,)

"""The sweep's own decision: when a message that nobody has claimed counts as lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from turnkit import Rig

MakeRig = Callable[..., Rig]


def lost_message(rig: Rig, age_s: float) -> str:
    """A task whose message nobody has and nobody has claimed, put into the outbox so long ago."""
    task_id = rig.submit()
    rig.dispatcher.messages.clear()
    due_ms = rig.store.now_ms() + int((rig.settings.first_republish_s - age_s) * 1000)
    rig.client.zadd(rig.kit.keys.outbox, {task_id: due_ms})
    return task_id


def sent(rig: Rig) -> list[str]:
    """Tasks whose messages a sweep sends now."""
    before = len(rig.dispatcher.published)
    rig.sweep.outbox(rig.store.now_ms())
    return [task_id for task_id, _, _ in rig.dispatcher.published[before:]]


def test_with_an_empty_queue_a_message_counts_as_lost_early(make_rig: MakeRig) -> None:
    """A fresh one may be on its way to the queue; one of a second ago would be in it."""
    rig = make_rig()
    fresh, old = lost_message(rig, 0.1), lost_message(rig, 2.0)
    assert sent(rig) == [old]
    assert rig.get(fresh).place == "outbox"


@pytest.mark.parametrize("known", [True, False])
def test_a_queue_that_is_not_known_to_be_empty_is_waited_for(make_rig: MakeRig, known: bool) -> None:
    """Workers that are merely slow get no second message before its time, and neither does a broker that is away."""
    rig = make_rig()
    young, due = lost_message(rig, 2.0), lost_message(rig, 6.0)
    rig.dispatcher.messages.append(("another", 1))
    rig.dispatcher.queue_length = lambda: 1 if known else None  # type: ignore[method-assign]  # what the broker says
    assert sent(rig) == [due]
    assert rig.client.hget(rig.kit.keys.task(young), "published") is None

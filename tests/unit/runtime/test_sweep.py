"""The sweep's own decision: when a message that nobody has claimed counts as lost."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from neuraphage.runtime.sweep import Sweep
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


def swept(rig: Rig, sweep: Sweep, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log tells of damage while all keys are looked at several times."""
    caplog.clear()
    with caplog.at_level(logging.ERROR):
        for _ in range(60):
            sweep.run(guarded=False)
    return [record.getMessage() for record in caplog.records if "repair" in record.getMessage()]


def test_the_slow_pass_tells_of_damage_once(make_rig: MakeRig, caplog: pytest.LogCaptureFixture) -> None:
    """A few keys at each sweep: a lost place is told with the command that brings it back, and only once."""
    rig = make_rig(audit_keys=3)
    sweep, sound, lost = rig.sweep, rig.submit(), rig.submit()
    assert swept(rig, sweep, caplog) == []
    rig.client.zrem(rig.kit.keys.outbox, lost)
    (line,) = swept(rig, sweep, caplog)
    assert lost in line
    assert "no place" in line
    assert sound not in line
    assert swept(rig, sweep, caplog) == []
    rig.client.zadd(rig.kit.keys.outbox, {lost: 1})


def test_the_slow_pass_lists_tasks_of_an_earlier_release(make_rig: MakeRig, caplog: pytest.LogCaptureFixture) -> None:
    """They are in no index of ids; that is no damage, and needs nobody."""
    rig = make_rig(audit_keys=3)
    ids = {rig.submit() for _ in range(3)}
    rig.client.delete(rig.kit.keys.ids)
    assert swept(rig, rig.sweep, caplog) == []
    assert {raw.decode() for raw in rig.client.zrange(rig.kit.keys.ids, 0, -1)} == ids


def test_a_damaged_index_is_told_by_the_slow_pass(make_rig: MakeRig, caplog: pytest.LogCaptureFixture) -> None:
    """An index that no script can use is named as a whole."""
    rig = make_rig(audit_keys=3)
    rig.submit()
    swept(rig, rig.sweep, caplog)
    kept = rig.client.dump(rig.kit.keys.tombstones)
    rig.client.set(rig.kit.keys.tombstones, "damaged")
    found: list[str] = []
    for _ in range(30):
        found += [name for name, _ in rig.store.audit()]
    assert rig.kit.keys.tombstones in found
    rig.client.delete(rig.kit.keys.tombstones)
    assert kept is None


def test_the_slow_pass_can_be_off(make_rig: MakeRig) -> None:
    """With no keys it looks at none."""
    rig = make_rig(audit_keys=0)
    rig.client.zrem(rig.kit.keys.outbox, task_id := rig.submit())
    assert rig.store.audit() == []
    rig.client.zadd(rig.kit.keys.outbox, {task_id: 1})

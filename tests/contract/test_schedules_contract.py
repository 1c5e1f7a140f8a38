"""Schedules: each time has one task, made in the write that sets the next time, whoever looks and however often."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.occurrences import next_of, occurrence_id
from neuraphage.errors import CorruptRecord
from neuraphage.model.limits import Limits
from neuraphage.model.schedule import Overlap, Schedule, ScheduleChange, ScheduleDefinition, ScheduleVerdict
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import DueSchedule, FinishTo, NextTurn, SignalKind
from neuraphage.store import invariant
from neuraphage.store.schedules import RedisSchedules
from storekit import StoreKit

SPEC = TaskSpec(
    task_id="task-00000000-0000-7000-8000-000000000000", name="n", prompt="p", model="m", tags=("red",),
    limits=Limits(max_turns=7, max_cost_microusd=8, max_tree_turns=9), labels={"team": "web"}, priority=1,
)  # fmt: skip
MINUTE_MS = 60_000
EACH_MINUTE = "* * * * *"


def schedules(kit: StoreKit) -> RedisSchedules:
    return RedisSchedules(kit.store.context)


def definition(kit: StoreKit, name: str = "often", **fields: Any) -> ScheduleDefinition:
    whole = {"name": name, "cron": EACH_MINUTE, "zone": "UTC", "spec": SPEC, "created_at_ms": 1, **fields}
    return ScheduleDefinition(**whole)


def added(kit: StoreKit, name: str = "often", **fields: Any) -> str:
    """A schedule whose first time was five minutes ago."""
    due_ms = kit.store.now_ms() // MINUTE_MS * MINUTE_MS - 5 * MINUTE_MS
    assert schedules(kit).add(definition(kit, name, **fields), due_ms) is ScheduleVerdict.ACCEPTED
    return name


def stands(kit: StoreKit, name: str = "often") -> Schedule:
    return next(one for one in schedules(kit).schedules() if one.definition.name == name)


def due(kit: StoreKit) -> DueSchedule:
    (found,) = kit.store.due_schedules(kit.store.now_ms())
    return found


def its_task(kit: StoreKit, at_ms: int) -> str:
    return occurrence_id(kit.store.context.settings.namespace, stands(kit).definition, at_ms)


def its_next_time_comes(kit: StoreKit, name: str = "often") -> None:
    """As if the next time had come: a minute after the last one that it had."""
    state = stands(kit, name).state
    at_ms = (state.last_ms or state.next_ms) + MINUTE_MS
    while kit.client.exists(kit.keys.task(its_task(kit, at_ms))):
        at_ms += MINUTE_MS
    kit.client.hset(kit.keys.schedule_states, name, state.model_copy(update={"next_ms": at_ms}).model_dump_json())


def made(kit: StoreKit) -> list[str]:
    return [raw.decode() for raw in kit.client.zrange(kit.keys.ids, 0, -1)]


def test_a_time_has_one_task_with_an_id_of_its_own(kit: StoreKit) -> None:
    """In the outbox, with its message; the schedule has its next time and names its last task."""
    added(kit)
    now = due(kit)
    turn = kit.store.occur(now)
    assert turn is not None
    record = kit.store.get(turn.task_id)
    assert turn == NextTurn(occurrence_id(kit.store.context.settings.namespace, definition(kit), now.due_ms), 1, 0)
    assert (kit.place(turn.task_id), record.spec.tags) == ("outbox", ("red", "schedule:often"))
    assert (record.limits, kit.field(turn.task_id, "priority"), kit.field(turn.task_id, "labels")) == (
        SPEC.limits, "1", "team=web",
    )  # fmt: skip
    state = stands(kit).state
    assert (state.last_task, state.last_ms, state.made, state.skipped) == (turn.task_id, now.due_ms, 1, 0)


def test_a_second_sweep_makes_nothing(kit: StoreKit) -> None:
    """Beat may have doubled, or a sweep be late with what it has read."""
    added(kit)
    now = due(kit)
    assert kit.store.occur(now) is not None
    assert kit.store.occur(now) is None
    assert (len(made(kit)), stands(kit).state.made) == (1, 1)


def test_times_that_were_missed_are_made_up_for_by_one_task(kit: StoreKit) -> None:
    """Five were; the next time is one to come."""
    added(kit)
    kit.store.occur(due(kit))
    assert kit.store.due_schedules(kit.store.now_ms()) == []
    assert 0 < stands(kit).state.next_ms - kit.store.now_ms() <= MINUTE_MS
    assert len(made(kit)) == 1


def test_a_time_to_come_is_not_due(kit: StoreKit) -> None:
    """Nor does the script make its task for who asks too early."""
    at_ms = kit.store.now_ms() + MINUTE_MS
    schedules(kit).add(definition(kit), at_ms)
    assert kit.store.due_schedules(kit.store.now_ms()) == []
    early = DueSchedule("often", at_ms, definition(kit).model_dump_json().encode())
    assert kit.store.occur(early) is None
    assert made(kit) == []


def test_a_time_at_which_the_last_task_is_not_over_is_skipped(kit: StoreKit) -> None:
    """And counted; once that is over, the next time has a task."""
    added(kit)
    first = kit.store.occur(due(kit))
    assert first is not None
    its_next_time_comes(kit)
    now = due(kit)
    assert (kit.store.occur(now), kit.store.occur(now)) == (None, None)
    assert (len(made(kit)), stands(kit).state.skipped) == (1, 1)
    kit.end(first.task_id, Status.COMPLETED)
    its_next_time_comes(kit)
    assert kit.store.occur(due(kit)) is not None


@pytest.mark.parametrize("end", [FinishTo.COMPLETED, FinishTo.FAILED])
def test_a_time_at_which_the_last_task_is_not_over_is_queued(kit: StoreKit, end: FinishTo) -> None:
    """One waits behind the last one, however that ends; while it waits, further times are skipped."""
    added(kit, overlap=Overlap.QUEUE)
    first = kit.store.occur(due(kit))
    assert first is not None
    lease = kit.claim(first.task_id)
    its_next_time_comes(kit)
    assert kit.store.occur(due(kit)) is None
    second = stands(kit).state.last_task
    assert second is not None
    assert (kit.status(second), kit.place(second), len(made(kit))) == (Status.BLOCKED, "waits", 2)
    its_next_time_comes(kit)
    assert kit.store.occur(due(kit)) is None
    assert (len(made(kit)), stands(kit).state.skipped) == (2, 1)
    ended = kit.finish(lease, end, summary="Done.", error="No.", recoverable=True)
    assert ended.woken == (NextTurn(second, 2, 0),)


def test_a_paused_schedule_makes_nothing(kit: StoreKit) -> None:
    """Also of what a sweep had read before; resumed, it goes on from the time that it is given."""
    name = added(kit)
    read_before = due(kit)
    assert schedules(kit).change(name, ScheduleChange.PAUSE) is ScheduleVerdict.ACCEPTED
    assert kit.store.due_schedules(kit.store.now_ms()) == []
    assert kit.store.occur(read_before) is None
    at_ms = next_of(definition(kit), kit.store.now_ms())
    schedules(kit).change(name, ScheduleChange.RESUME, at_ms)
    assert (stands(kit).state.paused, stands(kit).state.next_ms) == (False, at_ms)
    schedules(kit).change(name, ScheduleChange.RESUME, 5)
    assert stands(kit).state.next_ms == at_ms, "one that is not paused keeps its time"


def test_a_removed_schedule_makes_nothing(kit: StoreKit) -> None:
    """Nor does another one of its name make tasks of what a sweep had read of it."""
    name = added(kit)
    read_before = due(kit)
    assert schedules(kit).change(name, ScheduleChange.REMOVE) is ScheduleVerdict.ACCEPTED
    assert kit.store.occur(read_before) is None
    assert schedules(kit).add(definition(kit, overlap=Overlap.QUEUE), read_before.due_ms) is ScheduleVerdict.ACCEPTED
    assert kit.store.occur(read_before) is None
    assert (made(kit), schedules(kit).change(name, ScheduleChange.REMOVE)) == ([], ScheduleVerdict.ACCEPTED)
    assert schedules(kit).schedules() == []


def test_a_name_is_taken_once(kit: StoreKit) -> None:
    """And what is not there is not changed."""
    added(kit)
    assert schedules(kit).add(definition(kit, created_at_ms=2), 1) is ScheduleVerdict.EXISTS
    for change in (ScheduleChange.PAUSE, ScheduleChange.RESUME, ScheduleChange.REMOVE):
        assert schedules(kit).change("other", change) is ScheduleVerdict.NOT_FOUND


def test_an_addition_may_be_repeated(kit: StoreKit) -> None:
    """Its answer was lost: the same request is told the same, and changes nothing, also when a time has come since."""
    before = stands(kit, added(kit))
    assert schedules(kit).add(before.definition, before.state.next_ms) is ScheduleVerdict.ACCEPTED
    assert stands(kit) == before
    kit.store.occur(due(kit))
    after = stands(kit)
    assert schedules(kit).add(before.definition, before.state.next_ms) is ScheduleVerdict.ACCEPTED
    assert (stands(kit), after.state.made) == (after, 1)


def test_there_are_so_many_at_most(kit: StoreKit) -> None:
    """Each sweep looks at all of them."""
    added(kit)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("neuraphage.store.schedules.MOST_SCHEDULES", 1)
        assert schedules(kit).add(definition(kit, "other"), 1) is ScheduleVerdict.TOO_MANY


def test_a_task_that_is_there_already_is_not_made_again(kit: StoreKit) -> None:
    """A server that lost its last writes may have the task and not the schedule's next time."""
    added(kit)
    now = due(kit)
    state = kit.client.hget(kit.keys.schedule_states, "often")
    turn = kit.store.occur(now)
    assert turn is not None
    kit.claim(turn.task_id)
    kit.client.hset(kit.keys.schedule_states, "often", state)
    assert kit.store.occur(now) is None
    assert (kit.status(turn.task_id), len(made(kit))) == (Status.RUNNING, 1)
    assert stands(kit).state.next_ms > now.due_ms


def test_its_tasks_stand_in_line_as_any(kit: StoreKit) -> None:
    """Who has no slot is published when it has one."""
    one = kit.under(max_running=1)
    one.store.adjust()
    busy = one.create()
    added(one)
    assert one.store.occur(due(one)) is None
    task_id = stands(one).state.last_task
    assert one.send(busy, SignalKind.CANCEL).woken == (NextTurn(str(task_id), 2, 0),)


def test_what_cannot_be_read_is_told_and_holds_nobody_up(kit: StoreKit) -> None:
    """Of two schedules the other one goes on."""
    added(kit)
    added(kit, "other")
    kit.client.hset(kit.keys.schedule_states, "often", "{")
    assert [one.name for one in kit.store.due_schedules(kit.store.now_ms())] == ["other"]
    with pytest.raises(CorruptRecord, match="often"):
        schedules(kit).schedules()
    assert any("schedule" in text for text in invariant.violations(kit.store.context))
    schedules(kit).change("other", ScheduleChange.REMOVE)
    kit.client.hdel(kit.keys.schedule_states, "often")
    assert any("schedule" in text for text in invariant.violations(kit.store.context))
    kit.client.delete(kit.keys.schedules)

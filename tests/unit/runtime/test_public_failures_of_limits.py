"""Failures that other systems showed in public about limits of concurrency; each test shows what is right.

dbos-transact-py#805, infrahub#9856: a run whose recovery stopped half way held the only slot for ever.
"""

from __future__ import annotations

from pathlib import Path

from neuraphage.model.recovery import Evidence
from neuraphage.model.task import Status
from neuraphage.setting_values import RecoveryPolicy
from turnkit import FakeModel, Killed, Rig, new_rig, says


def held_by_a_dead_worker(folder: Path, policy: RecoveryPolicy) -> tuple[Rig, str, str]:
    """One slot, its holder's worker killed in a call of the model, and one task that waits for the slot."""
    rig = new_rig(folder, FakeModel(Killed()), max_running=1, recovery_policy=policy)
    rig.store.adjust()
    first, second = rig.submit("One."), rig.submit("Two.")
    rig.dispatcher.messages[:] = [(first, 1)]
    rig.dies()
    return rig.reborn(FakeModel(says("One is done."), says("Two is done."))), first, second


def place_of(rig: Rig, task_id: str, kind: str) -> int:
    """Where the first event of a kind stands in the history of all tasks."""
    rows = [row for _, row in rig.client.xrange(rig.store.context.keys.all_events)]
    return next(at for at, row in enumerate(rows) if row.get(kind.encode()) == task_id.encode())


def test_a_recovery_that_dies_half_way_keeps_nobody_waiting(tmp_path: Path) -> None:
    """dbos#805: the recoverer is killed before it has sent the message: the next sweep does, the slot is held once."""
    rig, first, second = held_by_a_dead_worker(tmp_path, RecoveryPolicy.AUTO)
    rig.store.recover(rig.kit.held(first), Evidence.GONE)  # and its process is gone
    assert rig.dispatcher.messages == []
    assert rig.get(second).place == "waits"
    following = rig.reborn()
    following.kit.due("outbox", first)
    following.sweep.run(guarded=False)
    following.drain()
    assert [rig.get(task_id).status for task_id in (first, second)] == [Status.COMPLETED] * 2
    assert place_of(rig, first, "TaskCompleted") < place_of(rig, second, "TaskStarted")
    rig.check()


def test_a_recovery_that_leaves_a_task_to_people_gives_its_slot_on(tmp_path: Path) -> None:
    """infrahub#9856: the dead holder waits for a person, and the next one begins at once."""
    rig, first, second = held_by_a_dead_worker(tmp_path, RecoveryPolicy.CONFIRM)
    rig.sweep.recover(rig.kit.held(first), Evidence.GONE)
    assert rig.get(first).status is Status.PAUSED
    rig.drain()
    assert rig.get(second).status is Status.COMPLETED
    rig.people.resume(first)
    rig.drain()
    assert rig.get(first).status is Status.COMPLETED
    rig.check()

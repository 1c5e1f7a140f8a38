"""Two tasks that change one file: one after the other, whoever dies in between."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockkit import Holder, holders
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.testing import CrashInjector, Recorder, crash_points
from turnkit import Rig, calls, killed, recorded, says

MakeRig = Callable[..., Rig]
STEPS = 20


def writing(request: Any, *_: Any) -> ModelReply:
    """A model that writes the file, and then has done its work, for whichever task."""
    name = "first" if "first" in str(request.messages[0]) else "second"
    if any(message["role"] == "assistant" for message in request.messages):
        return says("Done.")
    return calls((f"by-{name}", "write_file", {"path": "notes.txt", "content": f"{name}\n"}))


def resource(rig: Rig) -> str:
    return f"file:{rig.folder.resolve() / 'notes.txt'}"


def test_the_second_waits_for_the_first_and_then_goes_on(make_rig: MakeRig) -> None:
    """It is Blocked without a lease, and is sent its message by whoever ends the turn of the other one."""
    rig = make_rig(*[writing] * STEPS)
    first, second = rig.submit("first"), rig.submit("second")
    commit, seen = rig.store.commit, []

    def stepping_in(lease: Any, changes: Any) -> Any:
        answer = commit(lease, changes)
        if changes.locks is not None and not seen:
            seen.append(lease.task_id)
            rig.step()  # the other one, while this one has begun its call
            seen.append(rig.get(second).status)
        return answer

    rig.store.commit = stepping_in  # type: ignore[method-assign] # steps in between two writes
    rig.step()
    assert seen == [first, Status.BLOCKED]
    assert (rig.get(second).status, rig.get(second).place) == (Status.QUEUED, "outbox")
    assert second in {task_id for task_id, _ in rig.dispatcher.messages}
    rig.drain()
    assert [rig.get(one).status for one in (first, second)] == [Status.COMPLETED] * 2
    assert holders(rig.kit, resource(rig)) == []
    assert [rig.kinds(second).count(kind) for kind in ("TaskBlocked", "ToolStarted")] == [1, 1]
    assert "has changed" in str(rig.results(second)) or "exists" in str(rig.results(second))


def crossed(make_rig: MakeRig, recorder: Recorder) -> tuple[Rig, str]:
    """The task comes to its call while another one has the file; then that one ends its turn."""
    rig = recorded(make_rig(*[writing] * STEPS), recorder)
    (rig.folder / "notes.txt").unlink(missing_ok=True)
    other = Holder(rig.kit, rig.kit.running()[1])
    other.takes(resource(rig))
    task_id = rig.submit("second")
    last = rig.through(task_id)
    assert last.get(task_id).status is Status.BLOCKED
    for turn in other.ends().woken:
        last.dispatcher.publish_turn(turn.task_id, turn.iteration, turn.seq)
    return last.through(task_id), task_id


def test_whenever_a_worker_dies_a_waiting_call_is_made_once(make_rig: MakeRig, announce: Callable[[str], None]) -> None:
    """Before and after each of its writes, also the one that makes it wait and the first after it was woken."""
    recorder = Recorder()
    crossed(make_rig, recorder)
    points = list(crash_points(recorder.calls))
    for point in points:
        rig, task_id = crossed(make_rig, CrashInjector(point, killed))
        assert rig.get(task_id).status is Status.COMPLETED, point
        assert (rig.folder / "notes.txt").read_text(encoding="utf-8") == "second\n", point
        assert list(rig.results(task_id)) == ["by-second"], point
        assert holders(rig.kit, resource(rig)) == [], point
        rig.check()
    announce(f"{len(points)} crash points of locks")
    assert len(points) >= 10


def test_a_call_that_waits_too_long_gets_an_error_that_names_the_holder(make_rig: MakeRig) -> None:
    """The model is told and goes on; nothing was written."""
    rig = make_rig(*[writing] * STEPS, lock_wait_s=0.001)
    other = Holder(rig.kit, rig.kit.running()[1])
    other.takes(resource(rig))
    task_id = rig.run("second")
    assert rig.get(task_id).status is Status.BLOCKED
    assert rig.store.fire(task_id, "blocked") is not None
    rig.dispatcher.publish_turn(task_id, 0, rig.get(task_id).seq)
    rig.drain()
    result = rig.results(task_id)["by-second"]
    assert result["is_error"]
    assert other.id in str(result["content"])
    assert not (rig.folder / "notes.txt").exists()
    assert rig.get(task_id).status is Status.COMPLETED

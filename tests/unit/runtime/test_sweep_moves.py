"""What a sweep sends, tells and counts for each task that it moves, and what one that it cannot move costs others."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.model.recovery import RecoveryDecision
from neuraphage.model.task import Status
from neuraphage.ports import Recovered, RecoverVerdict, SignalKind, SuspendTo
from neuraphage.runtime import sweep as module
from neuraphage.runtime.sweep import Sweep, sweep_quietly
from neuraphage.runtime.sweep_report import build_report
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit, question
from turnkit import LocalDispatcher


class Swept:
    """A store, what its sweeps have sent, and its sweep."""

    def __init__(self) -> None:
        self.kit: StoreKit = new_kit()
        self.dispatcher = LocalDispatcher()
        self.sweep = Sweep(self.kit.store, self.dispatcher, ManualClock(), self.kit.store.context.settings)

    def run(self) -> None:
        """Sweep once; by the next time every mark of a late lease is old enough for a second visit."""
        assert self.sweep.run(guarded=False) is not None
        for task_id in self.kit.client.hkeys(self.kit.keys.suspects):
            self.kit.age_mark(task_id.decode())

    def sent(self) -> dict[str, str]:
        """Messages, as task to what they are sent after."""
        return {
            task_id: after for (task_id, _), after in zip(self.dispatcher.messages, self.dispatcher.after, strict=True)
        }

    def breaks(self, task_id: str) -> None:
        """No script can move it any more: one of its keys has another type."""
        self.kit.client.delete(self.kit.keys.turn(task_id))
        self.kit.client.set(self.kit.keys.turn(task_id), "damaged")


@pytest.fixture
def swept() -> Swept:
    return Swept()


def in_outbox(swept: Swept) -> str:
    task_id = swept.kit.create()
    swept.kit.due("outbox", task_id)
    return task_id


def with_a_timer(swept: Swept) -> str:
    task_id, lease = swept.kit.running()
    swept.kit.suspend(lease, SuspendTo.TIMER, due_ms=1)
    return task_id


def with_a_late_lease(swept: Swept) -> str:
    task_id, _ = swept.kit.running()
    swept.kit.expire_lease(task_id)
    return task_id


def with_a_late_prompt(swept: Swept) -> str:
    return swept.kit.waiting(question(deadline_ms=1))


DUE: dict[str, tuple[Callable[[Swept], str], str]] = {
    "outbox": (in_outbox, "no claim in time"),
    "timers": (with_a_timer, "a timer"),
    "leases": (with_a_late_lease, "task_created, recovered"),
    "deadlines": (with_a_late_prompt, "answer timed out"),
}


@pytest.mark.parametrize("place", DUE)
def test_a_broken_record_holds_up_no_other_and_is_told_once(
    swept: Swept, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    """In every place that is visited: those before and behind it are moved, and their messages say after what."""
    make, after = DUE[place]
    first, broken, last = (make(swept) for _ in range(3))
    swept.breaks(broken)
    for _ in range(3):
        swept.run()
    sent = swept.sent()
    assert broken not in sent
    assert after in sent[first]
    assert after in sent[last]
    assert [record.__dict__["task"] for record in caplog.records if "left alone" in record.getMessage()] == [broken]


def test_a_server_that_goes_away_ends_the_sweep_at_once(swept: Swept, caplog: pytest.LogCaptureFixture) -> None:
    """No other task is tried: each try would wait for an answer. A loop that sweeps goes on with a line in the log."""
    for _ in range(3):
        in_outbox(swept)
    tried: list[str] = []

    def away(task_id: str, ahead_ms: int = 0) -> None:
        tried.append(task_id)
        raise StoreUnavailable("the server is away")

    swept.kit.store.republish = away  # type: ignore[method-assign]  # a server that goes away
    with pytest.raises(StoreUnavailable):
        swept.sweep.run(guarded=False)
    assert len(tried) == 1
    with caplog.at_level(logging.WARNING):
        swept.kit.client.delete(swept.kit.keys.sweep_guard)
        sweep_quietly(swept.sweep)
    assert [record.getMessage() for record in caplog.records] == ["sweep failed: the server is away"]


def test_a_recovery_is_told_and_a_suspicion_is_not(swept: Swept, caplog: pytest.LogCaptureFixture) -> None:
    """A pause of the server makes every lease suspect, and nothing came of it."""
    task_id = with_a_late_lease(swept)
    with caplog.at_level(logging.WARNING):
        swept.run()
        assert caplog.records == []
        swept.run()
    (told,) = caplog.records
    assert told.getMessage().startswith("recovered: ")
    assert told.__dict__["task"] == task_id


def test_a_prompt_that_times_out_in_a_paused_task_sends_nothing(swept: Swept) -> None:
    """The task has no next turn before somebody lets it go on; the answer is there then."""
    task_id = with_a_late_prompt(swept)
    swept.kit.send(task_id, SignalKind.PAUSE)
    swept.run()
    assert swept.kit.status(task_id) is Status.PAUSED
    assert len(swept.kit.inbox(task_id)) == 1
    assert swept.sent() == {}


def test_a_sweep_forgets_deleted_tasks_in_the_end(swept: Swept) -> None:
    """Whose tombstones are over."""
    swept.kit.client.zadd(
        swept.kit.keys.tombstones, {"task-gone": 1, "task-of-today": swept.kit.store.now_ms() + 60_000}
    )
    swept.run()
    assert swept.kit.client.zrange(swept.kit.keys.tombstones, 0, -1) == [b"task-of-today"]


def test_no_more_is_read_past_than_memory_allows(swept: Swept, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many entries nothing can move."""
    monkeypatch.setattr(module, "BATCH", 4)
    monkeypatch.setattr(module, "STUCK_MAX", 3)
    limits: list[int] = []

    def due(until_ms: int, limit: int) -> list[str]:
        limits.append(limit)
        return [f"task-gone-{number}" for number in range(limit)]

    swept.kit.store.due_retention = due  # type: ignore[method-assign]  # more than anybody could read
    for _ in range(3):
        swept.run()
    assert limits == [4, 7, 7]


def decision(task_id: str, marker: str = "tool_started", iteration: int = 0) -> RecoveryDecision:
    return RecoveryDecision(task_id=task_id, verdict="x", marker=marker, iteration=iteration)


def test_a_report_has_every_task_that_was_decided_about_in_one_list() -> None:
    """Resumable is what had begun, in this turn or an earlier one; a lease that was nobody's to take is in none."""
    verdicts = [
        Recovered(RecoverVerdict.RECOVERED, decision("begun"), 2, 0),
        Recovered(RecoverVerdict.RECOVERED, decision("later", "task_created", 1), 2, 1),
        Recovered(RecoverVerdict.RECOVERED, decision("fresh", "task_created"), 2, 0),
        Recovered(RecoverVerdict.FAILED, decision("failed")),
        Recovered(RecoverVerdict.PAUSED, decision("paused")),
        Recovered(RecoverVerdict.SUSPECT, decision("suspect")),
        Recovered(RecoverVerdict.CANCELLED, decision("cancelled")),
        Recovered(RecoverVerdict.STALE),
    ]
    report = build_report(7, 1, verdicts, republished=3, fired=4)
    lists = ("resumable", "requeued", "failed", "paused", "suspect", "other")
    assert {name: [row.task_id for row in getattr(report, name)] for name in lists} == {
        "resumable": ["begun", "later"],
        "requeued": ["fresh"],
        "failed": ["failed"],
        "paused": ["paused"],
        "suspect": ["suspect"],
        "other": ["cancelled"],
    }
    assert (report.swept_at_ms, report.republished, report.fired) == (7, 3, 4)

"""What the table says, computed from made-up histories: each promise that is broken is seen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from neuraphage.dev.demo_record import DemoRecord, KillRecord, calls_paid_twice, demo_record
from neuraphage.model.effect import Marker, MarkerName
from neuraphage.model.event import Event
from neuraphage.model.phase import Phase
from neuraphage.model.task import (
    CompletedDetail,
    FailedDetail,
    RunningDetail,
    Status,
    TaskRecord,
    TaskSpec,
)
from neuraphage.model.usage import Counters

SPEC = TaskSpec(task_id="task-01a2b3c4-0000-7000-8000-000000000000", name="n", prompt="p", model="m")
KILLS = (KillRecord("a reply streamed", 7, 1_000, 1), KillRecord("its tests ran", 8, 5_000, 3))
COMPLETED = CompletedDetail(summary="Done.", completed_at_ms=9, iterations=2, total_cost_microusd=30)


def sent(request: str, at_ms: int = 0) -> Event:
    return Event(kind="RequestSent", data={"request_id": request, "attempt": 1, "fence": 1}, at_ms=at_ms)


def received(request: str) -> Event:
    return Event(kind="ResponseReceived", data={"request_id": request, "stop": "end_turn", "cost_microusd": 1})


def claimed(fence: int, at_ms: int) -> Event:
    return Event(kind="TaskStarted", data={"fence": fence, "reason": "recovered"}, at_ms=at_ms)


def ran(*, unknown: bool = False) -> Event:
    return Event(kind="ToolCompleted", data={"tool": "run_command", "id": "t", "error": unknown, "unknown": unknown})


HISTORY = [
    claimed(1, 100), sent("a"), claimed(2, 1_250), sent("a"), received("a"), ran(),
    claimed(3, 4_000), sent("b"), received("b"), claimed(4, 5_500), ran(),
]  # fmt: skip


def task(detail: CompletedDetail | FailedDetail | RunningDetail = COMPLETED, resends: int = 0) -> TaskRecord:
    return TaskRecord(
        spec=SPEC,
        status=detail.status,
        detail=detail,
        marker=Marker(name=MarkerName.RESPONSE_RECEIVED),
        counters=Counters(iteration=2, model_calls=2, model_resends=resends, cost_microusd=30),
        seq=9,
        fence=4,
    )


def record(events: list[Event] = HISTORY, starts: int = 2, **changes: object) -> DemoRecord:
    made = demo_record(task(), events, KILLS, starts, tests_pass=True)
    return replace(made, **changes)  # type: ignore[arg-type]  # the tests name real fields


def test_what_holds() -> None:
    """Two kills, work that went on after both, nothing twice."""
    made = record()
    assert made.holds
    assert [kill.resumed_s for kill in made.kills] == [0.25, 0.5]
    assert (made.replies, made.calls_resent, made.commands, made.cost_microusd) == (2, 0, 2, 30)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tests_pass": False}, "own tests: fail"),
        ({"kills": KILLS[:1]}, "kills with -9: 1"),
        ({"calls_paid_twice": 1}, "paid again: 1"),
        ({"calls_resent": 1}, "asked for again after a kill: 1"),
        ({"commands_run_twice": 1}, "started again: 1"),
        ({"status": Status.PAUSED}, "the task is: Paused"),
    ],
)
def test_each_broken_promise_is_seen(changes: dict[str, object], words: str) -> None:
    """The line about it is marked, and the sentence says what was promised."""
    made = record(**changes)
    assert not made.holds
    assert any(words in failure for failure in made.failures)
    assert any(not finding.holds for finding in made.findings)


def test_a_kill_that_nobody_went_on_after() -> None:
    """A claim before the kill is none after it."""
    made = record([event for event in HISTORY if event.data.get("fence") != 4])
    assert [kill.resumed_s for kill in made.kills] == [0.25, None]
    assert any("its tests ran: went on after: never" in failure for failure in made.failures)


def test_a_command_whose_result_was_lost_was_started_again() -> None:
    """Three starts, of which two have a result: one was for nothing."""
    made = record([*HISTORY, ran(unknown=True)], starts=3)
    assert (made.commands, made.commands_run_twice) == (2, 1)


def test_paid_twice() -> None:
    """A call under a committed request counts, also without a second commit; one that was cut off does not."""
    assert calls_paid_twice([sent("a"), sent("a"), received("a")]) == 0
    assert calls_paid_twice([sent("a"), received("a"), sent("a")]) == 1
    assert calls_paid_twice([sent("a"), received("a"), received("a")]) == 1


def test_the_last_word_of_a_task_that_did_not_end_well() -> None:
    """Its error, or its marker when it still runs."""
    failed = task(FailedDetail(error="I gave up.", recoverable=True, failed_at_ms=1))
    assert any("I gave up." in one for one in demo_record(failed, HISTORY, KILLS, 2, tests_pass=True).failures)
    running = task(RunningDetail(phase=Phase.LLM_REQUEST, started_at_ms=1, iteration=1))
    assert any("response_received" in one for one in demo_record(running, HISTORY, KILLS, 2, tests_pass=True).failures)

"""Why a task stands where it stands: each case with its sentences, what comes next, and when."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.duration import duration
from neuraphage.decide.why import Rules, clocks, explain
from neuraphage.model.effect import Marker, MarkerName, ToolEffect
from neuraphage.model.explanation import Holder, TaskFacts
from neuraphage.model.phase import Phase
from neuraphage.model.prompt import Prompt, PromptKind
from neuraphage.model.resume_point import ResumePoint, ResumePointKind
from neuraphage.model.task import (
    BlockedDetail,
    CancelledDetail,
    CompletedDetail,
    FailedDetail,
    PausedDetail,
    QueuedDetail,
    RunningDetail,
    Status,
    TaskRecord,
    TaskSpec,
    WaitingForUserDetail,
)
from neuraphage.model.usage import Counters

NOW_MS = 10_000_000
RULES = Rules(
    lease_ms=20_000,
    heartbeat_ms=5_000,
    sweep_ms=5_000,
    absent_host_ms=2_000,
    saved_max_age_ms=86_400_000,
    wait_poll_ms=60_000,
    first_republish_ms=5_000,
    max_republish_ms=60_000,
    max_recoveries=3,
    recovery_policy="auto",
)
SPEC = TaskSpec(task_id="task-01a2b3c4-0000-7000-8000-00000000abcd", name="n", prompt="p", model="m")
QUEUED = QueuedDetail(queued_at_ms=NOW_MS - 8_000)
RUNNING = RunningDetail(phase=Phase.LLM_REQUEST, started_at_ms=0, iteration=2)
POINT = ResumePoint(kind=ResumePointKind.LLM_CALL)
HOLDER = Holder(process_id="p1", pid=4_711, host="0123456789abcdef", connected=True)
ASKS = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", opened_at_ms=NOW_MS - 125_000)


def facts(detail: Any, place: str | None, due_in_ms: int | None = None, **more: Any) -> TaskFacts:
    """Readings of a task in its third turn whose last step was saved 40 s ago, unless told otherwise."""
    of_record = {name: more.pop(name) for name in set(more) & set(TaskRecord.model_fields)}
    counters = Counters(iteration=2, model_calls=2, recoveries=of_record.pop("counters", 0))
    values: dict[str, Any] = {"marker": Marker(name=MarkerName.REQUEST_SENT), "saved_at_ms": NOW_MS - 40_000}
    record = TaskRecord(
        spec=SPEC,
        status=detail.status,
        detail=detail,
        counters=counters,
        seq=7,
        fence=1,
        owner="p1",
        place=place,
        **(values | of_record),
    )
    due_ms = None if due_in_ms is None else NOW_MS + due_in_ms
    given = {"last_sweep_ms": NOW_MS - 2_000, "workers": 2, **more}
    return TaskFacts(record=record, now_ms=NOW_MS, due_ms=due_ms, **given)


def held(due_in_ms: int, **more: Any) -> TaskFacts:
    """Readings of a task that a worker holds."""
    return facts(RUNNING, "leases", due_in_ms, **{"holder": HOLDER, **more})


CASES: dict[str, tuple[TaskFacts, list[str], list[tuple[str, int | None]]]] = {
    "waits for a worker": (
        facts(QUEUED, "outbox", 3_000),
        ["its message was sent 2 s ago", "2 worker processes are connected"],
        [("publish it again in 3 s", 3_000)],
    ),
    "sent again, and no worker": (
        facts(QUEUED, "outbox", 12_000, publications=2, workers=0),
        ["sent again by the sweep, 2 times so far, 8 s ago", "No worker process that has had a turn is connected"],
        [("publish it again in 12 s", 12_000)],
    ),
    "its time is over": (
        facts(QUEUED, "outbox", -900, publications=1, workers=1),
        ["1 time so far, 10 s ago", "1 worker process is connected"],
        [("with its next visit", 0)],
    ),
    "a live lease": (
        held(18_000),
        ["worked on by worker process 4711 on host 01234567; its lease was renewed 2 s ago", "request_sent"],
        [("runs out in 18 s, unless it is renewed, as it is every 5 s", 18_000)],
    ),
    "late": (
        held(9_000),
        ["held by worker process 4711", "renewed 11 s ago", "Two renewals were missed"],
        [("next visit marks it suspect", None)],
    ),
    "suspect": (
        held(8_000, suspect_since_ms=NOW_MS - 3_000),
        ["It is suspect: 3 s ago"],
        [("lease runs out in 8 s; the second visit (in 8 s) recovers it: it goes on from its marker", 8_000)],
    ),
    "suspect, its lease over": (
        held(-1_000, suspect_since_ms=NOW_MS - 6_000),
        ["It is suspect: 6 s ago"],
        [("Its lease is over; the second visit (in 4 s) recovers it", 4_000)],
    ),
    "recovered twice": (
        held(-1_000, suspect_since_ms=NOW_MS - 60_000, counters=2, holder=None),
        ["recovered 2 times since its last outcome; at 3 it fails"],
        [("it fails, at 3 recoveries in a row", 0)],
    ),
    "recovered twice, and its worker lives": (
        held(-1_000, suspect_since_ms=NOW_MS - 60_000, counters=2),
        ["recovered 2 times since its last outcome; at 3 it fails"],
        [("it goes on from its marker", 0)],
    ),
    "too old": (
        held(-1_000, suspect_since_ms=NOW_MS - 60_000, saved_at_ms=NOW_MS - 86_400_001),
        ["It is suspect"],
        [("its last step is too old", 0)],
    ),
    "cut off": (
        held(18_000, holder=HOLDER.model_copy(update={"connected": False})),
        ["worked on by worker process 4711"],
        [("no connection: the watcher of its host recovers", None), ("unless it is renewed", 18_000)],
    ),
    "by an unknown process": (
        held(18_000, holder=Holder(process_id="p1")),
        ["by a process that is not registered any more"],
        [("unless it is renewed", 18_000)],
    ),
    "to be cancelled": (held(18_000, cancel_requested=True), ["A person has cancelled it"], [("renewed", 18_000)]),
    "to be paused": (held(18_000, pause_requested=True), ["asked for a pause"], [("renewed", 18_000)]),
    "waits before a retry": (
        facts(RUNNING, "timers", 7_000),
        ["waits before it asks again"],
        [("In 7 s it goes to a worker", 7_000)],
    ),
    "waits for its rate": (
        facts(RUNNING, "timers", 7_000, held=ToolEffect(key="t", state="planned", tool="act", held=("writes", 9))),
        ["begun 9 writes within a minute, the most that `task_writes_per_minute` allows; its next call, act, waits"],
        [("In 7 s it goes to a worker", 7_000)],
    ),
    "waits for its start": (
        facts(QUEUED, "timers", 7_000, starts_at_ms=NOW_MS + 7_000),
        ["It starts at 1970-01-01 02:46:47 UTC; until then it holds no worker and no slot"],
        [("In 7 s it goes to a worker, or stands in line", 7_000)],
    ),
    "is paused before its start": (
        facts(PausedDetail(paused_at_ms=0, resume_point=POINT), "waits", 0, starts_at_ms=NOW_MS + 7_000),
        ["It starts at 1970-01-01 02:46:47 UTC at the earliest."],
        [("Nothing by itself", None)],
    ),
    "waits for what a former worker may do": (
        facts(RUNNING, "timers", 7_000, unsafe_until_ms=NOW_MS + 7_000),
        ["A former worker was only seen absent"],
        [("In 7 s it goes to a worker", 7_000)],
    ),
    "waits for a person": (
        facts(WaitingForUserDetail(prompts=(ASKS,), waiting_since_ms=0), "waits", 0, prompts=(ASKS,)),
        ["asks a person (2 min 5 s ago): May it?"],
        [("Nothing by itself, it holds no worker; `neuraphage answer 00000000abcd", None)],
    ),
    "waits for a person until a time": (
        facts(
            WaitingForUserDetail(prompts=(), waiting_since_ms=0),
            "waits",
            0,
            prompts=(ASKS.model_copy(update={"deadline_ms": NOW_MS + 90_000, "default_answer": "no"}),),
        ),
        ["asks a person"],
        [
            ("In 1 min 30 s the sweep answers 'no'", 90_000),
            ("Or before that; `neuraphage answer 00000000abcd", None),
        ],
    ),
    "blocked": (
        facts(BlockedDetail(resource="file:a", waiting_since_ms=NOW_MS - 20_000), "waits", 0),
        ["waited 20 s for file:a"],
        [("wakes it in 40 s", 40_000)],
    ),
    "paused by a person": (
        facts(PausedDetail(paused_at_ms=NOW_MS - 180_000, resume_point=POINT), "waits", 0),
        ["A person paused it 3 min ago"],
        [("`neuraphage resume 00000000abcd`", None)],
    ),
    "paused by policy": (
        facts(PausedDetail(paused_at_ms=NOW_MS, resume_point=POINT, reason="recovery"), "waits", 0),
        ["the recovery policy left it to a person"],
        [("kept for ever", None)],
    ),
    "failed, recoverable": (
        facts(FailedDetail(error="Its last step was too old.", recoverable=True, failed_at_ms=0), None),
        ["It failed: Its last step was too old."],
        [("`neuraphage retry 00000000abcd`", None)],
    ),
    "failed for good": (
        facts(FailedDetail(error="No.", recoverable=False, failed_at_ms=0), None),
        ["It failed: No."],
        [("a retry cannot help; correct the cause, then `neuraphage recover --reset 00000000abcd` starts", None)],
    ),
    "completed": (
        facts(CompletedDetail(summary="s", completed_at_ms=0, iterations=1, total_cost_microusd=0), None),
        ["It is completed."],
        [('`neuraphage send 00000000abcd "..."` goes on with its conversation', None)],
    ),
    "cancelled": (
        facts(CancelledDetail(cancelled_at_ms=0, reason="enough"), None),
        ["A person cancelled it: enough"],
        [("nothing goes on with it; submit a new task", None)],
    ),
    "in no place": (facts(QUEUED, None), ["none of the four places"], [("show 00000000abcd --json", None)]),
}


@pytest.mark.parametrize("case", CASES)
def test_explanations(case: str) -> None:
    """Every sentence that is promised is there, and the times are those of the facts."""
    given, because, following = CASES[case]
    found = explain(given, RULES)
    assert found.status is given.record.status
    for words in because:
        assert any(words in sentence for sentence in found.because), (words, found.because)
    assert len(found.next) == len(following)
    for forecast, (words, in_ms) in zip(found.next, following, strict=True):
        assert words in forecast.text
        assert forecast.in_ms == in_ms


def test_every_status_has_a_case() -> None:
    """No status is left to a general sentence."""
    assert {given.record.status for given, _, _ in CASES.values()} == set(Status)


def test_a_sweep_that_is_away() -> None:
    """It is told where the task needs it, and only there."""
    for last_ms, words in ((0, "No sweep has ever run"), (NOW_MS - 60_000, "No sweep has run for 1 min")):
        assert words in explain(facts(QUEUED, "outbox", 0, last_sweep_ms=last_ms), RULES).because[-1]
        paused = PausedDetail(paused_at_ms=NOW_MS, resume_point=POINT)
        assert len(explain(facts(paused, "waits", 0, last_sweep_ms=last_ms), RULES).because) == 1


def test_a_policy_that_asks_people() -> None:
    """The forecast follows the setting."""
    rules = Rules(**{name: getattr(RULES, name) for name in Rules.__slots__} | {"recovery_policy": "confirm"})
    found = explain(held(-1_000, suspect_since_ms=NOW_MS - 60_000), rules)
    assert "it is paused until a person resumes it" in found.next[0].text


def test_clocks() -> None:
    """Those that run where the task sits, and no others."""
    assert clocks(held(18_000), RULES).model_dump() == {
        "dispatch_ms": None, "claim_ms": 18_000, "progress_ms": 2_000, "checkpoint_ms": 40_000, "sweep_ms": 2_000,
    }  # fmt: skip
    outbox = clocks(facts(QUEUED, "outbox", 50_000, publications=9), RULES)
    assert (outbox.dispatch_ms, outbox.claim_ms, outbox.progress_ms) == (10_000, None, None)


@pytest.mark.parametrize(
    ("length_ms", "text"),
    [
        (-5, "0 s"),
        (340, "0.3 s"),
        (8_000, "8 s"),
        (12_900, "12 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_660_000, "1 h 1 min"),
        (90_000_000, "1 d 1 h"),
    ],
)
def test_durations(length_ms: int, text: str) -> None:
    """In the largest unit and the next one."""
    assert duration(length_ms) == text

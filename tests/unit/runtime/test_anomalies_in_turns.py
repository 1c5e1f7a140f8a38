"""A task that leads nowhere is told, paused or failed, through kills; a person's word goes on with it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from neuraphage.model.anomaly import AnomalyKind
from neuraphage.model.event import EventKind
from neuraphage.model.message import ModelReply
from neuraphage.model.task import FailedDetail, PausedDetail, Status, TaskRecord
from neuraphage.model.tool import ToolResult
from neuraphage.store import queries
from neuraphage.testing import CrashInjector, Recorder, crash_points
from turnkit import FakeTool, Killed, Rig, calls, killed, recorded, says, texts

MakeRig = Callable[..., Rig]
OTHERS_OFF = tuple(f"{kind} off" for kind in AnomalyKind if kind is not AnomalyKind.SAME_CALL_FAILS)


def broken(_: Any, __: Any) -> ToolResult:
    """What a tool says that always fails."""
    return ToolResult(text="no such table", is_error=True)


def same(count: int, first: int = 0) -> list[ModelReply]:
    """Replies that call the same, each under an id of its own."""
    return [calls((f"t{number}", "act", {"table": "users"})) for number in range(first, first + count)]


def rules(action: str, limit: int = 4) -> dict[str, Any]:
    """One kind alone."""
    return {"anomalies": (*OTHERS_OFF, f"same_call_fails {action} {limit}"), "extra": [FakeTool(act=broken)]}


def events(rig: Rig, task_id: str, kind: EventKind) -> list[dict[str, Any]]:
    """What the history has of a kind."""
    return [one.data for one in queries.events(rig.store.context, task_id) if one.kind == kind]


def paused(record: TaskRecord) -> PausedDetail:
    """The detail of a task that was paused for an anomaly."""
    assert isinstance(record.detail, PausedDetail)
    assert record.detail.reason == "anomaly"
    assert record.detail.anomaly is not None
    return record.detail


def test_twelve_identical_failures_stop_by_the_defaults(make_rig: MakeRig) -> None:
    """Long before the limit of turns; the model was told when half of them had failed."""
    rig = make_rig(*same(12), extra=[FakeTool(act=broken)])
    task_id = rig.run()
    detail = paused(rig.get(task_id))
    assert detail.anomaly is not None
    assert (detail.anomaly.kind, detail.anomaly.reading, detail.anomaly.limit) == (AnomalyKind.SAME_CALL_FAILS, 5, 5)
    assert len(rig.model.requests) == 5
    told = [text for text in texts(rig.model.requests[-1].messages) if text.startswith("[Runtime note]")]
    assert len(told) == 1
    assert "failed 3 times" in told[0]
    (seen,) = events(rig, task_id, EventKind.ANOMALY_DETECTED)
    assert seen == {"kind": "same_call_fails", "reading": 5, "limit": 5, "what": 'act {"table":"users"}'}
    (told_of_pause,) = events(rig, task_id, EventKind.TASK_PAUSED)
    assert told_of_pause["anomaly"]["kind"] == "same_call_fails"


def test_a_resume_counts_anew(make_rig: MakeRig) -> None:
    """The same steps pause it once; the model reads why when it goes on."""
    rig = make_rig(*same(8), **rules("pause"))
    task_id = rig.run()
    rig.people.resume(task_id)
    rig.drain()
    assert paused(rig.get(task_id)).anomaly is not None
    assert len(rig.model.requests) == 8
    assert "failed 4 times" in texts(rig.model.requests[4].messages)[-1]


def test_a_message_goes_on_with_it(make_rig: MakeRig) -> None:
    """No resume is needed: who writes has judged what was seen, and all readings begin anew."""
    rig = make_rig(*same(4), *same(3, 4), says("Done."), **rules("pause"))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.PAUSED
    rig.people.send(task_id, "The table is called people.")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert texts(rig.model.requests[4].messages)[-1] == "The table is called people."


def test_a_message_that_waits_is_heard_first(make_rig: MakeRig) -> None:
    """It came while the last call ran: the task is not paused under a person's words."""
    rig: Rig

    def hear(_: Any, __: Any) -> ToolResult:
        if len(rig.model.requests) == 4:
            rig.people.send(task_id, "Try people.")
        return ToolResult(text="no such table", is_error=True)

    rig = make_rig(*same(4), says("Done."), **{**rules("pause"), "extra": [FakeTool(act=hear)]})
    task_id = rig.submit()
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert texts(rig.model.requests[4].messages)[-1] == "Try people."


def test_a_failure_can_be_retried(make_rig: MakeRig) -> None:
    """The error says what was seen; a retry goes on, and counts anew."""
    rig = make_rig(*same(4), says("Done."), **rules("fail"))
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert 'The same call failed 4 times, with nothing changed in between (limit 4, same_call_fails): act {"table"' in (
        detail.error
    )
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_warning_stops_nothing(make_rig: MakeRig) -> None:
    """It is in the history, once for each time that the limit is reached, and the model is told."""
    rig = make_rig(*same(9), says("Done."), **rules("warn"))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert [one["reading"] for one in events(rig, task_id, EventKind.ANOMALY_DETECTED)] == [4, 4]


def test_off_says_nothing(make_rig: MakeRig) -> None:
    """Then no note is in the conversation."""
    rig = make_rig(*same(9), says("Done."), **rules("off"))
    task_id = rig.run()
    assert events(rig, task_id, EventKind.ANOMALY_DETECTED) == []
    assert not any(text.startswith("[Runtime note]") for text in texts(rig.model.requests[-1].messages))


def test_recoveries_neither_reset_nor_feed_it(make_rig: MakeRig) -> None:
    """Each call's worker dies once in it: as many calls are counted as were made, and the same number pauses it."""
    died: set[str] = set()

    def dies_once(_: Any, context: Any) -> ToolResult:
        if context.effect_id not in died:
            died.add(context.effect_id)
            raise Killed
        return ToolResult(text="no such table", is_error=True)

    rig = make_rig(*same(8), **{**rules("pause"), "extra": [FakeTool(act=dies_once)], "max_recoveries": 20})
    task_id = rig.submit()
    while rig.dispatcher.messages:
        try:
            rig.step()
        except Killed:
            rig = rig.recover(task_id)
    detail = paused(rig.get(task_id))
    assert detail.anomaly is not None
    assert (detail.anomaly.reading, len(rig.model.requests), len(died)) == (4, 4, 4)


def a_pause(make_rig: MakeRig, recorder: Recorder) -> tuple[Rig, str]:
    """A task that is paused for an anomaly and goes on with a message, up to its end, over a death."""

    def script(request: Any, *_: Any) -> ModelReply:
        made = sum(message["role"] == "assistant" for message in request.messages)
        return says("Done.") if made > 1 else calls((f"t{made}", "act", {"table": "users"}))

    rig = recorded(make_rig(*[script] * 6, **rules("pause", 2)), recorder)
    task_id = rig.submit()
    rig = rig.through(task_id)
    assert rig.get(task_id).status is Status.PAUSED
    rig.people.send(task_id, "Go on.")
    return rig.through(task_id), task_id


def test_whenever_a_worker_dies_it_is_paused_once(make_rig: MakeRig, announce: Callable[[str], None]) -> None:
    """At both sides of each write and call: one anomaly, one pause, one note to the model."""
    recorder = Recorder()
    a_pause(make_rig, recorder)
    points = list(crash_points(recorder.calls))
    assert "TurnStore.suspend" in {point.call for point in points}
    for point in points:
        rig, task_id = a_pause(make_rig, CrashInjector(point, killed))
        assert rig.get(task_id).status is Status.COMPLETED, point
        assert len(events(rig, task_id, EventKind.ANOMALY_DETECTED)) == 1, point
        assert len(events(rig, task_id, EventKind.TASK_PAUSED)) == 1, point
        notes = [text for text in texts(rig.model.requests[-1].messages) if text.startswith("[Runtime note]")]
        assert len(notes) == 1, point
        rig.check()
    announce(f"{len(points)} crash points of anomalies")
    assert len(points) >= 15

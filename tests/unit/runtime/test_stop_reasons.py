"""What each stop reason of the model comes to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.decide.conversation import CONTINUE_TEXT, GO_ON_TEXT
from neuraphage.model.task import FailedDetail, Status
from turnkit import FakeTool, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
def test_a_natural_end_completes_an_autonomous_task(make_rig: MakeRig, reason: str) -> None:
    """end_turn and stop_sequence end the task with the last text as summary, after one call."""
    rig = make_rig(says("All done.", stop_reason=reason))
    record = rig.get(rig.run())
    assert record.status is Status.COMPLETED
    assert record.detail.summary == "All done."
    assert record.counters.model_calls == record.counters.iteration == 1


def test_tool_use_goes_on_with_another_turn(make_rig: MakeRig) -> None:
    """The next request carries the call and its result."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert [message["role"] for message in rig.model.requests[1].messages] == ["user", "assistant", "user"]
    assert rig.results(task_id)["t1"]["content"] == "acted"


def test_max_tokens_is_continued(make_rig: MakeRig) -> None:
    """A cut reply is kept and the model is asked to go on from it."""
    rig = make_rig(says("First half", stop_reason="max_tokens"), says("second half."))
    task_id = rig.run()
    assert texts(rig.model.requests[1].messages)[-2:] == ["First half", CONTINUE_TEXT]
    assert rig.get(task_id).counters.iteration == 2
    assert rig.get(task_id).status is Status.COMPLETED


def test_max_tokens_runs_the_calls_that_were_whole(make_rig: MakeRig) -> None:
    """All but the last: behind each of these the model had gone on. No request to continue stands beside results."""
    tool = FakeTool()
    rig = make_rig(
        calls(("t1", "act", {"n": 1}), ("t2", "act", {}), stop_reason="max_tokens"), says("Done."), extra=[tool]
    )
    task_id = rig.run()
    assert len(tool.runs) == 1
    assert CONTINUE_TEXT not in texts(rig.model.requests[1].messages)
    assert rig.results(task_id)["t1"]["content"] == "acted"
    assert rig.get(task_id).status is Status.COMPLETED


def test_consecutive_continues_are_capped(make_rig: MakeRig) -> None:
    """A model that never ends is stopped after max_continues, with a failure a person may retry."""
    rig = make_rig(*[says(f"part {i}", stop_reason="max_tokens") for i in range(9)], max_continues=2)
    record = rig.get(rig.run())
    assert len(rig.model.requests) == 3
    assert isinstance(record.detail, FailedDetail)
    assert record.detail.recoverable
    assert "3 times in a row" in record.detail.error


def test_an_end_between_resets_the_cap(make_rig: MakeRig) -> None:
    """Only consecutive cuts count: a turn of tools between them starts the count anew."""
    cut = says("part", stop_reason="max_tokens")
    rig = make_rig(cut, calls(("t1", "act", {})), cut, says("Done."), extra=[FakeTool()], max_continues=1)
    assert rig.get(rig.run()).status is Status.COMPLETED


def test_pause_turn_goes_on_with_what_was_said(make_rig: MakeRig) -> None:
    """pause_turn: the same conversation goes back; the word behind it is sent and not stored."""
    rig = make_rig(says("Let me think", stop_reason="pause_turn"), says("Done."))
    task_id = rig.run()
    assert texts(rig.model.requests[1].messages)[1:] == ["Let me think", GO_ON_TEXT]
    assert rig.get(task_id).status is Status.COMPLETED
    assert [entry["role"] for entry in rig.entries(task_id)] == ["user", "assistant", "assistant"]


@pytest.mark.parametrize(
    ("reason", "words", "advice"),
    [
        ("refusal", "refused", "in other words"),
        ("brand_new_reason", "brand_new_reason", "newer release"),
        ("", "''", "A retry asks again"),
    ],
)
def test_ends_that_fail_the_task_can_be_retried(make_rig: MakeRig, reason: str, words: str, advice: str) -> None:
    """Refusal and unknown reasons fail the task, say why and what to do; a retry asks."""
    rig = make_rig(says("I stop.", stop_reason=reason), says("Done after all."))
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert words in detail.error
    assert advice in detail.error
    assert detail.recoverable
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).detail.summary == "Done after all."
    assert ("I stop." in texts(rig.model.requests[1].messages)) is (reason != "refusal")


def test_a_reply_of_blank_text_can_be_sent_back(make_rig: MakeRig) -> None:
    """The API refuses blank text blocks, and models write them before calls: the next request leaves them out."""
    rig = make_rig(calls(("t1", "act", {}), text="\n\n"), says("Done."), extra=[FakeTool()])
    assert rig.get(rig.run()).status is Status.COMPLETED

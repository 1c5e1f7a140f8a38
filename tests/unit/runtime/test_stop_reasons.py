"""What each stop reason of the model comes to."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.decide.conversation import CONTINUE_TEXT
from neuraphage.model.task import FailedDetail, Status
from turnkit import FakeTool, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


@pytest.mark.parametrize("reason", ["end_turn", "stop_sequence"])
def test_a_natural_end_completes_an_autonomous_task(make_rig: MakeRig, reason: str) -> None:
    """end_turn and stop_sequence end the task with the last text as summary (K8), after one call (S-B7)."""
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
    """A cut reply is kept and the model is asked to go on from it (R90)."""
    rig = make_rig(says("First half", stop_reason="max_tokens"), says("second half."))
    task_id = rig.run()
    assert texts(rig.model.requests[1].messages)[-2:] == ["First half", CONTINUE_TEXT]
    assert rig.get(task_id).counters.iteration == 2
    assert rig.get(task_id).status is Status.COMPLETED


def test_max_tokens_runs_the_calls_it_holds_first(make_rig: MakeRig) -> None:
    """Complete tool calls of a cut reply are run, and no request to continue is added beside their results."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {}), stop_reason="max_tokens"), says("Done."), extra=[tool])
    task_id = rig.run()
    assert len(tool.runs) == 1
    assert CONTINUE_TEXT not in texts(rig.model.requests[1].messages)
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


def test_pause_turn_is_sent_back_as_it_is(make_rig: MakeRig) -> None:
    """pause_turn: the same conversation goes back, with no words of ours behind it."""
    rig = make_rig(says("Let me think", stop_reason="pause_turn"), says("Done."))
    task_id = rig.run()
    assert rig.model.requests[1].messages[-1]["role"] == "assistant"
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        ("refusal", "refused"),
        ("model_context_window_exceeded", "context window"),
        ("brand_new_reason", "brand_new_reason"),
    ],
)
def test_ends_that_a_retry_cannot_help(make_rig: MakeRig, reason: str, words: str) -> None:
    """Refusal, a full context window and unknown reasons fail the task and say why (R91)."""
    record = make_rig(says("I stop.", stop_reason=reason)).run
    rig = make_rig(says("I stop.", stop_reason=reason))
    del record
    detail = rig.get(rig.run()).detail
    assert isinstance(detail, FailedDetail)
    assert words in detail.error
    assert not detail.recoverable


def test_an_empty_reply_completes_with_an_empty_summary(make_rig: MakeRig) -> None:
    """A reply without content is stored as no entry, and the next request would still be sound."""
    rig = make_rig(says(""))
    record = rig.get(rig.run())
    assert record.status is Status.COMPLETED
    assert record.detail.summary == ""


def test_a_reply_of_blank_text_can_be_sent_back(make_rig: MakeRig) -> None:
    """The API refuses blank text blocks, and models write them before calls: the next request leaves them out."""
    rig = make_rig(calls(("t1", "act", {}), text="\n\n"), says("Done."), extra=[FakeTool()])
    assert rig.get(rig.run()).status is Status.COMPLETED

"""Replies that bring nothing: no completion, asked again within a bound, and a failure that a retry gets over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.decide.replies import NUDGE_EMPTY, NUDGE_NO_CALL
from neuraphage.model.message import ModelReply
from neuraphage.model.task import FailedDetail, Mode, Status
from neuraphage.testing.scripted_api.script import sign
from turnkit import USAGE, FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
THOUGHT = {"type": "thinking", "thinking": "All is done.", "signature": sign("All is done.")}


def blocks(*content: dict[str, Any], stop_reason: str = "end_turn") -> ModelReply:
    """A reply of any blocks."""
    return ModelReply(
        content=list(content), stop_reason=stop_reason, usage=USAGE, model="scripted-1", message_id="msg-1"
    )


EMPTY = {
    "no blocks": blocks(),
    "empty text": blocks({"type": "text", "text": ""}),
    "white space": blocks({"type": "text", "text": " \n\t"}),
    "zero-width": blocks({"type": "text", "text": "\u200b\ufeff"}),
    "a thought": blocks(THOUGHT),
    "a hidden thought": blocks({"type": "redacted_thinking", "data": "c2VjcmV0"}),
    "a thought and blank text": blocks(THOUGHT, {"type": "text", "text": "\n"}),
    "a placeholder": blocks(THOUGHT, {"type": "text", "text": "(empty content)"}),
    "an unknown block": blocks({"type": "hologram", "size": 3}),
    "a stop sequence": blocks(stop_reason="stop_sequence"),
}


@pytest.mark.parametrize("reply", EMPTY.values(), ids=EMPTY.keys())
def test_an_empty_reply_is_asked_again(make_rig: MakeRig, reply: ModelReply) -> None:
    """It completes nothing; the next request is one that the API takes, and ends with the nudge."""
    rig = make_rig(calls(("t1", "act", {})), reply, says("Three files were changed."), extra=[FakeTool()])
    record = rig.get(rig.run())
    assert record.status is Status.COMPLETED
    assert record.detail.summary == "Three files were changed."
    assert texts(rig.model.requests[2].messages)[-1] == NUDGE_EMPTY


@pytest.mark.parametrize("words", ["", "I will now read the file."])
def test_a_stop_for_a_call_that_is_not_there_is_asked_again(make_rig: MakeRig, words: str) -> None:
    """With words or without: a stream that ends with tool_use and holds no call ends no task, for good or ill."""
    rig = make_rig(says(words, stop_reason="tool_use"), calls(("t1", "act", {})), says("Done."), extra=[FakeTool()])
    task_id = rig.run()
    assert rig.get(task_id).detail.summary == "Done."
    assert texts(rig.model.requests[1].messages)[-1] == NUDGE_NO_CALL


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize(("reason", "words"), [("end_turn", "was empty"), ("tool_use", "without making one")])
def test_the_nudges_are_bounded_and_a_retry_begins_anew(make_rig: MakeRig, mode: Mode, reason: str, words: str) -> None:
    """max_empty_replies nudges; then a failure that says why. The retry asks again, with as many nudges as before."""
    empty = [says("", stop_reason=reason) for _ in range(5)]
    rig = make_rig(*empty, calls(("t1", "complete_task", {"summary": "Done."})), max_empty_replies=2)
    task_id = rig.run(mode=mode)
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert (detail.recoverable, len(rig.model.requests)) == (True, 3)
    assert words in detail.error
    assert "3 times in a row" in detail.error
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).detail.summary == "Done."
    assert len(rig.model.requests) == 6


def test_a_bound_of_zero_fails_at_the_first(make_rig: MakeRig) -> None:
    """Zero means never, not for ever."""
    rig = make_rig(says(""), max_empty_replies=0)
    assert rig.get(rig.run()).status is Status.FAILED


def test_empty_and_cut_replies_in_turns_are_bounded_too(make_rig: MakeRig) -> None:
    """Neither kind begins the count of the other anew; a turn of work does."""
    cut, empty = says("part", stop_reason="max_tokens"), says("")
    rig = make_rig(*[cut, empty] * 9, max_empty_replies=2)
    assert rig.get(rig.run()).status is Status.FAILED
    assert len(rig.model.requests) == 6


def test_work_between_empty_replies_begins_the_count_anew(make_rig: MakeRig) -> None:
    """Only replies in a row count."""
    steps = [step for n in range(3) for step in (says(""), calls((f"t{n}", "act", {"n": n})))]
    rig = make_rig(*steps, says("Done."), extra=[FakeTool()], max_empty_replies=1)
    assert rig.get(rig.run()).status is Status.COMPLETED


def test_an_empty_reply_outlives_its_process(make_rig: MakeRig) -> None:
    """A process that dies while the model is asked again: the next one asks the same, and counts it once."""

    def dies(*_: Any) -> ModelReply:
        raise Killed

    rig = make_rig(says(""), dies, says("", stop_reason="end_turn"), says("Done."), max_empty_replies=2)
    task_id = rig.submit()
    rig.step()
    rig.dies()
    heir = rig.recover(task_id)
    heir.drain()
    assert heir.get(task_id).status is Status.COMPLETED
    assert rig.model.requests[1].messages == rig.model.requests[2].messages


def test_a_conversation_waits_for_the_person_after_the_words_that_came(make_rig: MakeRig) -> None:
    """In talk, too, silence is no turn of the person."""
    rig = make_rig(says(""), says("What next?"))
    record = rig.get(rig.run(mode=Mode.CONVERSATIONAL))
    assert record.status is Status.WAITING_FOR_USER
    assert [prompt.text for prompt in record.prompts] == ["What next?"]


@pytest.mark.parametrize("name", ["complete_task", "fail_task"])
def test_an_end_without_words_is_refused(make_rig: MakeRig, name: str) -> None:
    """A blank summary tells nobody anything: the model is asked to say it."""
    field = {"complete_task": "summary", "fail_task": "reason"}[name]
    rig = make_rig(calls(("t1", name, {field: " \n"})), says("Done."))
    task_id = rig.run()
    assert "blank" in rig.results(task_id)["t1"]["content"]
    assert rig.get(task_id).detail.summary == "Done."

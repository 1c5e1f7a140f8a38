"""Replies out of the ordinary: what they hold is run once, and the next request is one that the API takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.decide.conversation import CONTINUE_TEXT, GO_ON_TEXT
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.message import ModelReply
from neuraphage.model.task import FailedDetail, Status
from neuraphage.testing.scripted_api.script import sign
from turnkit import USAGE, FakeTool, Rig, calls, says, texts

MakeRig = Callable[..., Rig]


def replies(*content: dict[str, Any], stop_reason: str = "end_turn") -> ModelReply:
    """A reply of any blocks."""
    return ModelReply(
        content=list(content), stop_reason=stop_reason, usage=USAGE, model="scripted-1", message_id="msg-1"
    )


@pytest.mark.parametrize("odd", ["", "a.b:c", "model", "x" * 201, "t1\n"])
def test_a_call_whose_id_cannot_be_used_gets_one_of_ours(make_rig: MakeRig, odd: str) -> None:
    """Empty, foreign, over-long, or the journal's own name: the call is run and its result goes back with it."""
    tool = FakeTool()
    rig = make_rig(calls((odd, "act", {})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(tool.runs) == 1
    assert rig.results(task_id)[rig.called(task_id)[0]]["content"] == "acted"


def test_two_calls_of_one_reply_with_the_same_id_are_both_run(make_rig: MakeRig) -> None:
    """The journal knows a call by its id: the second one would have been taken for done."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {"n": 1}), ("t1", "act", {"n": 2})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(set(tool.runs)) == len(set(rig.called(task_id))) == 2


def test_a_call_with_the_id_of_an_earlier_turn_is_run(make_rig: MakeRig) -> None:
    """The spool knows a command by its id: the result of the earlier turn would have been told again."""
    again = calls(("call_0", "run_command", {"command": "echo run >> log; wc -l < log"}))
    rig = make_rig(again, again, says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert (rig.folder / "log").read_text(encoding="utf-8") == "run\nrun\n"
    assert len(rig.results(task_id)) == 2


def test_a_broken_call_is_refused_under_its_new_id(make_rig: MakeRig) -> None:
    """What was told of a call by its old id holds for it and for no other."""
    tool = FakeTool()
    broken = calls(("", "act", {}), ("t2", "act", {"n": 1}), invalid_inputs={"": "{"})
    rig = make_rig(broken, says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    first, second = (rig.results(task_id)[key] for key in rig.called(task_id))
    assert "not a JSON object" in first["content"]
    assert (second["content"], len(tool.runs)) == ("acted", 1)


@pytest.mark.parametrize("name", ["", "n" * 201])
def test_a_call_whose_name_the_api_would_not_take_back(make_rig: MakeRig, name: str) -> None:
    """The model is told that there is no such tool, in a request that is not refused."""
    rig = make_rig(calls(("t1", name, {})), says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert "There is no tool" in rig.results(task_id)["t1"]["content"]


def test_calls_of_a_refused_reply_are_not_run(make_rig: MakeRig) -> None:
    """The provider broke the reply off: what it had asked for by then is no decision of the model."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {}), stop_reason="refusal"), says("Done."), extra=[tool])
    record = rig.get(rig.run())
    assert isinstance(record.detail, FailedDetail)
    assert "refused" in record.detail.error
    assert tool.runs == []


def test_a_thought_that_was_cut_before_its_signature_is_not_sent_back(make_rig: MakeRig) -> None:
    """The API refuses an unsigned thought, and one at the end: the limit in mid-thought would have failed the task."""
    signed = {"type": "thinking", "thinking": "hm", "signature": sign("hm")}
    cut = replies(signed, {"type": "thinking", "thinking": "so", "signature": ""}, stop_reason="max_tokens")
    rig = make_rig(cut, says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert texts(rig.model.requests[1].messages) == ["Do it.", CONTINUE_TEXT]
    assert rig.entries(task_id)[1]["content"][0] == signed


def test_words_before_a_pause_are_sent_back_with_a_person_s_word_behind_them(make_rig: MakeRig) -> None:
    """Newer models refuse a conversation that ends with the model's words; what is stored stays as it came."""
    rig = make_rig(says("I look it up: \n", stop_reason="pause_turn"), says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.entries(task_id)[1]["content"][0]["text"] == "I look it up: \n"
    assert rig.model.requests[1].messages[-1] == {"role": "user", "content": [{"type": "text", "text": GO_ON_TEXT}]}


@pytest.mark.parametrize("reason", ["pause_turn", "max_tokens"])
def test_replies_without_content_are_counted_too(make_rig: MakeRig, reason: str) -> None:
    """A model that only ever pauses or is cut is stopped after max_continues, not when the money is gone."""
    rig = make_rig(*[says("", stop_reason=reason) for _ in range(9)], max_continues=2)
    record = rig.get(rig.run())
    assert len(rig.model.requests) == 3
    assert isinstance(record.detail, FailedDetail)
    assert "3 times in a row" in record.detail.error


def test_half_a_character_in_an_error_is_replaced(make_rig: MakeRig) -> None:
    """What a server says of itself is stored with the task, whatever it is."""
    rig = make_rig(ModelFault(FaultKind.BAD_REQUEST, "no \ud83c"))
    record = rig.get(rig.run())
    assert isinstance(record.detail, FailedDetail)
    assert "no \ufffd" in record.detail.error

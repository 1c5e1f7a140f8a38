"""Calls that a reply broke off in: never run, told as what they are, and counted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.message import ModelReply
from neuraphage.model.task import FailedDetail, Status
from neuraphage.model.usage import Usage
from turnkit import USAGE, FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def replies(*content: dict[str, Any], stop_reason: str, usage: Usage = USAGE, **more: Any) -> ModelReply:
    """A reply of any blocks."""
    return ModelReply(
        content=list(content), stop_reason=stop_reason, usage=usage, model="scripted-1", message_id="msg-1", **more
    )


def use(key: str = "t1", **params: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": "act", "input": params}


@pytest.mark.parametrize("invalid", [{}, {"t1": '{"content": "half a f'}, {"t1": ""}])
@pytest.mark.parametrize("behind", [[], [{"type": "text", "text": "\n"}]])
def test_the_call_a_reply_was_cut_in_is_not_run(
    make_rig: MakeRig, invalid: dict[str, str], behind: list[dict[str, Any]]
) -> None:
    """Whole JSON or half: the limit is named with its number, and smaller pieces are advised."""
    tool = FakeTool()
    cut = replies(use(), *behind, stop_reason="max_tokens", invalid_inputs=invalid)
    rig = make_rig(cut, says("Done."), extra=[tool])
    task_id = rig.run(max_tokens=777)
    result = rig.results(task_id)["t1"]
    assert tool.runs == []
    assert result["is_error"] is True
    assert "length limit" in result["content"]
    assert "777 tokens" in result["content"]
    assert "smaller pieces" in result["content"]
    assert "not a JSON object" not in result["content"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_call_with_words_behind_it_was_whole(make_rig: MakeRig) -> None:
    """The model had gone on: only what came last may be half."""
    tool = FakeTool()
    cut = replies(use(), {"type": "text", "text": "And now I"}, stop_reason="max_tokens")
    rig = make_rig(cut, says("Done."), extra=[tool])
    assert rig.get(rig.run()).status is Status.COMPLETED
    assert len(tool.runs) == 1


def test_a_person_is_not_asked_about_a_cut_call(make_rig: MakeRig) -> None:
    """An approval of half a command would be one of something else."""
    tool = FakeTool(side_effecting=True)
    rig = make_rig(replies(use(), stop_reason="max_tokens"), says("Done."), extra=[tool])
    record = rig.get(rig.run(allow=()))
    assert (record.status, tool.runs) == (Status.COMPLETED, [])


@pytest.mark.parametrize("reason", ["length", "brand_new_reason"])
def test_the_last_call_of_a_reply_with_an_unknown_end_is_not_run(make_rig: MakeRig, reason: str) -> None:
    """Servers spell the limit in their own ways: what cannot be known to be whole is sent again."""
    tool = FakeTool()
    first = replies(use("t1", n=1), use("t2", n=2), stop_reason=reason)
    rig = make_rig(first, calls(("t3", "act", {"n": 2})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert len(tool.runs) == 2
    assert reason in rig.results(task_id)["t2"]["content"]


def test_cut_calls_are_counted_like_cut_texts(make_rig: MakeRig) -> None:
    """A model that repeats a call which does not fit is stopped after max_continues, not at the limit of turns."""
    cut = [replies(use(f"t{n}"), stop_reason="max_tokens", invalid_inputs={f"t{n}": "{"}) for n in range(9)]
    rig = make_rig(*cut, says("Done."), extra=[FakeTool()], max_continues=2)
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert (len(rig.model.requests), detail.recoverable) == (3, True)
    assert "max_tokens" in detail.error
    rig.people.retry(task_id)
    rig.drain()
    assert len(rig.model.requests) == 6


def test_calls_that_can_never_be_used_are_counted_too(make_rig: MakeRig) -> None:
    """kilocode 11844: broken JSON, told, and sent again without end. A call that works begins the count anew."""

    def broken(number: int) -> ModelReply:
        return calls((f"t{number}", "act", {}), invalid_inputs={f"t{number}": "{'a': 1}"})

    rig = make_rig(
        broken(1), calls(("ok", "act", {})), *[broken(n) for n in range(2, 9)], extra=[FakeTool()], max_continues=2
    )
    detail = rig.get(rig.run()).detail
    assert isinstance(detail, FailedDetail)
    assert (len(rig.model.requests), detail.recoverable) == (5, True)
    assert "input cannot be used, 3 times in a row" in detail.error


def test_a_cut_that_its_server_calls_otherwise_is_a_cut(make_rig: MakeRig) -> None:
    """Half a call at the very limit was cut, also where the stop reason says tool_use."""
    usage = Usage(input_tokens=1, output_tokens=500)
    cut = replies(use(), stop_reason="tool_use", usage=usage, invalid_inputs={"t1": '{"a": "b'})
    rig = make_rig(cut, says("Done."), extra=[FakeTool()])
    task_id = rig.run(max_tokens=500)
    assert "500 tokens" in rig.results(task_id)["t1"]["content"]
    assert rig.entries(task_id)[1]["stop_reason"] == "max_tokens"


def test_complete_task_in_a_cut_reply_completes_nothing(make_rig: MakeRig) -> None:
    """Neither as the last call nor with words behind it that were cut."""
    done = {"type": "tool_use", "id": "t1", "name": "complete_task", "input": {"summary": "Done."}}
    text = {"type": "text", "text": "but first I"}
    rig = make_rig(
        replies(done, stop_reason="max_tokens"),
        replies({**done, "id": "t2"}, text, stop_reason="max_tokens"),
        calls(("t3", "complete_task", {"summary": "Now."})),
    )
    task_id = rig.run()
    assert rig.get(task_id).detail.summary == "Now."
    assert all(rig.results(task_id)[key]["is_error"] for key in ("t1", "t2"))


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ('{"a": "\\ud83d"}', "half of a character"),
        ('{"\\ud83d": 1}', "half of a character"),
        ('{"a": 1e400}', "1e400"),
        ('{"a": [Infinity]}', "Infinity"),
        ('{"a": NaN}', "NaN"),
        ('{"a": 18446744073709551616}', "64 bits"),
        ('{"a": ' + "9" * 5_000 + "}", "64 bits"),
        ('{"a": ' + "[" * 300 + "]" * 300 + "}", "nested too deeply"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested too deeply"),
        ("[1, 2]", "by name"),
        ('{"a": "b', "ends in the middle"),
        ("{'a': 1}", "no valid JSON"),
    ],
)
def test_each_way_an_input_can_be_wrong_has_its_own_words(make_rig: MakeRig, raw: str, words: str) -> None:
    """The model is told what to change; the call is not run and the turn goes on."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {}), invalid_inputs={"t1": raw}), says("Done."), extra=[tool])
    task_id = rig.run()
    assert words in rig.results(task_id)["t1"]["content"]
    assert (rig.get(task_id).status, tool.runs) == (Status.COMPLETED, [])

"""Tool calls inside turns: refused, broken, controlling, and without a result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.model.effect import EffectClass
from neuraphage.model.task import FailedDetail, Status
from neuraphage.model.tool import ToolResult
from turnkit import FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]


def test_an_unknown_tool_is_told_and_the_task_goes_on(make_rig: MakeRig) -> None:
    """The result names the tools there are."""
    rig = make_rig(calls(("t1", "bash", {})), says("Done."))
    task_id = rig.run()
    assert "no tool 'bash'" in rig.results(task_id)["t1"]["content"]
    assert "run_command" in rig.results(task_id)["t1"]["content"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_parameters_that_do_not_fit_are_told_and_nothing_runs(make_rig: MakeRig) -> None:
    """The tool's own check answers the call."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {"bad": 1})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert rig.results(task_id)["t1"] == {
        "type": "tool_result", "tool_use_id": "t1", "content": "bad is no parameter", "is_error": True,
    }  # fmt: skip
    assert tool.runs == []


def test_input_that_is_no_json_object_is_answered_with_an_error(make_rig: MakeRig) -> None:
    """A call whose input could not be parsed is never run, though its stored input is an empty object."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {}), invalid_inputs={"t1": '{"a": '}), says("Done."), extra=[tool])
    task_id = rig.run()
    assert "not a JSON object" in rig.results(task_id)["t1"]["content"]
    assert tool.runs == []
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_check_that_raises_is_told_and_nothing_runs(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters that the tool's own check cannot read are none to run it with."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    monkeypatch.setattr(tool, "check", lambda _: 1 / 0)
    task_id = rig.run()
    assert "could not be checked" in rig.results(task_id)["t1"]["content"]
    assert (tool.runs, rig.get(task_id).status) == ([], Status.COMPLETED)


def test_a_tool_that_raises_is_a_result(make_rig: MakeRig) -> None:
    """A third-party tool's bug does not end the turn."""

    def fails(params: Any, context: Any) -> ToolResult:
        raise ZeroDivisionError("by design")

    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=fails)])
    task_id = rig.run()
    assert "ZeroDivisionError: by design" in rig.results(task_id)["t1"]["content"]
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize(
    ("returned", "said"), [(ToolResult(text="half \ud800 pair"), "half \\ud800 pair"), (None, "returned NoneType")]
)
def test_a_result_that_is_none_or_cannot_be_stored(make_rig: MakeRig, returned: Any, said: str) -> None:
    """A third-party tool again: what is not text is told, and the task goes on."""
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[FakeTool(act=lambda *_: returned)])
    task_id = rig.run()
    assert said in rig.results(task_id)["t1"]["content"]
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("evidence", [{"at": object()}, {"name": "\ud800"}, {1: 2}])
def test_evidence_that_cannot_be_stored_is_none(
    make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch, evidence: dict[Any, Any]
) -> None:
    """Its probe would answer unknown; until then the call itself goes on."""
    tool = FakeTool(effect_class=EffectClass.CHECKABLE)
    monkeypatch.setattr(tool, "prepare", lambda *_: evidence)
    rig = make_rig(calls(("t1", "act", {})), says("Done."), extra=[tool])
    task_id = rig.run()
    assert (rig.results(task_id)["t1"]["content"], rig.get(task_id).status) == ("acted", Status.COMPLETED)


def test_complete_task_ends_it_with_its_summary(make_rig: MakeRig) -> None:
    """The other calls of the same reply are done first, and the model is not called again."""
    tool = FakeTool()
    rig = make_rig(calls(("t1", "complete_task", {"summary": "It is done."}), ("t2", "act", {})), extra=[tool])
    record = rig.get(rig.run())
    assert record.status is Status.COMPLETED
    assert record.detail.summary == "It is done."
    assert (len(tool.runs), len(rig.model.requests)) == (1, 1)


def test_fail_task_fails_it_with_its_reason(make_rig: MakeRig) -> None:
    """A person may retry what the model gave up; every call has its result for that."""
    rig = make_rig(calls(("t1", "fail_task", {"reason": "No network."})), says("Now it works."))
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert (detail.error, detail.recoverable) == ("No network.", True)
    rig.people.retry(task_id)
    rig.drain()
    assert rig.results(task_id).keys() == {"t1"}


@pytest.mark.parametrize("name", ["complete_task", "fail_task"])
def test_a_control_call_that_does_not_fit_ends_nothing(make_rig: MakeRig, name: str) -> None:
    """Without its summary or reason the call is refused and the model tries again."""
    rig = make_rig(calls(("t1", name, {})), says("Done."))
    task_id = rig.run()
    assert rig.results(task_id)["t1"]["is_error"] is True
    assert rig.get(task_id).detail.summary == "Done."


def test_calls_run_in_order_and_each_once(make_rig: MakeRig) -> None:
    """Three calls of one reply: three announcements, three results, in the order of the reply."""
    order: list[Any] = []

    def act(params: Any, context: Any) -> ToolResult:
        order.append(params["n"])
        return ToolResult(text=str(params["n"]))

    rig = make_rig(calls(*[(f"t{n}", "act", {"n": n}) for n in range(3)]), says("Done."), extra=[FakeTool(act=act)])
    task_id = rig.run()
    assert order == [0, 1, 2]
    assert rig.kinds(task_id).count("ToolStarted") == rig.kinds(task_id).count("ToolCompleted") == 3


def test_read_before_edit_is_known_from_the_conversation(make_rig: MakeRig) -> None:
    """Another process knows which files were read, because it reads that from the stored conversation."""
    rig = make_rig(
        calls(("t1", "read_file", {"path": "a.txt"})),
        calls(("t2", "edit", {"path": "a.txt", "old_string": "one", "new_string": "two"})),
        says("Done."),
    )
    (rig.folder / "a.txt").write_text("one\n", encoding="utf-8")
    task_id = rig.submit()
    rig.step()
    rig.reborn().drain()
    assert "is_error" not in rig.results(task_id)["t2"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "two\n"

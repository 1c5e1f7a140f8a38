"""A working directory that goes: the model and people are told what a person can do, wherever it shows."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from neuraphage.cli.event_text import event_text
from neuraphage.decide.working_dir_notes import BACK, LOST, working_dir_note
from neuraphage.model.task import Status
from neuraphage.model.tool import ToolResult
from neuraphage.store import queries
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.working_dir import WHAT_TO_DO, working_dir_problem
from turnkit import FakeTool, Killed, Rig, calls, says, texts

MakeRig = Callable[..., Rig]
CALLS: dict[str, dict[str, Any]] = {
    "read_file": {"path": "a.txt"},
    "list_directory": {"path": "."},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
    "write_file": {"path": "b.txt", "content": "x"},
    "edit": {"path": "a.txt", "old_string": "a", "new_string": "b"},
    "run_command": {"command": "ls"},
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A working directory apart from the rig's own folder."""
    made = tmp_path / "place"
    made.mkdir()
    (made / "a.txt").write_text("a\n", encoding="utf-8")
    return made


def goes(place: Path) -> None:
    """The directory is moved away, as by a person."""
    place.rename(place.with_name("elsewhere"))


def told(rig: Rig, task_id: str) -> list[str]:
    return [event_text(e) for e in queries.events(rig.store.context, task_id) if e.kind.startswith("WorkingDir")]


@pytest.mark.parametrize("name", CALLS)
def test_every_tool_says_what_a_person_can_do(make_rig: MakeRig, place: Path, name: str) -> None:
    """Gone before the call: its result names the path, what was found, and the way out."""
    rig = make_rig(calls(("t1", name, CALLS[name])), says("I cannot go on."))
    task_id = rig.submit(working_dir=str(place))
    goes(place)
    rig.drain()
    result = rig.results(task_id)["t1"]
    assert result["is_error"] is True
    assert f"{place} is gone" in result["content"]
    assert WHAT_TO_DO in result["content"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_all_built_in_tools_that_use_files_are_tried() -> None:
    """A new tool joins the test above."""
    others = {"read_result"}  # it reads what is stored of the task
    assert {d.name for d in default_toolbox().declarations() if d.control is None} - others == set(CALLS)


def test_it_is_told_before_the_first_call_of_the_model(make_rig: MakeRig, place: Path) -> None:
    """The first request already says it, so that nothing is tried in vain; people see it in the history."""
    rig = make_rig(says("I cannot go on."))
    task_id = rig.submit(working_dir=str(place))
    goes(place)
    rig.drain()
    assert texts(rig.model.requests[0].messages)[-1].startswith(LOST)
    (line,) = told(rig, task_id)
    assert WHAT_TO_DO in line


def test_it_is_told_when_it_goes_under_way_and_comes_back(make_rig: MakeRig, place: Path) -> None:
    """A command that moved its own directory did not fail; the next request tells, once, and once that it is back."""
    elsewhere = place.with_name("elsewhere")
    away = FakeTool(name="away", act=lambda *_: ToolResult(text=str(place.rename(elsewhere))))
    back = FakeTool(name="back", act=lambda *_: ToolResult(text=str(elsewhere.rename(place))))
    rig = make_rig(
        calls(("t1", "away", {})),
        calls(("t2", "act", {})),
        calls(("t3", "back", {})),
        says("Done."),
        extra=[FakeTool(), away, back],
    )
    task_id = rig.run(working_dir=str(place))
    assert rig.get(task_id).status is Status.COMPLETED
    notes = [[text for text in texts(r.messages) if "[working directory" in text] for r in rig.model.requests]
    assert [len(found) for found in notes] == [0, 1, 1, 2]
    assert notes[3][1] == BACK
    assert [event.split(":")[0] for event in told(rig, task_id)] == [
        f"The working directory {place} is gone",
        f"the working directory {place} is back",
    ]


def test_a_call_in_whose_midst_it_goes_tells_it_as_well(make_rig: MakeRig, place: Path) -> None:
    """What the call met is one thing, why it did is another."""

    def act(params: Mapping[str, Any], context: Any) -> ToolResult:
        goes(place)
        return ToolResult(text="Could not read a.txt", is_error=True)

    rig = make_rig(calls(("t1", "act", {})), says("I cannot go on."), extra=[FakeTool(act=act)])
    task_id = rig.run(working_dir=str(place))
    assert texts(rig.model.requests[1].messages)[-1].startswith(LOST)
    assert len(told(rig, task_id)) == 1


def test_a_process_that_dies_after_telling_tells_it_once(make_rig: MakeRig, place: Path) -> None:
    """The note is part of the request's intent: the next process sends the same request."""

    def dies(*_: Any) -> Any:
        raise Killed

    rig = make_rig(dies, says("I cannot go on."))
    task_id = rig.submit(working_dir=str(place))
    goes(place)
    rig.dies()
    heir = rig.recover(task_id)
    heir.drain()
    assert rig.model.requests[0].messages == rig.model.requests[1].messages
    assert len(told(heir, task_id)) == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: None, "there is nothing at this path"),
        (lambda path: path.write_text("x", encoding="utf-8"), "a file is at its place"),
        (lambda path: path.symlink_to(path), "cannot be reached"),
        (lambda path: path.symlink_to("/nowhere/at/all"), "there is nothing"),
        (lambda path: path.mkdir(), None),
    ],
)
def test_what_is_found_at_the_path_is_told(tmp_path: Path, make: Callable[[Path], Any], words: str | None) -> None:
    """Gone, a file, a loop, a dead link; a directory is none of these."""
    path = tmp_path / "place"
    make(path)
    problem = working_dir_problem(str(path))
    assert problem is None if words is None else words in (problem or "")


def test_a_directory_below_a_file_is_gone(place: Path) -> None:
    """A part of the path became a file."""
    assert "a part of its path is a file" in (working_dir_problem(str(place / "a.txt" / "x")) or "")


def test_a_directory_that_cannot_be_read_is_told(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker may be another user than the one who made it. (Played, since the tests may run as root.)"""
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "permission denied" in (working_dir_problem(str(place)) or "")


def test_a_note_is_due_when_what_it_says_has_changed() -> None:
    """Not twice for the same, again for another reason, and none where nothing was ever wrong."""
    lost = [{"role": "user", "content": [{"type": "text", "text": LOST + "gone"}]}]
    back = [*lost, {"role": "user", "content": [{"type": "text", "text": BACK}]}]
    assert working_dir_note([], None) is None
    assert working_dir_note(lost, "gone") is None
    assert working_dir_note(lost, "a file") == LOST + "a file"
    assert working_dir_note(lost, None) == BACK
    assert working_dir_note(back, None) is None
    assert working_dir_note(back, "gone") == LOST + "gone"

"""An edit needs a file that the conversation has seen: what counts as seen, in real turns."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from neuraphage.model.task import Status
from turnkit import Rig, calls, says

MakeRig = Callable[..., Rig]
EDIT = ("e1", "edit", {"path": "a.txt", "old_string": "old", "new_string": "new"})
READ = ("r1", "read_file", {"path": "a.txt"})


@pytest.mark.parametrize("others", [[], [READ], [("e0", "edit", EDIT[2])]])
def test_an_edit_of_a_file_that_was_not_read_is_refused(make_rig: MakeRig, others: list[object]) -> None:
    """The call itself, and calls that come after it, show the model nothing."""
    rig = make_rig(calls(EDIT, *others), says("Done."))
    (rig.folder / "a.txt").write_text("old", encoding="utf-8")
    task_id = rig.run()
    assert "not read in this conversation" in rig.results(task_id)["e1"]["content"]
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "old"
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_read_that_failed_shows_nothing(make_rig: MakeRig) -> None:
    """The file came to be afterwards."""
    make = ("c1", "run_command", {"command": "echo old > a.txt"})
    rig = make_rig(calls(READ), calls(make), calls(EDIT), says("Done."))
    task_id = rig.run()
    assert "did not exist when it was last read or written" in rig.results(task_id)["e1"]["content"]


@pytest.mark.parametrize(
    "first", [READ, ("w1", "write_file", {"path": "./a.txt", "content": "old"})], ids=["read", "written"]
)
@pytest.mark.parametrize("together", [True, False])
def test_a_file_that_was_read_or_written_is_edited(
    make_rig: MakeRig, first: tuple[str, str, dict[str, str]], together: bool
) -> None:
    """In an earlier reply, or before it in the same one; and then again."""
    again = ("e2", "edit", {"path": "a.txt", "old_string": "new", "new_string": "newer"})
    replies = [calls(first, EDIT, again)] if together else [calls(first), calls(EDIT), calls(again)]
    rig = make_rig(*replies, says("Done."))
    if first is READ:
        (rig.folder / "a.txt").write_text("old", encoding="utf-8")
    rig.run()
    assert (rig.folder / "a.txt").read_text(encoding="utf-8") == "newer"

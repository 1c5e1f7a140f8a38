"""What a conversation knows of files follows from its stored results alone."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.files_seen import SeenFile, files_seen
from neuraphage.model.tool import FileSight, SightKind

ALL = ((1, None),)


def entry(kind: SightKind, sha256: str | None, first: int = 1, last: int | None = None) -> dict[str, Any]:
    sight = FileSight(path="/w/a", kind=kind, sha256=sha256, first_line=first, last_line=last)
    return {"role": "user", "content": [], "file": sight.model_dump(mode="json")}


def read(sha256: str | None, first: int = 1, last: int | None = None) -> dict[str, Any]:
    return entry(SightKind.READ, sha256, first, last)


@pytest.mark.parametrize(
    ("reads", "shown"),
    [
        ([(1, None)], ALL),
        ([(1, 10), (11, None)], ALL),
        ([(11, None), (1, 10)], ALL),
        ([(1, 20), (5, 8), (15, None)], ALL),
        ([(1, None), (3, 4)], ALL),
        ([(1, 10), (12, None)], ((1, 10), (12, None))),
        ([(2, None)], ((2, None),)),
        ([(1, 10), (11, 20)], ((1, 20),)),
        ([(1, 0)], ()),
        ([(1, 5), (6, 5), (7, None)], ((1, 5), (7, None))),
    ],
)
def test_stretches_of_one_content_add_up(reads: list[tuple[int, int | None]], shown: tuple[Any, ...]) -> None:
    """A file read in parts is known whole once no line is missing."""
    seen = files_seen([read("h", *lines) for lines in reads])["/w/a"]
    assert (seen.shown, seen.is_whole) == (shown, shown == ALL)


def test_other_content_forgets_what_was_shown_of_the_former() -> None:
    """Half of one version and half of another are no whole."""
    assert files_seen([read("h1", 1, 10), read("h2", 11)]) == {"/w/a": SeenFile("h2", ((11, None),))}


def test_an_edit_keeps_a_whole_and_loses_a_part() -> None:
    """Line numbers move with an edit."""
    edited = entry(SightKind.EDITED, "h2")
    assert files_seen([read("h1"), edited])["/w/a"] == SeenFile("h2", ALL, ("h1",))
    assert files_seen([read("h1", 1, 5), edited])["/w/a"] == SeenFile("h2", (), ("h1",))


def test_what_the_task_made_itself_is_remembered_back_to_the_last_sight() -> None:
    """A read of what somebody else made of the file begins anew."""
    made = entry(SightKind.WRITTEN, "h1")
    again = entry(SightKind.EDITED, "h2")
    assert files_seen([made, again])["/w/a"].earlier == ("h1", None)
    assert files_seen([made, again, read("h2")])["/w/a"].earlier == ("h1", None)
    assert files_seen([made, again, read("theirs")])["/w/a"].earlier == ()


def test_a_superseded_result_and_one_without_a_file_tell_nothing() -> None:
    """What the model no longer sees, and what an earlier release stored without hashes."""
    assert files_seen([read("h1"), {"role": "user", "content": [], "supersedes": 0}]) == {}
    assert files_seen([{"role": "user", "content": []}, {"role": "user", "content": [], "file": None}]) == {}

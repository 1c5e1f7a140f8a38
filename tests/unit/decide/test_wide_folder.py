"""Which folders a task's tools should not be let loose on."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from neuraphage.decide.wide_folder import too_wide

HOMES = [PurePosixPath("/home/me"), PurePosixPath("/root"), PurePosixPath("/srv/people/me")]
DATA = PurePosixPath("/home/me/.local/share/neuraphage")


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        ("/", "root of the file system"),
        ("/home/me", "is a home folder"),
        ("/home/somebody", "is a home folder"),
        ("/Users/somebody", "is a home folder"),
        ("/root", "is a home folder"),
        ("/srv/people/me", "is a home folder"),
        ("/home", "holds home folders"),
        ("/srv/people", "holds home folders"),
        ("/srv", "holds home folders"),
        ("/home/me/.local/share/neuraphage", "is the data folder"),
        ("/home/me/.local/share", "holds the data folder"),
        ("/home/me/.local", "holds the data folder"),
        ("/home/me/.local/share/neuraphage/spool", "lies in the data folder"),
    ],
)
def test_a_folder_that_is_too_wide(folder: str, words: str) -> None:
    """The reason says what it is."""
    assert words in (too_wide(PurePosixPath(folder), HOMES, DATA) or "")


@pytest.mark.parametrize(
    "folder", ["/home/me/project", "/home/me/.local/share/neuraphage2", "/srv/app", "/tmp/x", "/root/project", "/homes"]
)
def test_a_folder_of_a_project(folder: str) -> None:
    """In a home, beside the data folder, elsewhere."""
    assert too_wide(PurePosixPath(folder), HOMES, DATA) is None

"""The forms that never run, told from the lines that only look like them.

Lines are only read here. No test may hand one of them to a tool that runs commands.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.decide.shell.catastrophe import is_catastrophe
from neuraphage.shell import ShfmtReader

LINES = Path(__file__).parents[2] / "fixtures" / "shell"
READER = ShfmtReader()


def lines_of(name: str) -> list[str]:
    """The command lines of a file; some have several lines of text."""
    return (LINES / name).read_text(encoding="utf-8").rstrip("\n").split("\n%%\n")


@pytest.mark.parametrize("line", lines_of("never_run.txt"))
def test_it_never_runs(line: str) -> None:
    """However it is quoted, wrapped, nested or put together, by whichever program and to whichever place."""
    read = READER.read(line)
    assert read is not None
    assert is_catastrophe(read)


@pytest.mark.parametrize("line", lines_of("may_run.txt"))
def test_its_neighbour_may(line: str) -> None:
    """Texts that speak of such a form, other places, and what looks into a place without changing it."""
    read = READER.read(line)
    assert read is not None
    assert not is_catastrophe(read)

"""`--allow`: what is offered, and what is said of a name that is nearly one of ours."""

from __future__ import annotations

import pytest

from neuraphage.cli.allowing import hint_at_misspelt, side_effecting_tools
from neuraphage.errors import BadInput


def test_what_is_offered() -> None:
    """The tools that would ask; others need no --allow."""
    assert set(side_effecting_tools()) == {"write_file", "edit", "run_command", "spawn_task"}
    assert side_effecting_tools("wr") == ["write_file"]


@pytest.mark.parametrize(
    ("given", "near"),
    [
        (["write"], "write_file"),
        (["run_comand"], "run_command"),
        (["*", "write_file", "edit"], None),
        (["deploy_to_mars"], None),
        ([], None),
        (["run_command: ls *"], None),
        (["run_comand: ls *"], "run_command"),
    ],
)
def test_a_misspelt_name(capsys: pytest.CaptureFixture[str], given: list[str], near: str | None) -> None:
    """It is named with its neighbour; a name like none of ours may be a tool of the workers."""
    hint_at_misspelt(given)
    said = capsys.readouterr().err
    assert (said == "") == (near is None)
    assert near is None or f"did you mean {near}?" in " ".join(said.split())


@pytest.mark.parametrize("given", ["", "two words", "run_command:", ": ls"])
def test_what_is_no_rule_is_refused(given: str) -> None:
    """Before anything is started or stored."""
    with pytest.raises(BadInput):
        hint_at_misspelt([given])

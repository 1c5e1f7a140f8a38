"""Calls of tools of one's own are shown by their traits: a command line as one, a change of a file as a diff."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from neuraphage import client_wiring
from neuraphage.cli import traits
from neuraphage.cli.call_text import body, outcome, title
from neuraphage.cli.flags import forget_flags
from neuraphage.decide.call_lines import AskedCall, call_lines

MODULE = '''
from neuraphage.tools import PartOfFile, ResultView, ToolTraits, WholeFile, tool

@tool(effect="opaque", traits=ToolTraits(title="Deploy", command="line", result=ResultView.END))
def deploy(line: str, host: str = "") -> str:
    """Run a command on the build host."""

@tool(effect="opaque", traits=ToolTraits(change=WholeFile(path="page", content="text"), subject=("page",)))
def publish(page: str, text: str) -> str:
    """Publish a page."""

@tool(effect="opaque", traits=ToolTraits(change=PartOfFile(path="page", old="was", new="now", every=None)))
def correct(page: str, was: str, now: str) -> str:
    """Correct a page."""

@tool(effect="opaque")
def plain(line: str) -> str:
    """Act."""

mine = [deploy, publish, correct, plain]
'''


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that the settings of this process name, and none that it has loaded before."""
    (tmp_path / "shown_of_test.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "shown_of_test", raising=False)
    monkeypatch.setenv("NEURAPHAGE_TOOLS", "shown_of_test:mine,shown_of_test:none")
    forget_flags()  # of a call of the command line in this process
    traits._named.cache_clear()
    client_wiring._traits_of_others.cache_clear()


def test_a_command_line_is_shown_as_one() -> None:
    """In the title, and its further lines below it; the end of its result counts."""
    params = {"line": "make\nmake deploy", "host": "build-1"}
    assert title("deploy", params) == "$ make (and 1 more line)"
    assert body("deploy", params, None) == [("make deploy", "")]
    assert outcome("deploy", "made\n[exit code 0]", is_error=False) == ("", [("made", "dim"), ("[exit code 0]", "dim")])


def test_a_change_of_a_file_is_shown_as_a_diff() -> None:
    """Of all of it, against what it was before, and of a part."""
    params = {"page": "a.md", "text": "one\nthree\n"}
    assert title("publish", params) == "> publish a.md"
    shown = [line for line, _ in body("publish", params, "one\ntwo\n")]
    assert [line for line in shown if line.startswith(("+", "-"))] == ["-two", "+three"]
    shown = [line for line, _ in body("correct", {"page": "a.md", "was": "two", "now": "four"}, None)]
    assert [line for line in shown if line.startswith(("+", "-"))] == ["-two", "+four"]


def test_without_traits_every_parameter_is_shown() -> None:
    """Also one that other tools have for a command line; and so of a tool that nobody knows."""
    for name in ("plain", "unknown"):
        assert title(name, {"line": "make"}) == f"> {name} line=make"
        assert body(name, {"line": "make"}, None) == []


def test_what_is_asked_about_is_shown_by_them_too() -> None:
    """All of it: the person decides by it."""
    call = AskedCall("deploy", {"line": "make\nrm -r x", "host": "build-1"}, traits.traits_of("deploy"))
    shown = "\n".join(line for line, _ in call_lines(call))
    assert "$ make" in shown
    assert "rm -r x" in shown
    assert 'host = "build-1"' in shown

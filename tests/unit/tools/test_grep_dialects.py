"""A pattern of another dialect is no silent `nothing found`."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.search_tools import Grep


@pytest.mark.parametrize(
    ("pattern", "spelling"),
    [
        (r"foo\|bar", "foo|bar"),
        (r"\<x\>", r"\bx\b"),
        (r"\(x\)", "(x)"),
        (r"fo\{2\}", "fo{2}"),
        (r"fo\+", "fo+"),
        (r"xx\?", "xx?"),
        (r"[[:alpha:]]+", "[a-zA-Z]+"),
        (r"[_[:digit:]]", "[_0-9]"),
        (r"\hx", r"[ \t]x"),
        (r"(?<name>foo)", "(?P<name>foo)"),
        (r"\p{L}oo", r"\woo"),
        (r"x\z", r"x\Z"),
    ],
)
def test_the_right_spelling_is_given_and_it_finds(
    root: Path, context: ToolContext, pattern: str, spelling: str
) -> None:
    """What is advised finds what was meant."""
    (root / "a.txt").write_text("foo 1\n x\n", encoding="utf-8")
    result = Grep().run({"pattern": pattern}, context)
    assert "Python regular expression" in result.text
    assert f"the spelling is: {spelling}" in result.text
    found = Grep().run({"pattern": spelling}, context)
    assert found.text.startswith("a.txt:"), found.text


@pytest.mark.parametrize("pattern", [r"f\(x\)", r"a\.b", r"\d+", r"\\|zzz", "foo|bar", r"\[x\]", r"\bfoo\b"])
def test_nothing_is_said_of_what_is_meant_as_it_stands(root: Path, context: ToolContext, pattern: str) -> None:
    """A pattern that finds something, or that is Python's own."""
    (root / "a.txt").write_text("f(x)\n", encoding="utf-8")
    assert "Python regular expression" not in Grep().run({"pattern": pattern}, context).text

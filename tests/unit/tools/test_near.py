"""What only looks the same is named, instead of `not found` alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.near import near_text
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.write_tools import Edit

HavingRead = Callable[[Path], ToolContext]
COMPOSED = "caf\u00e9"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)


@pytest.mark.parametrize(
    ("text", "old", "words"),
    [
        (f"one\n{COMPOSED}\n", DECOMPOSED, ["Line 2", "Unicode form", "U+00E9", "U+0301"]),
        (f"{DECOMPOSED}\n", COMPOSED, ["Line 1", "Unicode form"]),
        ("x\n\tif a:\n\t\tb()\n", "    if a:\n        b()", ["Line 2", "white space", "U+0009 TAB"]),
        ("if a:   \n    b()\n", "if a:\n    b()", ["Line 1", "white space"]),
        ("a\u00a0b\n", "a b", ["Line 1", "look alike", "U+00A0 NO-BREAK SPACE"]),
        ("say \u201chi\u201d\n", 'say "hi"', ["Line 1", "look alike", "U+201C"]),
        ("a\u200bb\n", "ab", ["Line 1", "look alike", "U+200B"]),
        ("Hello World\n", "hello world", ["Line 1", "upper and lower case"]),
        ("x\ny\n", "     1\tx\n     2\ty", ["Line 1", "line numbers"]),
        ("x\ny\n", "x\\ny", ["Line 1", "backslashes"]),
        ("\ta\n\ta\n", "  a", ["Line 1", "1 more place"]),
    ],
)
def test_an_edit_names_line_and_difference(
    root: Path, having_read: HavingRead, text: str, old: str, words: list[str]
) -> None:
    """And changes nothing by a guess."""
    path = root / "a.txt"
    path.write_text(text, encoding="utf-8")
    result = Edit().run({"path": "a.txt", "old_string": old, "new_string": "new"}, having_read(path))
    assert result.is_error
    assert [word for word in words if word not in result.text] == []
    assert path.read_text(encoding="utf-8") == text


def test_what_is_nowhere_is_just_not_found() -> None:
    """Nothing is made up."""
    assert near_text("one\ntwo\n", "three") is None
    assert near_text("one\n", "   ") is None


def test_a_line_is_not_shown_whole() -> None:
    """It could hold what must not be shown, in a spelling that nothing recognizes."""
    assert "p\u00e4ssw" not in (near_text("p\u00e4ssword\tx\n", "p\u00e4ssword x") or "")


CALLS: dict[str, dict[str, object]] = {
    "read_file": {},
    "edit": {"old_string": "a", "new_string": "b"},
    "list_directory": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    ("there", "asked", "word"),
    [
        (f"d/{COMPOSED}", f"d/{DECOMPOSED}", "Unicode form"),
        (f"{COMPOSED}/x", f"{DECOMPOSED}/x", "Unicode form"),
        ("a.txt", "a.txt ", "white space"),
        ("a\u00a0b.txt", "a b.txt", "look alike"),
        ("README.md", "Readme.md", "case"),
    ],
)
def test_a_path_that_is_nearly_there(
    root: Path, context: ToolContext, name: str, there: str, asked: str, word: str
) -> None:
    """Every tool that needs it to exist names the one that does."""
    (root / there).parent.mkdir(exist_ok=True)
    (root / there).write_text("x", encoding="utf-8")
    tool = default_toolbox().get(name)
    assert tool is not None
    result = tool.run({"path": asked, **CALLS[name]}, context)
    assert result.is_error
    assert f"There is {there!a}" in result.text
    assert word in result.text

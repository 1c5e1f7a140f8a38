"""What only looks the same is named, instead of `not found` alone."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.near import near_text
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.search_tools import Glob, Grep
from neuraphage.tools.second_look import SecondLook
from neuraphage.tools.write_tools import Edit, WriteFile

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
        ("x\n\x1b[31mred\n", r"\x1b[31mred", ["Line 2", "spelling out a control character", r"\u001b"]),
        ("\x1b[31mred\n", r"\033[31mred", ["Line 1", "control character"]),
        ("\x1b[31mred\n", r"\u001b[31mred", ["Line 1", "control character"]),
        ("\x1b[31mred\n", "^[[31mred", ["Line 1", "control character"]),
        ("a\rb\n", r"a\rb", ["Line 1", "control character"]),
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
    assert path.read_bytes() == text.encode()


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


# --- searches that find nothing ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pattern", "words", "spelling"),
    [
        (f"one\n{DECOMPOSED} au lait\n", COMPOSED, ["Line 2 of 'a.txt'", "Unicode form"], r"cafe\u0301"),
        (f"{COMPOSED}\n", DECOMPOSED, ["Line 1", "Unicode form"], r"caf\u00e9"),
        (f"x {DECOMPOSED}\n", r"\bcaf\u00e9", ["Line 1", "Unicode form"], None),
        ("say \u201chi\u201d\n", 'say "hi"', ["look alike", "U+201C LEFT DOUBLE QUOTATION MARK"], None),
        ("a\u00a0b\n", "a b", ["look alike", "U+00A0 NO-BREAK SPACE"], r"a\s+b"),
        ("a\u200bb\n", "^ab$", ["look alike", "U+200B"], None),
        ("a\t\tb\n", "a  b", ["white space"], r"a\s+b"),
        ("        x = 1\n", r"^\tx", ["white space"], r"^\s+x"),
        ("    x = 1\n", "^x", ["white space"], None),
        ("x = 1;   \n", "1;$", ["white space"], None),
        ("Hello World\n", "hello w", ["upper and lower case", "case_insensitive"], None),
        ("Hello\u00a0World\n", "hello world", ["upper and lower case, white space"], None),
    ],
)
def test_a_line_that_a_grep_nearly_finds(
    root: Path, context: ToolContext, text: str, pattern: str, words: list[str], spelling: str | None
) -> None:
    """It is named with the difference, and with a pattern that finds it where there is one."""
    (root / "a.txt").write_text(text, encoding="utf-8")
    result = Grep().run({"pattern": pattern}, context)
    assert result.text.startswith("No line matches.\n")
    assert [word for word in words if word not in result.text] == []
    assert result.text.rpartition("the spelling is: ")[2] == (spelling or result.text)
    if spelling is not None:
        assert Grep().run({"pattern": spelling}, context).text.startswith("a.txt:")
    if "case_insensitive" in words:
        assert Grep().run({"pattern": pattern, "case_insensitive": True}, context).text.startswith("a.txt:")


def test_the_line_itself_is_not_shown(root: Path, context: ToolContext) -> None:
    """A secret in a spelling that nothing recognizes stays where it is."""
    (root / "a.txt").write_text("p\u00e4ssword\txyz123\n", encoding="utf-8")
    text = Grep().run({"pattern": "p\u00e4ssword x"}, context).text
    assert "Line 1" in text
    assert "xyz123" not in text


@pytest.mark.parametrize("pattern", ["nowhere", "^$", "caf.x", "[x-z]q"])
def test_a_search_for_what_is_nowhere_says_no_more(root: Path, context: ToolContext, pattern: str) -> None:
    """Nothing is made up."""
    (root / "a.txt").write_text(f"{COMPOSED} Hello\n", encoding="utf-8")
    assert Grep().run({"pattern": pattern}, context).text == "No line matches."


def test_what_was_found_is_not_looked_at_again(root: Path, context: ToolContext, monkeypatch: Any) -> None:
    """A search that has found something costs no second look."""
    (root / "a.txt").write_text("x\n", encoding="utf-8")
    monkeypatch.setattr(SecondLook, "_search", lambda *_: pytest.fail("looked again"))
    assert Grep().run({"pattern": "x"}, context).text == "a.txt:1:x"
    assert Glob().run({"pattern": "*"}, context).text == "a.txt"


@pytest.mark.parametrize(
    ("there", "pattern", "word"),
    [
        (f"d/{COMPOSED}.txt", f"**/{DECOMPOSED}.txt", "Unicode form"),
        (f"{DECOMPOSED}.txt", f"{COMPOSED}.*", "Unicode form"),
        ("README.md", "readme.*", "upper and lower case"),
        ("src/App.tsx", "SRC/**/*.tsx", "upper and lower case"),
        ("a\u00a0b.txt", "a b.txt", "look alike"),
        ("a  b.txt", "a b.txt", "white space"),
        ("it\u2019s*.txt", "it's\\*.txt", "look alike"),
    ],
)
def test_a_name_that_a_glob_nearly_fits(root: Path, context: ToolContext, there: str, pattern: str, word: str) -> None:
    """The same for the filter of a grep, which says that it searched no file."""
    (root / there).parent.mkdir(exist_ok=True)
    (root / there).write_text("x", encoding="utf-8")
    text = Glob().run({"pattern": pattern}, context).text
    assert text.startswith("No file matches.\n[nearly: ")
    assert f"{there!a} differs by" in text
    assert word in text
    text = Grep().run({"pattern": "x", "glob": pattern}, context).text
    assert "so nothing was searched" in text
    assert f"{there!a} differs by" in text


def test_a_filter_that_no_file_fits_is_told(root: Path, context: ToolContext) -> None:
    """Otherwise the model takes it for proof that the text is nowhere."""
    (root / "a.txt").write_text("x", encoding="utf-8")
    text = Grep().run({"pattern": "x", "glob": r".*\.txt"}, context).text
    assert "fits the glob" in text
    assert text.endswith("the spelling is: **/*.txt")


def test_a_second_look_that_takes_too_long_says_nothing(root: Path, context: ToolContext) -> None:
    """The search has its answer all the same."""
    (root / "a.txt").write_text("b\n" + "A" * 60 + "!\n", encoding="utf-8")
    assert Grep().run({"pattern": "(a|a)+b"}, context).text == "No line matches."


# --- writing beside ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "written", "told"),
    [
        (COMPOSED, DECOMPOSED, "Unicode form"),
        ("README.md", "Readme.md", "upper and lower case"),
        ("src/a.py", "Src/b.py", "upper and lower case"),
        ("a\u2013b.txt", "a-b.txt", "look alike"),
    ],
)
def test_a_new_file_beside_one_that_looks_the_same(
    root: Path, having_read: HavingRead, there: str, written: str, told: str
) -> None:
    """It is written as it was asked for, and the other one is named; a probe after a crash says the same."""
    (root / there).parent.mkdir(exist_ok=True)
    (root / there).write_text("x", encoding="utf-8")
    if (root / there.upper()).exists():
        pytest.skip("this file system does not tell upper and lower case apart")
    context = having_read(root / written)
    params = {"path": written, "content": "new\n"}
    evidence = WriteFile().prepare(params, context)
    result = WriteFile().run(params, context)
    assert not result.is_error
    assert "Beside it there is" in result.text
    assert told in result.text
    assert (root / written).read_text(encoding="utf-8") == "new\n"
    probed = WriteFile().probe(params, evidence, context).result
    assert probed is not None
    assert probed.text == result.text
    again = WriteFile().run({**params, "content": "more\n"}, having_read(root / written))
    assert "Beside it" not in again.text

"""Paths stay inside the working directory, and every odd path has a defined answer."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.ports import ToolContext
from neuraphage.tools.registry import default_toolbox

TOOLS_WITH_A_PATH = {
    "read_file": {},
    "write_file": {"content": "x"},
    "edit": {"old_string": "a", "new_string": "b"},
    "list_directory": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
}


def refused(name: str, path: str, context: ToolContext) -> str:
    tool = default_toolbox().get(name)
    assert tool is not None
    params = {"path": path, **TOOLS_WITH_A_PATH[name]}
    before = tool.prepare(params, context)
    result = tool.run(params, context)
    assert result.is_error, result.text
    assert before == {}
    return result.text


@pytest.mark.parametrize("name", TOOLS_WITH_A_PATH)
@pytest.mark.parametrize("path", ["../outside", "/etc/passwd", "link", "link/deep/er", "dangling", "sub/../../outside"])
def test_nothing_outside_is_touched(root: Path, context: ToolContext, name: str, path: str) -> None:
    """Dots, absolute paths and links that lead outside are refused by every tool."""
    outside = root.parent / "outside"
    outside.mkdir()
    (root / "sub").mkdir()
    (root / "link").symlink_to(outside)
    (root / "dangling").symlink_to(root.parent / "not-there")
    assert "leads outside the working directory" in refused(name, path, context)
    assert list(outside.iterdir()) == []
    assert not (root.parent / "not-there").exists()


@pytest.mark.parametrize("name", TOOLS_WITH_A_PATH)
def test_a_loop_of_links_is_an_answer(root: Path, context: ToolContext, name: str) -> None:
    """Two links that name each other end as text."""
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert "form a loop" in refused(name, "a", context)
    assert "form a loop" in refused(name, "a/deeper", context)


@pytest.mark.parametrize("name", TOOLS_WITH_A_PATH)
@pytest.mark.parametrize(
    ("path", "words"),
    [("a\0b", "NUL"), ("x" * 300, "too long"), ("\ud800", "surrogate"), ("", "at least 1 char")],
)
def test_names_that_no_file_can_have(context: ToolContext, name: str, path: str, words: str) -> None:
    """A NUL, a name over the limit, half a character and nothing at all are said plainly."""
    assert words in refused(name, path, context)


@pytest.mark.parametrize("name", TOOLS_WITH_A_PATH)
def test_a_working_directory_that_is_gone(root: Path, context: ToolContext, name: str) -> None:
    """It is not made again behind the user's back."""
    shutil.rmtree(root)
    assert "is gone" in refused(name, "a.txt", context)
    assert not root.exists()


@pytest.mark.parametrize("name", TOOLS_WITH_A_PATH)
def test_a_task_without_a_directory(context: ToolContext, name: str) -> None:
    """The answer says that there are no files."""
    assert "no working directory" in refused(name, "a.txt", replace(context, working_dir=None))


def test_a_link_inside_is_followed(root: Path, context: ToolContext) -> None:
    """A link to a file of the same tree reads as that file."""
    (root / "real.txt").write_text("text", encoding="utf-8")
    (root / "link").symlink_to("real.txt")
    tool = default_toolbox().get("read_file")
    assert tool is not None
    assert tool.run({"path": "link"}, context).text == "     1\ttext"

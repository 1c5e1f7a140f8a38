"""What a replaced file does not keep is told, and an odd path is an answer of every tool."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.model.tool import Probe, ProbeVerdict
from neuraphage.ports import ToolContext
from neuraphage.tools.registry import default_toolbox
from neuraphage.tools.write_tools import Edit, WriteFile

HavingRead = Callable[[Path], ToolContext]
CALLS: dict[str, dict[str, object]] = {
    "read_file": {},
    "write_file": {"content": "x"},
    "edit": {"old_string": "a", "new_string": "b"},
    "list_directory": {},
    "glob": {"pattern": "*"},
    "grep": {"pattern": "x"},
}
CHANGES = [
    (WriteFile(), {"path": "a.txt", "content": "new"}),
    (Edit(), {"path": "a.txt", "old_string": "old", "new_string": "new"}),
]


@pytest.mark.parametrize(("tool", "params"), CHANGES)
def test_a_hard_link_that_is_split_is_told(
    root: Path, having_read: HavingRead, tool: Edit | WriteFile, params: dict[str, str]
) -> None:
    """The other names keep the old content; after a crash the answer is the same."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    for name in ("b.txt", "c.txt"):
        os.link(path, root / name)
    context = having_read(path)
    evidence = tool.prepare(params, context)
    result = tool.run(params, context)
    assert not result.is_error
    assert "2 other names of the file still have the old content" in result.text
    assert (root / "b.txt").read_text(encoding="utf-8") == "old"
    assert tool.probe(params, evidence, context) == Probe(verdict=ProbeVerdict.HAPPENED, result=result)


@pytest.mark.parametrize("mode", [0o4755, 0o2755, 0o6755])
@pytest.mark.parametrize(("tool", "params"), CHANGES)
def test_bits_that_run_as_somebody_else_are_taken_off(
    root: Path, having_read: HavingRead, tool: Edit | WriteFile, params: dict[str, str], mode: int
) -> None:
    """Other content must not run with the rights that were given to the former one."""
    path = root / "a.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(mode)
    result = tool.run(params, having_read(path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o755
    assert "bit was taken off" in result.text
    assert ("set-user-id" in result.text) == bool(mode & stat.S_ISUID)
    assert ("set-group-id" in result.text) == bool(mode & stat.S_ISGID)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(
    "path", ["x" * 300, "no/" + "x" * 300, "a/" * 2_000, "loop", "loop/x", "no/../loop", "chain0", "file/x", "\x01\x7f"]
)
def test_every_odd_path_has_a_result(root: Path, context: ToolContext, name: str, path: str) -> None:
    """Too long, links that form a loop or a long chain, files that are no directories: never an exception."""
    (root / "loop").symlink_to("loop")
    (root / "file").write_text("x", encoding="utf-8")
    for number in range(1_500):
        (root / f"chain{number}").symlink_to(f"chain{number + 1}")
    tool = default_toolbox().get(name)
    assert tool is not None
    params = {"path": path, **CALLS[name]}
    tool.prepare(params, context)
    tool.probe(params, {}, context)
    result = tool.run(params, context)
    assert result.text
    followed = path == "chain0" and sys.version_info >= (3, 13)  # by Python itself, link for link
    assert result.is_error or followed or path in {"\x01\x7f", "no/../loop"}


@pytest.mark.parametrize("name", CALLS)
def test_an_error_that_no_tool_foresees_is_a_result(
    root: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """A file system may answer anything at any call."""

    def broken(*_: object, **__: object) -> None:
        raise OSError(5, "Input/output error")

    tool = default_toolbox().get(name)
    assert tool is not None
    for module in ("read_tools", "write_tools", "change_tool", "search_tools"):
        monkeypatch.setattr(f"neuraphage.tools.{module}.resolve", broken)
    params = {"path": "a", **CALLS[name]}
    assert tool.prepare(params, context) == {}
    assert tool.probe(params, {}, context).verdict is ProbeVerdict.UNKNOWN
    assert "Input/output error" in tool.run(params, context).text

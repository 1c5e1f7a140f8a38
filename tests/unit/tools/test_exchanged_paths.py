"""While another process exchanges directories, files and links, no tool reads or writes outside.

By default 2,000 reads and as many writes; `RACE_CALLS=20000` asks for more.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from neuraphage.decide.files_seen import SeenFile
from neuraphage.ports import ToolContext
from neuraphage.tools.freshness import digest
from neuraphage.tools.read_tools import ListDirectory, ReadFile
from neuraphage.tools.search_tools import Glob, Grep
from neuraphage.tools.write_tools import Edit, WriteFile

CALLS = int(os.environ.get("RACE_CALLS", "2000"))
SEARCHES = max(40, CALLS // 50)
SECRET = "outside-secret"

pytestmark = pytest.mark.skipif(
    not hasattr(ctypes.CDLL(None), "renameat2"), reason="only Linux exchanges two names in one step"
)

_ATTACKER = """
import ctypes, os, sys
rename = ctypes.CDLL(None, use_errno=True).renameat2
pairs = [(os.fsencode(a), os.fsencode(b)) for a, b in zip(sys.argv[1::2], sys.argv[2::2])]
parent = os.getppid()
print("ready", flush=True)
while os.getppid() == parent:
    for one, other in pairs:
        rename(-100, one, -100, other, 2)
"""


@contextmanager
def exchanging(*pairs: tuple[Path, Path]) -> Iterator[None]:
    """A process that exchanges two names without end, for each pair."""
    names = [str(path) for pair in pairs for path in pair]
    attacker = subprocess.Popen([sys.executable, "-I", "-S", "-c", _ATTACKER, *names], stdout=subprocess.PIPE)
    try:
        assert attacker.stdout is not None
        assert attacker.stdout.readline() == b"ready\n"
        yield
    finally:
        attacker.kill()
        attacker.communicate()


@pytest.fixture
def outside(root: Path) -> Path:
    """What must not be read: a directory beside the working directory."""
    directory = root.parent / "outside"
    (directory / "deep").mkdir(parents=True)
    for path in (directory / "a.txt", directory / "deep" / "a.txt", directory / "only-outside.txt"):
        path.write_text(f"{SECRET}\n", encoding="utf-8")
    return directory


@pytest.fixture
def pairs(root: Path, outside: Path) -> list[tuple[Path, Path]]:
    """A directory, one above another, and a file, each with a link that leads outside."""
    (root / "sub" / "deep").mkdir(parents=True)
    for path in (root / "sub" / "a.txt", root / "sub" / "deep" / "a.txt", root / "file.txt"):
        path.write_text("inside\n", encoding="utf-8")
    (root / "sub-link").symlink_to(outside)
    (root / "file-link").symlink_to(outside / "a.txt")
    return [(root / "sub", root / "sub-link"), (root / "file.txt", root / "file-link")]


PATHS = ("sub/a.txt", "sub/deep/a.txt", "file.txt")


def test_no_read_leaks(context: ToolContext, pairs: list[tuple[Path, Path]]) -> None:
    """What was read is what lies inside; the race is real, since some calls find a link where a directory was."""
    tool, texts = ReadFile(), []
    with exchanging(*pairs):
        for number in range(CALLS):
            texts.append(tool.run({"path": PATHS[number % 3]}, context).text)
    assert [text for text in texts if SECRET in text] == []
    assert any("inside" in text for text in texts)
    assert any("leads outside" in text for text in texts)


def test_no_listing_leaks(context: ToolContext, pairs: list[tuple[Path, Path]]) -> None:
    """Names are secrets too, also those that only look like what was asked for."""
    texts = []
    with exchanging(*pairs):
        for number in range(CALLS):
            texts.append(ListDirectory().run({"path": "sub" if number % 2 else "sub/deep"}, context).text)
            texts.append(ReadFile().run({"path": "sub/Only-Outside.txt"}, context).text)
    assert [text for text in texts if "only-outside" in text] == []
    assert any("a.txt" in text for text in texts)


def test_no_search_leaks(context: ToolContext, pairs: list[tuple[Path, Path]]) -> None:
    """The process that searches is given the directory's identity, and goes down from it."""
    texts = []
    with exchanging(*pairs):
        for number in range(SEARCHES):
            path = {"path": ("sub", ".", "sub/deep")[number % 3]}
            texts.append(Grep().run({"pattern": "inside|outside", **path}, context).text)
            texts.append(Glob().run({"pattern": "**/*", **path}, context).text)
    assert [text for text in texts if SECRET in text or "only-outside" in text] == []
    assert any("inside" in text for text in texts)


def test_no_write_lands_outside(
    root: Path, outside: Path, context: ToolContext, pairs: list[tuple[Path, Path]]
) -> None:
    """New files and directories: what is told to be written is inside, and nothing of it is outside."""
    before = sorted(outside.rglob("*"))
    told = 0
    with exchanging(*pairs):
        for number in range(CALLS):
            path = ("sub/new-{}.txt", "sub/deep/new-{}.txt", "sub/made-{}/new.txt")[number % 3].format(number)
            told += not WriteFile().run({"path": path, "content": "x"}, context).is_error
    assert sorted(outside.rglob("*")) == before
    assert told > 0
    assert len([path for path in root.rglob("new*.txt") if "-link" not in str(path)]) + _behind(root) >= told


def _behind(root: Path) -> int:
    """Files under the other name, where the exchange ended there."""
    link = root / "sub-link"
    return 0 if link.is_symlink() else len(list(link.rglob("new*.txt")))


def test_no_edit_lands_outside(outside: Path, context: ToolContext, pairs: list[tuple[Path, Path]]) -> None:
    """A file that was read is replaced in its own directory, or not at all."""
    root = Path(str(context.working_dir))
    known = {f"{root}/{path}": SeenFile(digest(b"inside\n"), ((1, None),)) for path in PATHS}
    known |= {str(path): SeenFile(digest(f"{SECRET}\n".encode()), ((1, None),)) for path in outside.rglob("*.txt")}
    seen = replace(context, files_seen=known)
    with exchanging(*pairs):
        for number in range(CALLS):
            params = {"path": PATHS[number % 3], "old_string": "side", "new_string": "side"}
            Edit().run(params, replace(seen, effect_id=f"effect-{number}"))
            WriteFile().run({"path": PATHS[number % 3], "content": "inside\n"}, seen)
    assert {path.read_text(encoding="utf-8") for path in outside.rglob("*.txt")} == {f"{SECRET}\n"}
    assert [path.name for path in outside.rglob(".np-*")] == []


def moved(root: Path) -> None:
    """Another directory takes the place of the working directory."""
    root.rename(root.parent / "moved")
    root.mkdir()


@pytest.mark.parametrize(
    "put", [moved, lambda root: (root.rename(root.parent / "moved"), root.symlink_to(root.parent / "outside"))]
)
def test_a_working_directory_that_is_replaced_in_mid_call(
    root: Path, outside: Path, context: ToolContext, monkeypatch: pytest.MonkeyPatch, put: Callable[[Path], object]
) -> None:
    """Its device and inode are those of the beginning of the call, or nothing is done."""
    from neuraphage.tools import write_tools

    real = write_tools.resolve

    def resolve(path: str, working_dir: str | None) -> object:
        place = real(path, working_dir)
        put(root)
        return place

    monkeypatch.setattr(write_tools, "resolve", resolve)
    result = WriteFile().run({"path": "new.txt", "content": "x"}, context)
    assert result.is_error
    assert "replaced" in result.text
    assert not (outside / "new.txt").exists()
    assert not (root / "new.txt").exists()

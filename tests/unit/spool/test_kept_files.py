"""Files that are put back after a command: each kind of thing, each way to change it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from neuraphage.spool.kept_files import KeptFiles

CHANGES: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "written": lambda folder: (folder / "config").write_text("evil", encoding="utf-8"),
    "removed": lambda folder: (folder / "config").unlink(),
    "its mode": lambda folder: (folder / "config").chmod(0o755),
    "a link": lambda folder: ((folder / "config").unlink(), (folder / "config").symlink_to("evil")),
    "a folder": lambda folder: ((folder / "config").unlink(), (folder / "config" / "a").mkdir(parents=True)),
    "a new file in a folder": lambda folder: (folder / "hooks" / "pre-commit").write_text("evil", encoding="utf-8"),
    "a file in a folder written": lambda folder: (folder / "hooks" / "sample").write_text("evil", encoding="utf-8"),
    "a folder moved": lambda folder: (folder / "hooks").rename(folder / "was"),
    "one that was not there": lambda folder: (folder / "commondir").write_text("evil", encoding="utf-8"),
    "another link": lambda folder: ((folder / "link").unlink(), (folder / "link").symlink_to("evil")),
    "a pipe": lambda folder: ((folder / "config").unlink(), os.mkfifo(folder / "config")),
}
NAMES = ("config", "hooks", "commondir", "link")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """One of each kind."""
    made = tmp_path / "git"
    (made / "hooks" / "deeper").mkdir(parents=True)
    (made / "config").write_text("as it was", encoding="utf-8")
    (made / "hooks" / "sample").write_text("as it was", encoding="utf-8")
    (made / "hooks" / "sample").chmod(0o755)
    (made / "link").symlink_to("config")
    return made


def kept(folder: Path, *names: str) -> KeptFiles:
    return KeptFiles((os.fsencode(folder / name) for name in names or NAMES), os.fsencode(folder.parent))


def listed(folder: Path) -> list[tuple[str, str, int]]:
    """All that is there, but for what was put aside."""
    found = [path for path in sorted(folder.rglob("*")) if "put-aside" not in str(path) and path.name != "was"]
    return [
        (
            str(path.relative_to(folder)),
            str(path.readlink()) if path.is_symlink() else _content(path),
            path.lstat().st_mode,
        )
        for path in found
        if "was" not in path.parts
    ]


def _content(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


@pytest.mark.parametrize("change", CHANGES)
def test_what_has_changed_is_put_back(folder: Path, change: str) -> None:
    """And told; what a command has made of it is beside it. What has not is left as it is."""
    before, files = listed(folder), kept(folder)
    CHANGES[change](folder)
    told = files.put_back()
    assert listed(folder) == before
    assert (told == "") == (change == "nothing")
    assert "not be put back" not in told
    assert files.put_back() == ""


def test_what_took_the_place_of_a_folder_is_not_followed(folder: Path, tmp_path: Path) -> None:
    """Nothing is written where a command has led it."""
    files = kept(folder)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder / "config").write_text("evil", encoding="utf-8")
    folder.rename(tmp_path / "was")
    folder.symlink_to(elsewhere)
    told = files.put_back()
    assert list(elsewhere.iterdir()) == []
    assert (folder / "config").read_text(encoding="utf-8") == "as it was"
    assert not folder.is_symlink()
    assert "put back: git, config;" in told


def test_a_folder_that_is_nowhere_any_more_is_told_of(folder: Path) -> None:
    """It cannot be made again with all that was in it."""
    files = kept(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    assert "could not be put back: git" in files.put_back()


def test_the_working_directory_itself_is_not_moved_back(folder: Path, tmp_path: Path) -> None:
    """No command can move it: a person has."""
    files = KeptFiles([os.fsencode(folder / "config")], os.fsencode(folder))
    folder.rename(tmp_path / "was")
    assert files.put_back() == ""
    assert not folder.exists()


def test_a_link_in_place_of_a_folder_is_not_looked_into(folder: Path, tmp_path: Path) -> None:
    """Nor kept: what it leads to is somebody else's."""
    (tmp_path / "link").symlink_to(folder)
    files = kept(tmp_path / "link")
    (folder / "config").write_text("by its owner", encoding="utf-8")
    assert files.put_back() == ""
    assert (folder / "config").read_text(encoding="utf-8") == "by its owner"


def test_what_is_too_large_is_told_of(folder: Path) -> None:
    """Nothing keeps so much in memory for it."""
    (folder / "config").write_bytes(b"x" * 2_000_000)
    files = kept(folder, "config")
    assert files.put_back() == ""
    (folder / "config").write_bytes(b"y" * 2_000_000)
    assert "could not be put back: config" in files.put_back()


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    """The rest is kept all the same."""
    assert KeptFiles([os.fsencode(tmp_path / "none" / "config")], b"/").put_back() == ""

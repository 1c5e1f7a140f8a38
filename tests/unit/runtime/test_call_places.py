"""Where calls work: links, directories inside of others, and worktrees of one repository."""

from __future__ import annotations

import subprocess
from pathlib import Path

from neuraphage.runtime.call_places import call_places
from patience import PATIENCE_S


def git(folder: Path, *words: str) -> None:
    names = ("-c", "user.name=n", "-c", "user.email=e@example.org")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True, timeout=PATIENCE_S)


def test_two_names_of_one_place_are_one(tmp_path: Path) -> None:
    """Links are followed, in the directory and in a path; what is not there has a name all the same."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    real, link = call_places(str(tmp_path / "real")), call_places(str(tmp_path / "link"))
    assert real.workspace == link.workspace
    assert real.resolved("a/../b") == link.resolved("b") == str(tmp_path.resolve() / "real" / "b")
    assert call_places(str(tmp_path / "none")).workspace.endswith("/none")
    assert call_places("/x\0y").resolved("z")


def test_a_directory_of_a_repository_lies_within_its_top(tmp_path: Path) -> None:
    """A command at the top reaches it; a worktree is a place of its own, of the same repository."""
    top, other = tmp_path / "repo", tmp_path / "repo" / "trees" / "other"
    (top / "a" / "b").mkdir(parents=True)
    git(top, "init", "-q")
    git(top, "commit", "-q", "--allow-empty", "-m", "one")
    git(top, "worktree", "add", "-q", str(other))
    inside, tree = call_places(str(top / "a" / "b")), call_places(str(other))
    assert inside.around == (str(top.resolve() / "a"), str(top.resolve()))
    assert (tree.around, call_places(str(top)).around, call_places(str(tmp_path)).around) == ((), (), ())
    assert inside.repository == tree.repository == str(top.resolve() / ".git")
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_bytes(b"\xff")
    assert call_places(str(tmp_path / "odd")).repository

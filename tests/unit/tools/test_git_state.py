"""Branch and state of a repository, read without running what the repository names."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from neuraphage.model.git_state import GitState
from neuraphage.tools import git_state as module
from neuraphage.tools.git_state import git_state
from patience import PATIENCE_S

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(folder: Path, *words: str) -> str:
    identity = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two committed files on main; no configuration of this machine."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in "ab":
        (folder / name).write_text(name, encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def test_what_git_says(repository: Path) -> None:
    """Clean, changed, untracked, in a folder below, detached, before the first commit, and of what is none."""
    commit = git(repository, "rev-parse", "HEAD")[:10]
    assert git_state(str(repository), PATIENCE_S) == GitState("main", commit, 0, 0)
    (repository / "a").write_text("other", encoding="utf-8")
    (repository / "b").unlink()
    (repository / "new\nname").write_text("x", encoding="utf-8")
    (repository / "sub").mkdir()
    git(repository, "checkout", "-q", "-b", "a/branch")
    assert git_state(str(repository / "sub"), PATIENCE_S) == GitState("a/branch", commit, 2, 1)
    git(repository, "checkout", "-q", "--detach")
    assert git_state(str(repository), PATIENCE_S) == GitState("", commit, 2, 1)
    fresh = repository / "fresh"
    fresh.mkdir()
    git(fresh, "init", "-q")
    assert git_state(str(fresh), PATIENCE_S) == GitState("main", "", 0, 0)
    assert git_state(str(repository.parent), PATIENCE_S) is None
    assert git_state(str(repository), 0) is None


def test_a_repository_runs_nothing(repository: Path, tmp_path: Path) -> None:
    """Neither monitor, filter nor hook; nor is anything written, or a lock taken."""
    mark = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n", encoding="utf-8")
    program.chmod(0o755)
    hooks = repository / ".git" / "hooks"
    for name in ("post-index-change", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    for key in ("core.fsmonitor", "filter.f.clean", "filter.g.process", "core.editor", "core.pager"):
        git(repository, "config", key, str(program))
    git(repository, "config", "filter.f.required", "true")
    (repository / ".gitattributes").write_text("a filter=f\nb filter=g\n", encoding="utf-8")
    for name in "ab":  # of the same size, so that git has to read them
        (repository / name).write_text(name.upper(), encoding="utf-8")
    index = (repository / ".git" / "index").read_bytes()
    found = git_state(str(repository), PATIENCE_S)
    assert found is not None
    assert (found.changed, found.untracked) == (2, 1)
    assert not mark.exists()
    assert (repository / ".git" / "index").read_bytes() == index
    subprocess.run(["git", "status"], cwd=repository, check=False, capture_output=True)
    assert mark.exists(), "a plain status would have run them"
    git(repository, "config", "--add", "filter.a=b.clean", str(program))
    found = git_state(str(repository), PATIENCE_S)
    assert found is not None
    assert found.changed is None, "a filter that cannot be taken out of use"


def test_git_that_takes_too_long_is_left(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is killed with what it started; what was known by then is told."""
    folder = tmp_path / "bin"
    folder.mkdir()
    real, slow = shutil.which("git"), folder / "git"
    slow.write_text(f'#!/bin/sh\ncase "$*" in *status*) sleep 600;; esac\nexec {real} "$@"\n', encoding="utf-8")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    began_s = time.monotonic()
    found = git_state(str(repository), 1.5)
    assert time.monotonic() - began_s < PATIENCE_S
    assert found is None or (found.branch, found.changed) == ("main", None)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert git_state(str(repository), PATIENCE_S) is None


def test_a_long_answer_is_counted_as_far_as_it_is_read(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git prints is bounded."""
    for number in range(100):
        (repository / f"new-{number}").write_text("x", encoding="utf-8")
    monkeypatch.setattr(module, "MOST_BYTES", 500)
    found = git_state(str(repository), PATIENCE_S)
    assert found is not None
    assert found.more
    assert 10 < (found.untracked or 0) <= 100

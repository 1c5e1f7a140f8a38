"""Where the calls of a task work, as locks name it: looked up on this machine, through links."""

from __future__ import annotations

import os.path
from functools import partial
from pathlib import Path

from neuraphage.decide.lock_needs import CallPlaces

_POINTER = "gitdir:"
_POINTER_MAX_BYTES = 4_096


def call_places(working_dir: str) -> CallPlaces:
    """The places of a task's calls.

    Args:
        working_dir: of the task; it need not be there.
    """
    workspace = Path(resolved(working_dir, "."))
    top = next((folder for folder in (workspace, *workspace.parents) if _is_top(folder)), None)
    around = [] if top is None else [folder for folder in workspace.parents if folder.is_relative_to(top)]
    repository = None if top is None else _shared_folder(top)
    return CallPlaces(str(workspace), tuple(map(str, around)), repository, partial(resolved, working_dir))


def resolved(working_dir: str, path: str) -> str:
    """Two names of one file are one lock; a name that the tool will refuse is a name all the same."""
    try:
        return os.path.realpath(Path(working_dir, path))
    except (OSError, ValueError):
        return os.path.normpath(Path(working_dir, path))


def _is_top(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _shared_folder(top: Path) -> str:
    """What all worktrees of a repository share: a worktree's own `.git` is a file that leads there."""
    git = top / ".git"
    try:
        if git.is_file():
            with git.open("rb") as file:
                text = file.read(_POINTER_MAX_BYTES).decode(errors="replace").strip()
            folder = Path(resolved(str(top), text.removeprefix(_POINTER).strip()))
            return str(folder.parent.parent if folder.parent.name == "worktrees" else folder)
    except OSError:
        pass
    return str(git)

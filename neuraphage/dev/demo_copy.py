"""The copy of a project that the demo works on: small, and without what is no file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from rich.filesize import decimal

from neuraphage.errors import BadInput

MAX_ENTRIES = 5_000
MAX_BYTES = 100_000_000
"""A project for a demo; a home or a disk that was given by mistake is refused before any of it is copied."""
_is_left_out = shutil.ignore_patterns("__pycache__", "*.pyc", ".git", ".venv")


def copy_project(project: Path | None, workspace: Path) -> None:
    """Copy a project; links are copied as what they lead to, and pipes, sockets and devices are left out.

    Args:
        project: its folder; None for the one that comes with the package.
        workspace: where to, a folder that is not there yet.

    Raises:
        BadInput: it is too large.
        OSError: it cannot be read.
    """
    if project is not None:
        _refuse_large(project)
        shutil.copytree(project, workspace, ignore=_left_out)
        return
    with as_file(files("neuraphage.dev") / "demo_project") as packaged:
        shutil.copytree(packaged, workspace, ignore=_left_out)


def _left_out(folder: str, names: Sequence[str]) -> set[str]:
    paths = ((name, Path(folder, name)) for name in names)
    others = {name for name, path in paths if not path.is_file() and not path.is_dir()}
    return _is_left_out(folder, list(names)) | others


def _refuse_large(project: Path) -> None:
    entries, size_bytes = 0, 0
    for folder, inner, names in os.walk(project, followlinks=True):
        left_out = _left_out(folder, [*inner, *names])
        inner[:] = [name for name in inner if name not in left_out]
        paths = [Path(folder, name) for name in names if name not in left_out]
        entries += len(inner) + len(paths)
        size_bytes += sum(path.stat().st_size for path in paths)
        if entries > MAX_ENTRIES or size_bytes > MAX_BYTES:
            limits = f"{MAX_ENTRIES:,} files or {decimal(MAX_BYTES)}"
            raise BadInput(
                f"--project {project}: it holds more than {limits}, and the demo copies it; choose a small one"
            )

"""Which folders are too wide for a task's tools, unless a person says so. Pure."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePath

_HOLD_HOMES = (PurePath("/home"), PurePath("/Users"))


def too_wide(folder: PurePath, homes: Collection[PurePath], data_dir: PurePath) -> str | None:
    """Why a working directory reaches more than a task should; None when it does not.

    Args:
        folder: the working directory, absolute, links followed.
        homes: home folders that are known, likewise; `/` is none.
        data_dir: where neuraphage keeps its data, likewise.

    Returns:
        What the folder is, as the rest of a sentence.
    """
    if folder.parent == folder:
        return "is the root of the file system, so the tools would reach every file of this machine"
    if folder in homes or folder.parent in _HOLD_HOMES:
        return "is a home folder, with keys, settings and all projects of a person in it"
    if folder in _HOLD_HOMES or any(home.is_relative_to(folder) for home in homes):
        return "holds home folders, with keys, settings and all projects of people in them"
    if data_dir.is_relative_to(folder):
        is_or_holds = "is" if folder == data_dir else "holds"
        return f"{is_or_holds} the data folder of neuraphage ({data_dir}), where all tasks are kept"
    if folder.is_relative_to(data_dir):
        return f"lies in the data folder of neuraphage ({data_dir}), where all tasks are kept"
    return None

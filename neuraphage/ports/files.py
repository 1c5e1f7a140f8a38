"""The files of a task's working directory: for turns, and for whoever is to answer on the same machine."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from neuraphage.decide.files_seen import SeenFile
from neuraphage.model.git_state import GitState
from neuraphage.model.tool import FileSight
from neuraphage.ports.tools import ToolContext


class WorkingFiles(Protocol):
    """Files of a task's working directory, as far as it is on this machine."""

    def is_here(self, folder: str) -> bool:
        """Whether the directory is on this machine."""
        ...

    def too_wide(self, folder: str, data_dir: Path) -> str | None:
        """Why the directory reaches more than tools should, as far as this machine tells; None when it does not.

        Args:
            folder: the working directory.
            data_dir: where neuraphage keeps its data.
        """
        ...

    def text(self, path: str, folder: str | None) -> str | None:
        """The text of a file as it is now; None when there is none, or none that can be read here.

        Args:
            path: as a tool was given it.
            folder: the working directory.
        """
        ...

    def is_absent(self, path: str, folder: str | None) -> bool:
        """Whether the working directory is on this machine, and nothing is at this path; see `text`."""
        ...

    def place(self, path: str, folder: str) -> str:
        """Where a path leads, absolute, links followed; of a folder that is not on this machine as it is spelt.

        Args:
            path: as a tool was given it.
            folder: the working directory.
        """
        ...

    def is_as_approved(self, approved: FileSight, folder: str, seen: SeenFile | None) -> bool | None:
        """Whether a file is still what a person was asked about; None when it cannot be read here.

        Args:
            approved: the file as it was when the person was asked.
            folder: the working directory.
            seen: the file as the conversation last saw it.
        """
        ...


class TurnFiles(Protocol):
    """What a turn itself must know of files, as its tools see them."""

    def problem(self, working_dir: str) -> str | None:
        """What keeps a working directory from being used and what a person can do about it; None when it can be."""
        ...

    def git_state(self, working_dir: str, timeout_s: float) -> GitState | None:
        """Branch and state of the repository that a directory is in; None where there is none, or no git.

        Args:
            working_dir: absolute path.
            timeout_s: for all that git is asked; 0 asks nothing.
        """
        ...

    def sight(self, path: str, context: ToolContext) -> FileSight | None:
        """A file as it is now, or its absence; None when it cannot be read.

        Args:
            path: as the model gave it.
            context: of the call that names it.
        """
        ...

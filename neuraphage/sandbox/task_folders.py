"""The private /tmp of each task: its commands find there what the ones before have left."""

from __future__ import annotations

import os
import re
from pathlib import Path

from neuraphage.errors import SpoolError
from neuraphage.private_files import private_folder
from neuraphage.sandbox.old_folders import remove_old

TMP, VAR_TMP = "tmp", "var-tmp"
PARTS = (TMP, VAR_TMP)
_TASK_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_NAMELESS = "no-task"


class TaskFolders:
    """One folder a task, below the data folder, which no command sees by that name.

    Args:
        root: of all of them; made with mode 0700.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()

    def of_task(self, task_id: str) -> Path:
        """The folder of a task, made if it is not there; it is kept from now on for as long as command output is.

        Raises:
            SpoolError: it cannot be made.
        """
        folder = self.root / (task_id if _TASK_ID.fullmatch(task_id) else _NAMELESS)
        try:
            for made in (self.root, folder):
                private_folder(made)
            for name in PARTS:
                (folder / name).mkdir(mode=0o700, exist_ok=True)  # its commands may have changed its mode since
            os.utime(folder)
        except OSError as error:
            raise SpoolError(
                f"cannot make a folder for temporary files at {folder}: {error.strerror or error}; check the space and"
                " the rights of the data folder"
            ) from error
        return folder

    def expire(self, older_than_s: float) -> int:
        """Delete the folders of tasks that have run no command for so long (seconds); returns how many."""
        return remove_old(self.root, older_than_s)

"""Folders that are kept for a while after their last use."""

from __future__ import annotations

import shutil
import time
from pathlib import Path


def remove_old(root: Path, older_than_s: float) -> int:
    """Delete the folders in `root` that nobody has touched for so long (seconds); returns how many."""
    oldest, deleted = time.time() - older_than_s, 0
    try:
        folders = list(root.iterdir())
    except OSError:
        return 0
    for folder in folders:
        try:
            is_old = folder.lstat().st_mtime < oldest
        except OSError:
            continue  # gone meanwhile
        if is_old:
            shutil.rmtree(folder, ignore_errors=True)
            deleted += not folder.exists()
    return deleted

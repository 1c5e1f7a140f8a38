"""Whether a task's working directory can be used, and what a person can do when it cannot."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from neuraphage.decide.shorten import printable

WHAT_TO_DO = (
    "Nothing in it can be read, written or run, and no tool can make it again. A person can: put it back at this very"
    " path (restore or mount it, or check it out again), readable for the worker, and say so, or retry the task; or"
    " cancel the task and submit it with another directory."
)


def working_dir_problem(working_dir: str) -> str | None:
    """What is wrong with a working directory; None when it can be used.

    Args:
        working_dir: absolute path, links followed.

    Returns:
        The beginning of a sentence: the path and what was found there.
    """
    shown = f"The working directory {printable(working_dir)}"  # whole: whoever shows it redacts it first
    try:
        mode = Path(working_dir).stat().st_mode
    except FileNotFoundError:
        return f"{shown} is gone: there is nothing at this path"
    except NotADirectoryError:
        return f"{shown} is gone: a part of its path is a file"
    except PermissionError:
        return f"{shown} cannot be reached: permission denied on the way to it"
    except (OSError, ValueError) as error:
        return f"{shown} cannot be reached: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISDIR(mode):
        return f"{shown} is no directory any more: a file is at its place"
    if not os.access(working_dir, os.R_OK | os.X_OK):
        return f"{shown} cannot be read: permission denied"
    return None


def working_dir_report(working_dir: str) -> str | None:
    """The problem with what a person can do about it, as the model and people read it; None when there is none."""
    problem = working_dir_problem(working_dir)
    return None if problem is None else f"{problem}. {WHAT_TO_DO}"

"""What is said when the system refuses the spool something."""

from __future__ import annotations

import errno
from pathlib import Path

from neuraphage.errors import ConfinementFailed, SpoolError
from neuraphage.spool import records


def refused(what: str, path: Path, error: OSError) -> str:
    """Say what was tried, what came back and what to do."""
    advice = {
        errno.ENOSPC: "free some space, or delete old entries",
        errno.EDQUOT: "free some space, or raise the quota",
        errno.EACCES: "give this user the folder, or set another data_dir",
        errno.EPERM: "give this user the folder, or set another data_dir (it must allow hard links)",
        errno.EROFS: "set a data_dir that can be written to",
    }.get(error.errno or 0, "check the disk and the folder")
    return f"cannot {what} {path}: {error.strerror}; {advice}"


def not_begun(entry: Path, answer: str) -> SpoolError:
    """Why a runner has started nothing, by its answer."""
    word, _, why = answer.partition(" ")
    if word == records.UNREADY:
        return ConfinementFailed(f"the sandbox of the command in {entry} did not come up: {why}")
    said = answer.splitlines()[-1] if answer else "it was killed"
    return SpoolError(f"the process for the command in {entry} failed before it started anything: {said}")

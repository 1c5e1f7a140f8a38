"""What git says of a working directory."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GitState:
    """Branch and state of a repository, as they were at one moment.

    Args:
        branch: its name; empty where no branch is checked out.
        commit: the first ten digits of what is checked out; empty before the first commit.
        changed: tracked files that differ from it; None where git did not say so in time.
        untracked: files and folders that git does not know; None likewise.
        more: whether there are more than were counted.
    """

    branch: str
    commit: str
    changed: int | None = None
    untracked: int | None = None
    more: bool = False

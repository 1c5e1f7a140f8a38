"""What is found where a task is held against its record, and what may be done about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class RepairMode(StrEnum):
    """What a look may change."""

    LOOK = "look"
    """Nothing."""
    LIST = "list"
    """Only the index of all ids, to which tasks of an earlier release are added."""
    REPAIR = "repair"


class RepairVerdict(StrEnum):
    """What became of one task."""

    SOUND = "SOUND"
    FOUND = "FOUND"
    """Something is wrong, and nothing was changed."""
    REPAIRED = "REPAIRED"
    LEFT = "LEFT"
    """Something is wrong that no record can put right: a person must look."""
    NEWER = "NEWER"
    """A newer release has written to it; it was left alone."""


@dataclass(frozen=True, slots=True)
class RepairResult:
    """What was found at one task, or at one key of the whole namespace.

    Args:
        name: task id, or the key.
        verdict: what became of it.
        findings: one sentence each; none when it is sound.
    """

    name: str
    verdict: RepairVerdict
    findings: tuple[str, ...] = ()

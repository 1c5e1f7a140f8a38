"""What `doctor` says of one thing: what was looked at, what was found, and what to do.

Only a problem makes `doctor` fail; a warning is something that an operator may have chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is."""

    OK = "ok"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Args:
        check: stable name.
        level: how bad it is.
        found: what was found.
        to_do: what to do; empty when it is well.
    """

    check: str
    level: Level
    found: str
    to_do: str = ""

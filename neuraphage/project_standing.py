"""How a directory's rules stand: as they are now, and as a person has trusted them; and what people are told of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from neuraphage.errors import SettingsError
from neuraphage.project_rules import ProjectFile, read_project_file, refusals
from neuraphage.setting_sources import FILE_NAME
from neuraphage.trusted_projects import TrustedProject, read_trusted, trusted_in


class Trust(StrEnum):
    """What the person has said about the rules of a directory."""

    NOTHING = "nothing"
    """There are none to say anything about."""
    UNTRUSTED = "untrusted"
    TRUSTED = "trusted"
    CHANGED = "changed"
    """They trusted another file than the one that is there."""


@dataclass(frozen=True, slots=True)
class ProjectStanding:
    """How the rules of one directory stand.

    Args:
        directory: an absolute path.
        file: as it is now; None where there is none, or it cannot be read.
        problem: why it cannot be read.
        trusted: what the person has trusted.
    """

    directory: str
    file: ProjectFile | None = None
    problem: str | None = None
    trusted: TrustedProject | None = None

    @property
    def trust(self) -> Trust:
        """What the person has said about them."""
        if self.trusted is not None:
            is_same = self.file is not None and self.file.sha256 == self.trusted.sha256
            return Trust.TRUSTED if is_same else Trust.CHANGED
        has_any = self.file is not None and bool(self.file.rules or self.file.refused)
        return Trust.UNTRUSTED if has_any or self.problem is not None else Trust.NOTHING

    def told(self) -> list[str]:
        """What people are told, each in a line; nothing where all is used as it stands."""
        path, count = Path(self.directory) / FILE_NAME, len(self.trusted.rules if self.trusted else ())
        command = f"`neuraphage trust {shlex.quote(self.directory)}`"
        lines = [] if self.problem is None else [f"its rules cannot be read: {self.problem}"]
        if self.trust is Trust.CHANGED:
            state = "differs from what you trusted" if self.file or self.problem else "is gone"
            rules = _counted(count, "rule that you trusted goes", "rules that you trusted go")
            lines.append(f"{path} {state}: the {rules} on to hold; {command} takes what it says now")
        if self.trust is Trust.UNTRUSTED and self.file is not None and self.file.rules:
            rules = _counted(len(self.file.rules), "rule that is", "rules that are")
            lines.append(f"{path} has {rules} not used, since you have not trusted them: {command}")
        return lines + ([] if self.file is None else [f"{path}: {text}" for text in refusals(self.file.refused)])


def standing_of(directory: str, trust_path: Path) -> ProjectStanding:
    """Look how the rules of a directory stand.

    Args:
        directory: that a task works in, an absolute path.
        trust_path: of the person's file.

    Raises:
        SettingsError: the person's file cannot be read; what is wrong with the project's is in the answer.
    """
    trusted = next(iter(trusted_in(read_trusted(trust_path), directory)), None)
    try:
        return ProjectStanding(directory, read_project_file(directory), trusted=trusted)
    except SettingsError as error:
        return ProjectStanding(directory, problem=str(error), trusted=trusted)


def _counted(number: int, one: str, more: str) -> str:
    return f"{number} {one if number == 1 else more}"

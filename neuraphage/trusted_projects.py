"""Which projects a person trusts, with their rules as they were then: `trust.toml` beside their own neuraphage.toml.

Each is a table `[[projects]]`. What was trusted holds, whatever has become of the project's file since: a task that may
change the file cannot take a rule away with it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import Rule
from neuraphage.own_files import quoted, refuse_of_others, stamp_of, write, writing
from neuraphage.project_rules import TIGHTENING, ProjectFile, project_rules, read_project_file
from neuraphage.setting_sources import FILE_NAME as PROJECT_FILE
from neuraphage.setting_sources import MAX_FILE_BYTES, read_file, read_toml, user_file

FILE_NAME = "trust.toml"
MOST_PROJECTS = 1_000
_BEGINNING = "# Projects whose rules you trust: `neuraphage trust`, `trust --remove`. See docs/rules.md.\n"
_FIELDS = {"dir", "sha256", "rules"}

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TrustedProject:
    """What a person has trusted.

    Args:
        directory: an absolute path.
        sha256: of the project's file.
        rules: its rules, as it had them then.
    """

    directory: str
    sha256: str
    rules: tuple[Rule, ...] = ()


def trust_file() -> Path:
    """The file of the person who runs this process."""
    return user_file().with_name(FILE_NAME)


def read_trusted(path: Path) -> tuple[TrustedProject, ...]:
    """The projects of a file, which need not be there.

    Raises:
        SettingsError: it cannot be read, others may write to it, or something in it is not what was written.
    """
    text = read_file(path)
    if not text:
        return ()
    refuse_of_others(path)
    found = read_toml(path, text)
    rows = found.get("projects", [])
    if set(found) - {"projects"} or not isinstance(rows, list) or len(rows) > MOST_PROJECTS:
        raise SettingsError(f"{path}: it holds tables [[projects]] alone, {MOST_PROJECTS} at most")
    return tuple(_project(row, f"{path}: project {number}") for number, row in enumerate(rows, start=1))


def _project(row: Any, where: str) -> TrustedProject:
    if not isinstance(row, dict) or set(row) != _FIELDS:
        raise SettingsError(f"{where}: it has dir, sha256 and rules; write it anew by `neuraphage trust`")
    directory, sha256 = row["dir"], row["sha256"]
    if not isinstance(directory, str) or not directory.startswith("/") or not isinstance(sha256, str):
        raise SettingsError(f"{where}: dir is no absolute path, or sha256 no text")
    rules = project_rules(row["rules"], where)
    if any(rule.effect not in TIGHTENING for rule in rules):
        raise SettingsError(f"{where}: rules of a project may only deny and ask")
    return TrustedProject(directory, sha256, rules)


def trust(path: Path, directory: str) -> tuple[ProjectFile, bool]:
    """Trust the rules that a directory has now, in place of those that it had before.

    Args:
        path: of the person's file.
        directory: an absolute path, with all links resolved.

    Returns:
        The project's file, and whether this is news.

    Raises:
        BadInput: the directory has no such file, or there are as many projects as there may be.
        SettingsError: one of the files cannot be read or written.
    """
    file = read_project_file(directory)
    if file is None:
        raise BadInput(f"{directory} has no {PROJECT_FILE}, so there are no rules of it to trust")
    trusted = TrustedProject(directory, file.sha256, file.rules)
    with writing(path):
        known = read_trusted(path)
        if trusted in known:
            return file, False
        others = [one for one in known if one.directory != directory]
        if len(others) >= MOST_PROJECTS:
            raise BadInput(f"{path} has {len(others)} projects, the most there may be; remove some first")
        _write(path, [*others, trusted])
    return file, True


def distrust(path: Path, directory: str) -> None:
    """Let the rules of a directory hold no longer.

    Raises:
        BadInput: it is not trusted.
        SettingsError: the file cannot be read or written.
    """
    with writing(path):
        known = read_trusted(path)
        others = [one for one in known if one.directory != directory]
        if len(others) == len(known):
            raise BadInput(f"{directory} is not trusted; `neuraphage trust --list` shows what is")
        _write(path, others)


def _write(path: Path, projects: Iterable[TrustedProject]) -> None:
    rows = [
        f"[[projects]]\ndir = {quoted(one.directory)}\nsha256 = {quoted(one.sha256)}\n"
        + "".join(["rules = [\n", *(f"  {quoted(str(rule))},\n" for rule in one.rules), "]\n"])
        for one in projects
    ]
    text = "\n".join([_BEGINNING, *rows])
    if len(text.encode()) > MAX_FILE_BYTES:
        raise BadInput(f"{path} would have more than {MAX_FILE_BYTES} bytes; remove projects from it first")
    write(path, text)


def trusted_in(projects: Iterable[TrustedProject], working_dir: str | None) -> tuple[TrustedProject, ...]:
    """What is trusted of the directory that a task works in, by its own path and by the one that it leads to."""
    if working_dir is None:
        return ()
    names = (working_dir, os.path.realpath(working_dir))
    return tuple(one for one in projects if one.directory in names)


class TrustedRules:
    """Implements ports.OwnRules: the rules of projects that a person trusts, read again when that changed. Thread-safe.

    What cannot be read takes nothing away: what was trusted before goes on to hold, and it is logged once.

    Args:
        path: of the person's file, which need not be there.

    Raises:
        SettingsError: see `read_trusted`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        stamp = stamp_of(path)
        self._known: tuple[object, tuple[TrustedProject, ...]] = (stamp, read_trusted(path))

    def of(self, working_dir: str | None) -> tuple[Rule, ...]:
        """See ports.OwnRules."""
        stamp, known = stamp_of(self._path), self._known
        if stamp != known[0]:
            known = self._known = (stamp, self._read_again(known[1]))
        return tuple(rule for project in trusted_in(known[1], working_dir) for rule in project.rules)

    def _read_again(self, before: tuple[TrustedProject, ...]) -> tuple[TrustedProject, ...]:
        try:
            return read_trusted(self._path)
        except SettingsError as error:
            log.error("what you trust cannot be read, so what you trusted before holds: %s", error)  # noqa: TRY400 - it says all
            return before

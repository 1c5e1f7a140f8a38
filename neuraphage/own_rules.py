"""The rules that a person has made by commands and answers: `rules.toml` beside their own neuraphage.toml.

Each is a table `[[rules]]` with `rule` and, where it holds in one directory alone, `dir`; see own_rule_changes.py.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import Rule, RuleEffect, RuleSource
from neuraphage.own_files import refuse_of_others, stamp_of
from neuraphage.setting_sources import read_file, read_toml, user_file

FILE_NAME = "rules.toml"
MOST_RULES = 1_000
HEADER = "[[rules]]"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OwnRule:
    """One rule of a person.

    Args:
        rule: the rule.
        directory: it holds for tasks that work there or below; None for all.
    """

    rule: Rule
    directory: str | None = None

    def holds_in(self, working_dir: str | None) -> bool:
        """Whether it holds for a task that works there."""
        if self.directory is None:
            return True
        return working_dir is not None and PurePosixPath(working_dir).is_relative_to(self.directory)


def rules_file() -> Path:
    """The file of the person who runs this process."""
    return user_file().with_name(FILE_NAME)


def read_own_rules(path: Path) -> tuple[OwnRule, ...]:
    """The rules of a file, which need not be there.

    Raises:
        SettingsError: it cannot be read, others may write to it, or something in it is no rule.
    """
    text = read_file(path)
    if not text:
        return ()
    refuse_of_others(path)
    found = read_toml(path, text)
    rows = found.get("rules", [])
    if set(found) - {"rules"} or not isinstance(rows, list) or len(rows) > MOST_RULES:
        raise SettingsError(f"{path}: it holds tables {HEADER} alone, {MOST_RULES} at most")
    return tuple(_own_rule(row, f"{path}: rule {number}") for number, row in enumerate(rows, start=1))


def _own_rule(row: Any, where: str) -> OwnRule:
    text, directory = (row.get("rule"), row.get("dir")) if isinstance(row, dict) else (None, None)
    if not isinstance(text, str) or set(row) - {"rule", "dir"}:
        raise SettingsError(f'{where}: write rule = "allow run_command: pytest *", and dir = "/a/folder" if it has one')
    if directory is not None and not (isinstance(directory, str) and directory.startswith("/")):
        raise SettingsError(f"{where}: dir is no absolute path")
    try:
        return OwnRule(read_rule(text, RuleSource.USER), directory)
    except BadInput as error:
        raise SettingsError(f"{where}: {error}") from None


class OwnRules:
    """Implements ports.OwnRules: the rules of a file, read again when it has changed. Thread-safe.

    What cannot be read allows nothing: of the rules before, those that deny and ask go on, and it is logged once.

    Args:
        path: of the file, which need not be there.

    Raises:
        SettingsError: see `read_own_rules`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        stamp = stamp_of(path)
        self._known: tuple[object, tuple[OwnRule, ...]] = (stamp, read_own_rules(path))

    def of(self, working_dir: str | None) -> tuple[Rule, ...]:
        """See ports.OwnRules."""
        stamp, known = stamp_of(self._path), self._known
        if stamp != known[0]:
            known = self._known = (stamp, self._read_again(known[1]))
        return tuple(one.rule for one in known[1] if one.holds_in(working_dir))

    def _read_again(self, before: Sequence[OwnRule]) -> tuple[OwnRule, ...]:
        try:
            return read_own_rules(self._path)
        except SettingsError as error:
            log.error("your rules cannot be read, so they allow nothing: %s", error)  # noqa: TRY400 - it says all
            return tuple(one for one in before if one.rule.effect is not RuleEffect.ALLOW)

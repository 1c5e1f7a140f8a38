"""The rules that a project brings: `rules` in the `neuraphage.toml` of the directory that a task works in.

They may only tighten what the person's own rules say, and hold once the person has trusted them (trusted_projects.py).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from neuraphage.decide.hashing import sha256_hex
from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import Rule, RuleEffect, RuleSource
from neuraphage.setting_sources import FILE_NAME, PROJECT_RULES_KEY, read_file, read_toml

MOST_PROJECT_RULES = 200
TIGHTENING = frozenset({RuleEffect.DENY, RuleEffect.ASK})
"""What a rule of a project may do: a cloned repository allows itself nothing, and lets nothing out of the sandbox."""


@dataclass(frozen=True, slots=True)
class ProjectFile:
    """The file of a project as it is now.

    Args:
        path: of the file.
        sha256: of its text; a person trusts just this one.
        rules: those that may hold.
        refused: rules in it that a project may not have; they are never used.
    """

    path: Path
    sha256: str
    rules: tuple[Rule, ...] = ()
    refused: tuple[Rule, ...] = ()


def read_project_file(directory: str) -> ProjectFile | None:
    """Read the file of a directory; None where there is none.

    Args:
        directory: that a task works in, an absolute path.

    Raises:
        SettingsError: it cannot be read, or something that it has as a rule is none.
    """
    path = Path(directory) / FILE_NAME
    text = read_file(path)
    if not text:
        return None
    rules = project_rules(read_toml(path, text).get(PROJECT_RULES_KEY, []), str(path))
    return ProjectFile(
        path,
        sha256_hex(text),
        tuple(rule for rule in rules if rule.effect in TIGHTENING),
        tuple(rule for rule in rules if rule.effect not in TIGHTENING),
    )


def project_rules(found: Any, where: str) -> tuple[Rule, ...]:
    """Read a list of rules of a project.

    Args:
        found: as TOML has it.
        where: it stands, for people.

    Raises:
        SettingsError: it is no such list.
    """
    if not isinstance(found, list) or len(found) > MOST_PROJECT_RULES:
        raise SettingsError(f"{where}: rules is a list of texts, {MOST_PROJECT_RULES} at most")
    return tuple(_rule(text, f"{where}: rule {number}") for number, text in enumerate(found, start=1))


def _rule(text: Any, where: str) -> Rule:
    if not isinstance(text, str) or not text.isprintable():
        raise SettingsError(f'{where}: write a text of characters that can be seen, as "deny run_command: git push *"')
    try:
        return read_rule(text, RuleSource.PROJECT)
    except BadInput as error:
        raise SettingsError(f"{where}: {error}") from None


def refusals(rules: Iterable[Rule]) -> list[str]:
    """What people are told of rules that a project may not have."""
    return [f"`{rule}` is not used: a project's rules may only deny and ask" for rule in rules]

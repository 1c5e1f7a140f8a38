"""What `doctor` finds of a person's own files: settings, rules, and the projects that they trust."""

from __future__ import annotations

from collections.abc import Iterator

from neuraphage.decide.findings import Finding, Level
from neuraphage.errors import SettingsError
from neuraphage.own_rules import read_own_rules, rules_file
from neuraphage.project_standing import Trust, standing_of
from neuraphage.setting_sources import user_file
from neuraphage.trusted_projects import read_trusted, trust_file


def own_findings() -> Iterator[Finding]:
    """One finding for each file that is there."""
    yield from _own_file()
    yield from _own_rules()
    yield from _trusted_projects()


def _own_file() -> Iterator[Finding]:
    """The person's file of settings, if there is one: a URL in it may hold a password."""
    path = user_file()
    if not path.is_file():
        return
    if path.stat().st_mode & 0o077:
        to_do = f"chmod 600 {path}: a URL in it may hold a password"
        yield Finding("user settings", Level.WARNING, f"{path} can be read by others", to_do)
        return
    yield Finding("user settings", Level.OK, f"{path}, private")


def _own_rules() -> Iterator[Finding]:
    """The person's file of rules, if there is one."""
    path = rules_file()
    try:
        count = len(read_own_rules(path))
    except SettingsError as error:
        to_do = "correct the file or move it away: until then it allows nothing, and no worker begins"
        yield Finding("user rules", Level.PROBLEM, str(error), to_do)
        return
    if count:
        yield Finding("user rules", Level.OK, f"{path}, {count} rule{'s' * (count > 1)}")


def _trusted_projects() -> Iterator[Finding]:
    """The projects that the person trusts, if there are any."""
    path = trust_file()
    try:
        standings = [standing_of(one.directory, path) for one in read_trusted(path)]
    except SettingsError as error:
        to_do = "correct the file or move it away: until then no worker begins"
        yield Finding("trusted projects", Level.PROBLEM, str(error), to_do)
        return
    changed = [one.directory for one in standings if one.trust is Trust.CHANGED]
    if changed:
        to_do = "look at their neuraphage.toml, then `neuraphage trust DIR`; until then what you trusted holds"
        yield Finding("trusted projects", Level.WARNING, f"changed since: {', '.join(changed)}", to_do)
    elif standings:
        yield Finding("trusted projects", Level.OK, f"{path}, {len(standings)}")

"""Changes of a person's own rules: each replaces their file as a whole, one writer at a time.

What a person has written into it by hand stays, comments included.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput, SettingsError
from neuraphage.model.rule import Rule, RuleSource
from neuraphage.own_files import quoted, write, writing
from neuraphage.own_rules import HEADER, MOST_RULES, OwnRule, read_own_rules
from neuraphage.setting_sources import read_file

_BEGINNING = "# Rules of yours about calls of tools: `neuraphage rules add`, `rules remove`. See docs/rules.md.\n"
_SEE_LIST = "`neuraphage rules list` shows them"


def add_rule(path: Path, rule: Rule, directory: str | None = None) -> bool:
    """Add a rule to a file.

    Returns:
        Whether it was not there yet.

    Raises:
        BadInput: it has as many rules as it may, or this one cannot be written.
        SettingsError: the file cannot be read or written.
    """
    added = OwnRule(rule.model_copy(update={"source": RuleSource.USER}), directory)
    if not f"{rule}{directory or ''}".isprintable():
        raise BadInput(f"{str(rule)!r}: a rule has only characters that can be seen")
    with writing(path):
        known = read_own_rules(path)
        if added in known:
            return False
        if len(known) >= MOST_RULES:
            raise BadInput(f"{path} has {len(known)} rules, the most there may be; remove some first")
        before = read_file(path) or _BEGINNING
        row = f"{HEADER}\nrule = {quoted(str(rule))}\n"
        row += "" if directory is None else f"dir = {quoted(directory)}\n"
        write(path, f"{before.rstrip()}\n\n{row}")
    return True


def remove_rule(path: Path, wanted: str) -> OwnRule:
    """Remove a rule from a file.

    Args:
        path: of the file.
        wanted: its number, counted from 1, or its text.

    Raises:
        BadInput: there is no such rule, or there are several.
        SettingsError: the file cannot be read or written.
    """
    with writing(path):
        known = read_own_rules(path)
        number = _number_of(known, wanted, path)
        lines = read_file(path).split("\n")
        starts = [at for at, line in enumerate(lines) if line.strip() == HEADER]
        if len(starts) != len(known):
            raise SettingsError(
                f"{path}: its rules are no tables {HEADER}, each on a line of its own; remove it by hand"
            )
        end = next(
            (at for at in range(starts[number] + 1, len(lines)) if lines[at].lstrip()[:1] in ("[", "#")), len(lines)
        )
        write(path, "\n".join([*lines[: starts[number]], *lines[end:]]))
    return known[number]


def _number_of(known: Sequence[OwnRule], wanted: str, path: Path) -> int:
    """The place of the rule that a person means, counted from 0."""
    if wanted.strip().isdecimal():
        if not 1 <= int(wanted) <= len(known):
            raise BadInput(f"{path} has {len(known)} rules, and none is number {wanted}; {_SEE_LIST}")
        return int(wanted) - 1
    meant = read_rule(wanted, RuleSource.USER)
    found = [number for number, one in enumerate(known) if one.rule == meant]
    if len(found) != 1:
        what = "holds in several directories; name it by its number" if found else "is none of your rules"
        raise BadInput(f"`{meant}` {what}; {_SEE_LIST}")
    return found[0]

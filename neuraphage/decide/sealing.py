"""What a person's yes holds for: one digest of a call, its files as they were, and the rules in force. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.decide.files_seen import SeenFile
from neuraphage.decide.hashing import sha256_hex
from neuraphage.model.rule import Rule, RuleEffect
from neuraphage.model.tool import FileSight, ToolDeclaration


def rules_version(rules: Iterable[Rule]) -> str:
    """Version of the rules that forbid or ask, in whatever order they stand.

    Rules that allow are no part of it: none of them made a call that a person was asked about run, so neither a new one
    nor one that is gone takes anything from an answer.
    """
    return sha256_hex(sorted({str(rule) for rule in rules if rule.effect is not RuleEffect.ALLOW}))


def seal(tool: ToolDeclaration, params: Mapping[str, Any], files: Sequence[FileSight], rules: Iterable[Rule]) -> str:
    """The digest that an approval is bound to.

    Args:
        tool: what is called.
        params: its parameters.
        files: those that the call names: where they really are, and for one that it changes the hash of its bytes.
        rules: all that are in force for the task.
    """
    named = [[file.path, file.sha256] for file in files]
    confinement = [tool.sandbox] if tool.sandbox else []
    return sha256_hex([tool.name, tool.version, dict(params), named, rules_version(rules), *confinement])


def as_asked(now: FileSight, approved: FileSight | None, seen: Mapping[str, SeenFile]) -> FileSight:
    """A file as it counts for an approval: what the task's own approved calls have made of it since counts as it was.

    Args:
        now: the file as it is.
        approved: the file as it was when the person was asked; None when nobody was.
        seen: files that the conversation knows, by path.
    """
    if approved is None or approved.path != now.path or now.sha256 == approved.sha256:
        return now
    known = seen.get(now.path)
    is_own = known is not None and known.sha256 == now.sha256 and approved.sha256 in known.earlier
    return now.model_copy(update={"sha256": approved.sha256}) if is_own else now

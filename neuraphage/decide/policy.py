"""Whether a tool call may run: default deny for side effects, and a few commands that never may."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from neuraphage.decide.rules.judging import CalledTool, judge
from neuraphage.decide.rules.reading import EVERY_TOOL, HOST, read_rule
from neuraphage.decide.shell.catastrophe import is_catastrophe
from neuraphage.errors import BadInput
from neuraphage.model.effect import Permission
from neuraphage.model.rule import Rule, RuleEffect, RuleSource

TIMEOUT = "timeout"
"""Who gave an answer that nobody gave in time."""
MOST_TOLD = 5
"""Rules that allow, as the model is told of them."""
_BUILT_IN = Rule(effect=RuleEffect.DENY, tool=EVERY_TOOL, source=RuleSource.BUILT_IN)
NEVER_RUNS = _BUILT_IN.model_copy(update={"pattern": "commands that destroy"})
ONLY_TELLS = _BUILT_IN.model_copy(update={"effect": RuleEffect.ALLOW, "pattern": "commands that only tell"})


class Ruling(StrEnum):
    """What policy says of one call."""

    ALLOWED = "allowed"
    DENIED = "denied"
    """A person said no, or a rule does."""
    BLOCKED = "blocked"
    """It would destroy the machine; nobody is asked."""
    ASK = "ask"


_ROOTS = r"(?:/|/\*|~|~/|~/\*|\$HOME|\$\{HOME\}|\"\$HOME\")"
_FLAGS = r"(?:\s+-[\w-]+){0,32}"
_END = r"[^\S\n]*(?:$|[\n;&|)<>]|\d>)"
_DISK = r"/dev/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)"
_CATASTROPHIC = (
    re.compile(r"\bmkfs(?:\.\w+)?\s"),
    re.compile(rf">\s*{_DISK}"),
    re.compile(r":\s*\(\s*\)\s*\{\s*:\s*\|\s*:\s*&\s*\}\s*;\s*:"),
    re.compile(rf"\bchmod\s+(?:-\w+\s+){{0,32}}-R\s+\S+\s+{_ROOTS}{_END}"),
)
"""Exact forms that wipe a root, a home or a disk. Other recursive deletes are asked about like any command.

A command may be as long as an entry, and a search holds up every thread of its process: all of it is linear.
"""
# flags may stand before and after the path, as rm itself takes them
_REMOVES_ROOT = re.compile(rf"\brm(?={_FLAGS}\s+{_ROOTS}{_FLAGS}{_END})")
_STOP = re.compile(r"[\n;&|]")
_RECURSIVE = re.compile(r"\s(?:-(?=[a-zA-Z]*[rR])[a-zA-Z]+|--recursive)\b")
_COPIES = re.compile(r"\bdd\b")
_TO_DISK = re.compile(rf"\bof={_DISK}")


def looks_catastrophic(command: str) -> bool:
    """Whether the text of a command that cannot be read has one of the forms that never run (shell/catastrophe.py)."""
    simple = any(pattern.search(command) for pattern in _CATASTROPHIC)
    return simple or _removes_root(command) or _copies_to_disk(command)


def _removes_root(command: str) -> bool:
    """Whether a root is named to an `rm` that is told to go down, somewhere in the same simple command."""
    done = 0
    for match in _REMOVES_ROOT.finditer(command):
        if match.end() < done:  # the command before, which was looked through from an earlier word
            continue
        stop = _STOP.search(command, match.end())
        done = stop.start() if stop else len(command)
        if _RECURSIVE.search(command, match.end(), done):
            return True
    return False


def _copies_to_disk(command: str) -> bool:
    for part in re.split(r"[;&|]", command):
        copies = _COPIES.search(part)
        if copies and _TO_DISK.search(part, copies.end()):
            return True
    return False


@dataclass(frozen=True, slots=True)
class Ruled:
    """What policy says of one call, and by what.

    Args:
        ruling: what it says.
        rules: those that say so, if any do; what was remembered of a person's answers is among them.
        reasons: why a person is asked, in words for people.
    """

    ruling: Ruling
    rules: tuple[Rule, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def rule(self) -> Rule | None:
        """The first of the rules."""
        return self.rules[0] if self.rules else None


def ruled(called: CalledTool, rules: Sequence[Rule], grants: Mapping[str, str], decided: Permission | None) -> Ruled:
    """Decide one call.

    A person's word about this very call beats every rule but one that denies. What cannot be read, or may be what a
    rule asks about, is allowed by nothing else.

    Args:
        called: the call.
        rules: those of the settings and of the task.
        grants: remembered answers (always, never) by tool, or by tool and pattern.
        decided: what a person said about this very call.
    """
    tool = called.tool
    command = tool.command_of(called.params)
    if command is not None and (
        is_catastrophe(called.line) if called.line is not None else looks_catastrophic(command)
    ):
        return Ruled(Ruling.BLOCKED, (NEVER_RUNS,))
    judged = judge(called, [*rules, *remembered_patterns(grants)])
    if judged.effect is RuleEffect.DENY:
        return Ruled(Ruling.DENIED, judged.rules)
    if decided is not None:
        return Ruled(Ruling.ALLOWED if decided is Permission.GRANTED else Ruling.DENIED)
    said = grants.get(tool.name)
    if said == Permission.DENIED.value:
        return Ruled(Ruling.DENIED, (remembered(RuleEffect.DENY, tool.name),))
    is_unread = command is not None and called.line is None
    if is_unread or judged.effect is RuleEffect.ASK:
        asks = tool.side_effecting or judged.effect is RuleEffect.ASK
        return Ruled(Ruling.ASK if asks else Ruling.ALLOWED, judged.rules, judged.reasons)
    if judged.effect is RuleEffect.ALLOW:
        return Ruled(Ruling.ALLOWED, judged.rules or (ONLY_TELLS,))
    if not tool.side_effecting:
        return Ruled(Ruling.ALLOWED)
    if said == Permission.GRANTED.value:
        return Ruled(Ruling.ALLOWED, (remembered(RuleEffect.ALLOW, tool.name),))
    return Ruled(Ruling.ASK, reasons=judged.reasons)


def remembered(effect: RuleEffect, tool: str) -> Rule:
    """What `always` or `never` of a person comes to."""
    return Rule(effect=effect, tool=tool, source=RuleSource.ANSWER)


def remembered_patterns(grants: Mapping[str, str]) -> Iterator[Rule]:
    """What `always: PATTERN` of a person comes to; what is no rule allows nothing."""
    for subject, said in grants.items():
        if ":" in subject and said == Permission.GRANTED.value:
            with suppress(BadInput):
                yield read_rule(f"allow {subject}", RuleSource.ANSWER)


def why_denied(
    name: str,
    by: str | None,
    timeout_s: float | None,
    rule: Rule | None = None,
    words: str = "",
    rules: Sequence[Rule] = (),
) -> str:
    """What the model is told of a call that was not allowed.

    Args:
        name: of the tool.
        by: who decided about this very call.
        timeout_s: how long an answer was waited for.
        rule: what denied it, where no person was asked.
        words: of the person who denied it.
        rules: all that are in force: what they allow of the tool is told.
    """
    if rule is not None and rule.source is RuleSource.ANSWER:
        return f"A person has said before that {name} may never run in this task. This call was not run."
    if rule is not None and rule.tool == HOST:
        setting = " (blocked_hosts or rules)" if rule.source is RuleSource.SETTINGS else ""
        return (
            f"This {name} call names a host of `{rule.pattern}`, which no command may reach: the rule `{rule}` of"
            f" {rule.source.owner}{setting} forbids it. It was not run, and no person is asked. Do what can be done"
            " without this host."
        )
    if rule is not None:
        return (
            f"The rule `{rule}` of {rule.source.owner} forbids this {name} call. It was not run, and no person is"
            f" asked. Do what can be done without it.{_instead(name, rule, rules)}"
        )
    if by == TIMEOUT:
        waited = f" within {timeout_s:g} s" if timeout_s is not None else " in time"
        return (
            f"Nobody answered{waited} whether this {name} call may run, so it was not run. No person has refused it:"
            " most likely none was there. Do what can be done without it, or ask later."
        )
    said = f" They say: {words}" if words else ""
    return f"A person did not allow this {name} call. It was not run. Do not try it again unchanged.{said}"


def _instead(name: str, denied_by: Rule, rules: Sequence[Rule]) -> str:
    """What of a tool would run, where rules say so; else that a rule about some calls says nothing of others."""
    allowed = [rule for rule in rules if rule.effect is RuleEffect.ALLOW and rule.tool == name and rule.pattern]
    if allowed:
        return f" Rules allow {', '.join(f'`{rule.subject}`' for rule in allowed[:MOST_TOLD])}."
    return f" Other {name} calls are judged by themselves." if denied_by.pattern is not None else ""

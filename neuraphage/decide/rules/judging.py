"""What comes of a call by the rules: deny beats ask, ask beats allow. Pure.

A line is allowed by patterns only where every command that it runs is one of them, and every file that it writes; it is
denied where one command may be. What only the shell can tell is allowed by no pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from neuraphage.decide.rules.matching import fits_as_written, fits_certainly, fits_path, fits_possibly
from neuraphage.decide.rules.named_hosts import hosts_in_text, is_one_of, named_hosts
from neuraphage.decide.rules.protected import is_protected, is_secret, protected_in_line
from neuraphage.decide.rules.reading import EVERY_TOOL, HOST
from neuraphage.decide.shell.line_takers import SHELLS
from neuraphage.model.rule import SANDBOXED, Rule, RuleEffect
from neuraphage.model.shell import Redirect, ShellLine, SimpleCommand
from neuraphage.model.tool import ToolDeclaration

_HARMLESS = frozenset({"true", "false", ":", "echo", "printf", "pwd", "test", "["})
"""Commands that do nothing but tell; what they write is a redirect."""
_PASSES_ON = frozenset({"builtin", "command", "ionice", "nice", "nohup", "setsid", "stdbuf", "timeout"})
"""Programs that run another one and add nothing to it."""
_NO_FILES = frozenset({"/dev/null", "/dev/stdout", "/dev/stderr", "-"})


@dataclass(frozen=True, slots=True)
class CalledTool:
    """A call, as rules look at it.

    Args:
        tool: what is called.
        params: its parameters.
        line: what its command line runs; None without one, or where it cannot be read.
        working_dir: of the task.
        writers: names of the tools that write files: their rules are about what a line writes as well.
    """

    tool: ToolDeclaration
    params: Mapping[str, Any]
    line: ShellLine | None = None
    working_dir: str | None = None
    writers: frozenset[str] = frozenset()

    @property
    def has_line(self) -> bool:
        """Whether it has a command line, read or not."""
        return self.tool.command_of(self.params) is not None

    @property
    def paths(self) -> list[str]:
        """Paths that it names."""
        traits = self.tool.traits
        found = (self.params.get(name) for name in (*traits.reads, *traits.writes))
        return [path for path in found if isinstance(path, str)]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the rules say.

    Args:
        effect: what comes of the call; None where no rule says anything.
        rules: those that say so: one that forbids or asks, all by which a call is allowed; none where that is no matter
            of rules, as of a line that only tells.
        reasons: why a person is asked, in words for people: what no rule allows, or what is protected.
    """

    effect: RuleEffect | None = None
    rules: tuple[Rule, ...] = ()
    reasons: tuple[str, ...] = ()


def judge(called: CalledTool, rules: Sequence[Rule]) -> Judgement:
    """Name what comes of a call.

    Args:
        called: the call.
        rules: of all sources.
    """
    about = [rule for rule in rules if rule.tool in (called.tool.name, EVERY_TOOL)]
    restricting = [rule for rule in about if rule.effect is not RuleEffect.ALLOW]
    denying = next((rule for rule in restricting if rule.effect is RuleEffect.DENY and _touches(rule, called)), None)
    denying = denying or _naming_denied_host(called, [rule for rule in rules if rule.tool == HOST])
    if denying is not None:
        return Judgement(RuleEffect.DENY, (denying,))
    asking = next((rule for rule in restricting if _touches(rule, called, fits_possibly)), None)
    if asking is not None:
        return Judgement(RuleEffect.ASK, (asking,))
    protected = tuple(dict.fromkeys(_protected(called)))
    if protected:
        return Judgement(RuleEffect.ASK, reasons=protected)
    line = called.line
    if line is not None and line.unclear and restricting:  # it may run what a rule is about
        return Judgement(RuleEffect.ASK, reasons=line.unclear)
    allowing = [rule for rule in about if rule.effect is RuleEffect.ALLOW]
    whole = next((rule for rule in allowing if rule.pattern is None), None)
    if whole is not None:
        return Judgement(RuleEffect.ALLOW, (whole,))
    of_sandbox = next((rule for rule in allowing if rule.pattern == SANDBOXED), None)
    if of_sandbox is not None and called.tool.confined and line is not None:
        return Judgement(RuleEffect.ALLOW, (of_sandbox,))
    patterns = [rule for rule in allowing if rule.pattern not in (None, SANDBOXED)]
    if not patterns:
        return Judgement()
    if called.has_line:
        return _line_allowed(called, patterns, rules)
    found = [_path_allowed(path, called, patterns) for path in called.paths]
    if found and all(found):
        return Judgement(RuleEffect.ALLOW, tuple(dict.fromkeys(rule for rule in found if rule is not None)))
    missing = [path for path, rule in zip(called.paths, found, strict=True) if rule is None]
    return Judgement(reasons=tuple(f"no rule allows {path}" for path in missing))


def outside_rule(called: CalledTool, rules: Sequence[Rule]) -> Rule | None:
    """The rule by which a line runs outside of the sandbox; None where any of its commands could be another one.

    A line of several commands runs outside only if each of them may: nothing of it is confined then.
    """
    outside = [
        rule for rule in rules if rule.effect is RuleEffect.OUTSIDE and rule.tool in (called.tool.name, EVERY_TOOL)
    ]
    line = called.line
    if not outside or line is None:
        return None
    judged = _line_allowed(called, outside, ())
    return judged.rules[0] if judged.effect is RuleEffect.ALLOW and judged.rules else None


def _protected(called: CalledTool) -> Iterator[str]:
    """What a call does to files that are asked about whatever is allowed."""
    traits, folder = called.tool.traits, called.working_dir
    for names, is_asked, word in ((traits.reads, is_secret, "reads"), (traits.writes, is_protected, "changes")):
        for name in names:
            path = called.params.get(name)
            if isinstance(path, str) and is_asked(path, folder):
                yield f"it {word} {path}, which is protected"
    if called.line is not None:
        yield from protected_in_line(called.line, folder)


def _naming_denied_host(called: CalledTool, rules: Sequence[Rule]) -> Rule | None:
    """The rule about a host that no command may reach, and that this one names in its words; unread, in its text."""
    text = called.tool.command_of(called.params)
    if text is None or not rules:
        return None
    if called.line is None:
        named = hosts_in_text(text)
    else:
        telling = (one for one in called.line.commands if not is_harmless(one))
        named = named_hosts(telling, called.line.redirects)
    denying = (rule for rule in rules if rule.effect is RuleEffect.DENY and rule.pattern is not None)
    return next((rule for rule in denying if any(is_one_of(one, rule.pattern or "") for one in named)), None)


def _touches(rule: Rule, called: CalledTool, fits: Callable[[str, SimpleCommand], bool] = fits_as_written) -> bool:
    """Whether a rule that forbids or asks is about a call; of a call without a line and without paths it is."""
    if rule.pattern is None:
        return True
    if called.has_line:
        return called.line is not None and any(fits(rule.pattern, one) for one in called.line.commands)
    return not called.paths or any(fits_path(rule.pattern, path, called.working_dir) for path in called.paths)


def _path_allowed(path: str, called: CalledTool, patterns: Iterable[Rule]) -> Rule | None:
    return next((rule for rule in patterns if fits_path(rule.pattern or "", path, called.working_dir)), None)


def _line_allowed(called: CalledTool, patterns: Sequence[Rule], rules: Sequence[Rule]) -> Judgement:
    line = called.line
    if line is None:
        return Judgement(reasons=("the line cannot be read",))
    missing = list(line.unclear) + [f"it sets {name}" for name in line.assigned]
    used: list[Rule] = []
    for command in line.commands:
        rule = next((rule for rule in patterns if fits_certainly(rule.pattern or "", command)), None)
        if rule is not None:
            used.append(rule)
        elif not is_harmless(command) and not _is_read_through(command, line):
            missing.append(f"no rule allows {' '.join(word.source for word in command.words)}")
    writing = [
        rule for rule in rules
        if rule.effect is RuleEffect.ALLOW and rule.pattern is not None and rule.tool in called.writers
    ]  # fmt: skip
    for one in line.redirects:
        if one.writes and not _may_write(one, called, writing):
            missing.append(f"no rule allows {one.operator} {one.target.source}")
    if missing:
        return Judgement(reasons=tuple(missing))
    return Judgement(RuleEffect.ALLOW, tuple(dict.fromkeys(used)))


def _may_write(redirect: Redirect, called: CalledTool, writing: Sequence[Rule]) -> bool:
    target = redirect.target.text
    if target is None or redirect.target.is_pattern:
        return False
    if target in _NO_FILES or (redirect.operator == ">&" and target.isdecimal()):
        return True
    moves = called.line is not None and any(one.name in ("cd", "pushd") for one in called.line.commands)
    return _path_allowed(target, called, writing) is not None and (target.startswith("/") or not moves)


def _is_read_through(command: SimpleCommand, line: ShellLine) -> bool:
    """Whether a command is a shell whose own line was read: then that one's commands are judged."""
    name = command.words[0].text
    return name in SHELLS and any(one.within == (*command.within, name) for one in line.commands)


def is_harmless(command: SimpleCommand) -> bool:
    """Whether a command is no matter of rules; what it runs in its turn is judged by itself."""
    name = command.words[0].text
    if name == "printf" and (len(command.words) < 2 or (command.words[1].text or "-").startswith("-")):
        return False  # it may set a variable
    if name in _HARMLESS or name in _PASSES_ON:
        return True
    if name != "cd" or len(command.words) != 2:
        return False
    target = command.words[1].text
    return target is not None and not target.startswith(("/", "~", "-", "\0")) and ".." not in target.split("/")

"""How rules are written: `deny run_command: git push *`, `allow write_file: docs/**`, `ask edit`. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache

from neuraphage.decide.allowed_hosts import is_inner, read_allowed_host, read_denied_host
from neuraphage.errors import BadInput
from neuraphage.model.rule import SANDBOXED, Rule, RuleEffect, RuleSource

MOST_CHARS = 1_000
FORM = "write `deny run_command: git push *`, `ask edit` or `allow write_file: docs/**`"
EVERY_TOOL = "*"
HOST = "host"
"""In the place of a tool: the rule is about a host that commands in the sandbox reach. No tool has this name."""


def read_rule(text: str, source: RuleSource = RuleSource.SETTINGS) -> Rule:
    """Read a rule.

    Args:
        text: effect, tool and pattern.
        source: who has made it.

    Raises:
        BadInput: it is none.
    """
    word, _, subject = text.strip().partition(" ")
    try:
        effect = RuleEffect(word.lower())
    except ValueError:
        effects = ", ".join(effect.value for effect in RuleEffect)
        raise BadInput(f"{text[:MOST_CHARS]!r} begins with none of {effects}; {FORM}") from None
    return _about(effect, subject, source, text)


@lru_cache(maxsize=256)
def read_allowed(text: str) -> Rule:
    """What a task was submitted with: a tool, or a tool with a pattern.

    Raises:
        BadInput: it is neither.
    """
    return _about(RuleEffect.ALLOW, text, RuleSource.TASK, text)


def rules_in(texts: Iterable[str], *, allow_sandboxed: bool, blocked_hosts: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules of the settings.

    Args:
        texts: of the setting `rules`.
        allow_sandboxed: the setting `auto_allow_sandboxed`.
        blocked_hosts: the setting of that name.

    Raises:
        BadInput: one is none.
    """
    automatic = Rule(effect=RuleEffect.ALLOW, tool=EVERY_TOOL, pattern=SANDBOXED)
    blocked = (Rule(effect=RuleEffect.DENY, tool=HOST, pattern=host) for host in blocked_hosts)
    return (*map(read_rule, texts), *((automatic,) if allow_sandboxed else ()), *blocked)


def rules_of(allow: Iterable[str]) -> Iterator[Rule]:
    """The rules of what a task was submitted with. What is none, as an earlier release took it, allows nothing."""
    for text in allow:
        with suppress(BadInput):
            yield read_allowed(text)


def _about(effect: RuleEffect, subject: str, source: RuleSource, text: str) -> Rule:
    tool, colon, pattern = (part.strip() for part in subject.partition(":"))
    if len(text) > MOST_CHARS:
        raise BadInput(f"a rule is {len(text)} characters long, {MOST_CHARS} are the most: {text[:40]!r}...")
    if not tool or len(tool.split()) > 1:
        raise BadInput(f"{text!r} names no tool; {FORM}")
    if effect is RuleEffect.OUTSIDE and not pattern:
        raise BadInput(f'{text!r} names no command: write `outside run_command: docker *`; sandbox = "off" is for all')
    if colon and not pattern:
        raise BadInput(f"{text!r} has no pattern behind its colon; leave the colon out for every call of {tool}")
    if tool == HOST:
        _refuse_odd_host(effect, pattern, text)
    return Rule(effect=effect, tool=tool, pattern=pattern or None, source=source)


def _refuse_odd_host(effect: RuleEffect, pattern: str, text: str) -> None:
    """A rule about a host names one of the public internet: what answers allow must lead to no inner network."""
    if effect not in (RuleEffect.ALLOW, RuleEffect.DENY):
        raise BadInput(f"{text!r}: hosts are allowed or denied; write `allow host: pypi.org` or `deny host: pypi.org`")
    if effect is RuleEffect.DENY:
        read_denied_host(pattern)
    elif is_inner(read_allowed_host(pattern).host):
        raise BadInput(f"{text!r} is about this machine or its network; list it in the setting allow_hosts")

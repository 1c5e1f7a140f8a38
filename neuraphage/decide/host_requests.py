"""Which hosts rules let the commands of a task reach, and which a person is asked about. Pure.

A rule about a host is written as one about a tool that there is not: `allow host: pypi.org`, `deny host: *.a.org`. So
an answer is remembered, and made a rule of the person, as one about a call is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from neuraphage.decide.allowed_hosts import is_allowed, read_allowed_host, read_authority, read_denied_host
from neuraphage.decide.answers import MOST_REMEMBERED
from neuraphage.decide.policy import remembered_patterns
from neuraphage.decide.rules.reading import HOST
from neuraphage.model.effect import ToolEffect
from neuraphage.model.prompt import Prompt
from neuraphage.model.rule import Rule, RuleEffect
from neuraphage.model.sandbox import HostReach
from neuraphage.model.tool import ToolDeclaration

MOST_ASKED = 5
"""Hosts of one command that a person is asked about; it is told of the others."""


def subject(place: str) -> str:
    """What is asked about a host, as rules and remembered answers name it.

    Args:
        place: host and port, as `pypi.org:443`.
    """
    return f"{HOST}: {place}"


def host_asked(prompt: Prompt) -> str | None:
    """The host and port that a prompt is about; None for any other prompt."""
    tool, colon, place = (prompt.tool or "").partition(": ")
    return place if tool == HOST and colon else None


def reach_by(rules: Iterable[Rule], grants: Mapping[str, str]) -> HostReach:
    """What rules and remembered answers say of hosts.

    Args:
        rules: those of the settings, of the person and of the task.
        grants: remembered answers.
    """
    about = [rule for rule in (*rules, *remembered_patterns(grants)) if rule.tool == HOST and rule.pattern]
    allowed, denied = (
        tuple(sorted({rule.pattern or "" for rule in about if rule.effect is effect}))
        for effect in (RuleEffect.ALLOW, RuleEffect.DENY)
    )
    return HostReach(allowed, denied)


def with_reach(tool: ToolDeclaration, reach: HostReach) -> ToolDeclaration:
    """A tool as its command lines are confined in one task: what they may reach is a part of it."""
    if not tool.has_way_out or not (reach.allowed or reach.denied):
        return tool
    more = (*reach.allowed, *(f"not {entry}" for entry in reach.denied))
    return tool.model_copy(
        update={"sandbox": " ".join((tool.sandbox, *more)), "confined": tool.confined and not reach.allowed}
    )


def hosts_to_ask(effect: ToolEffect, reach: HostReach, grants: Mapping[str, str]) -> tuple[str, ...]:
    """Hosts that a call was refused, and that nobody has decided about in this task.

    Args:
        effect: of the call.
        reach: what rules say of hosts.
        grants: remembered answers; none is asked for that could not be remembered.
    """
    room = max(0, MOST_REMEMBERED - len(grants))
    open_ones = [place for place in effect.refused if not _is_decided(place, reach, grants)]
    return tuple(open_ones[: min(MOST_ASKED, room)])


def _is_decided(place: str, reach: HostReach, grants: Container[str]) -> bool:
    found = read_authority(place, None)
    if found is None or found[1] is None or subject(place) in grants:
        return True  # what names no host cannot be allowed
    known = (*map(read_allowed_host, reach.allowed), *map(read_denied_host, reach.denied))
    return is_allowed(known, found[0], found[1])


def host_told(place: str, *, is_allowed_now: bool, nobody_answered: bool) -> str:
    """What the model is told of an answer about a host."""
    if is_allowed_now:
        return f"[A person allows commands of this task to reach {place}. Run the command again if that is needed.]"
    if nobody_answered:
        return (
            f"[Nobody answered in time whether commands of this task may reach {place}, so they may not, for the rest"
            " of the task. Do what can be done without it.]"
        )
    return (
        f"[A person does not allow commands of this task to reach {place}. Do what can be done without it, and do not"
        " try it by another way.]"
    )

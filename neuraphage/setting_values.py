"""Kinds of values that settings have: what is accepted, and the forms in which a variable may write it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from neuraphage.decide.allowed_hosts import read_allowed_host, read_denied_host
from neuraphage.decide.loopback import check_loopback_url
from neuraphage.decide.own_prices import read_label_limit, read_price
from neuraphage.decide.rules.reading import read_rule
from neuraphage.errors import BadInput

MAX_S = 100 * 365 * 86_400.0
"""A century: "for ever" in seconds. Servers, timers and sockets refuse much longer times, in the midst of a step."""
MAX_AMOUNT = 10**15
"""Numbers up to this are exact in the server's scripts."""
Seconds = Annotated[float, Field(ge=0.001, le=MAX_S)]
"""A time; the server counts in whole milliseconds."""
SocketSeconds = Annotated[float, Field(ge=0.001, le=7 * 86_400.0)]
"""A time that a socket waits; it takes no more than 24 days."""
PerMinute = Annotated[int, Field(ge=1, le=10_000)] | Literal["none"]
"""How many within a minute; "none" for no limit."""
CostOrNone = Annotated[int, Field(ge=0, le=MAX_AMOUNT)] | Literal["none"]
"""Micro-dollars; "none" for no limit."""
_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TOOL_REFERENCE = re.compile(f"{_DOTTED}:{_DOTTED}")
_TOOL_REFERENCE_CHARS = 500


class RecoveryPolicy(StrEnum):
    """What happens to an orphan."""

    AUTO = "auto"
    """It goes on from its marker."""
    CONFIRM = "confirm"
    """Paused until a person resumes it."""
    OFF = "off"
    """As confirm, and the watcher does not look for dead processes."""


def _words(value: Any) -> Any:
    """A variable holds a list as one text, with commas or blanks between."""
    return tuple(re.split(r"[\s,]+", value.strip())) if isinstance(value, str) and value.strip() else value


def _references(value: tuple[str, ...]) -> tuple[str, ...]:
    for one in value:
        if len(one) > _TOOL_REFERENCE_CHARS or not _TOOL_REFERENCE.fullmatch(one):
            raise ValueError(f"{one[:_TOOL_REFERENCE_CHARS]!r}: write package.module:object")
    return value


ToolReferences = Annotated[tuple[str, ...], Field(max_length=100), BeforeValidator(_words), AfterValidator(_references)]
"""Objects of packages, each as package.module:object."""


def _lines(value: Any) -> Any:
    """A variable holds rules as one text, each on a line of its own or behind a semicolon."""
    parts = re.split(r"[;\n]", value) if isinstance(value, str) else ()
    return tuple(part.strip() for part in parts if part.strip()) if isinstance(value, str) else value


def _readable_by(read: Callable[[str], object]) -> AfterValidator:
    def check(value: tuple[str, ...]) -> tuple[str, ...]:
        for one in value:
            try:
                read(one)
            except BadInput as error:
                raise ValueError(str(error)) from None
        return value

    return AfterValidator(check)


_MANY = Field(max_length=1_000)
RuleLines = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_rule)]
"""Rules, each as `EFFECT TOOL` or `EFFECT TOOL: PATTERN`."""
AllowedHosts = Annotated[tuple[str, ...], _MANY, BeforeValidator(_words), _readable_by(read_allowed_host)]
"""Hosts, each as `pypi.org`, `*.pythonhosted.org` or `host:port`."""
BlockedHosts = Annotated[tuple[str, ...], _MANY, BeforeValidator(_words), _readable_by(read_denied_host)]
"""Hosts in the same forms; without a port every one is meant."""


Prices = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_price)]
"""Prices of models, each as `MODEL INPUT OUTPUT` or `MODEL INPUT OUTPUT CACHE_WRITE CACHE_READ`."""
LabelLimits = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_label_limit)]
"""Limits of labels, each as `team=web 5000000`."""


def _shell_words(value: Any) -> Any:
    """A variable holds a command as one text, whose words are parted as a shell parts them."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


def _runnable(value: tuple[str, ...]) -> tuple[str, ...]:
    if value and (not value[0].strip() or any("\0" in word for word in value)):
        raise ValueError("write a list of words, of which the first is the program, none with a NUL in it")
    return value


CommandWords = Annotated[
    tuple[str, ...], Field(max_length=100), BeforeValidator(_shell_words), AfterValidator(_runnable)
]
"""A command as words, of which the first is the program; none for nothing."""
LoopbackUrl = Annotated[str, AfterValidator(check_loopback_url)]
"""A http address of this machine."""


def _one_or_word(value: Any) -> Any:
    return 1 if value == "1" else value


OneOrWord = BeforeValidator(_one_or_word)
"""A variable holds the number 1 as a text."""

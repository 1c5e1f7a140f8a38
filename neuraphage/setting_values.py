"""Kinds of values that settings have: what is accepted, and the forms in which a variable may write it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from platformdirs import user_data_path
from pydantic import AfterValidator, BeforeValidator, Field

from neuraphage.decide.admission import read_label_slots
from neuraphage.decide.allowed_hosts import read_allowed_host, read_denied_host
from neuraphage.decide.loopback import check_loopback_url
from neuraphage.decide.model_ids import check_model
from neuraphage.decide.model_limits import read_model_limits
from neuraphage.decide.own_anomalies import read_anomaly_rule
from neuraphage.decide.own_prices import read_label_limit, read_price
from neuraphage.decide.request_extra import check_extra
from neuraphage.decide.rules.reading import read_rule
from neuraphage.decide.shell_hooks import read_shell_hook
from neuraphage.errors import BadInput
from neuraphage.model.model_choice import MAX_FALLBACKS

MAX_S = 100 * 365 * 86_400.0
"""A century: "for ever" in seconds. Servers, timers and sockets refuse much longer times, in the midst of a step."""
STATE_TIMEOUT_S = 5.0
"""Scripts take milliseconds; a frozen server must not hold a heartbeat for longer."""
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


def usual_data_dir() -> Path:
    """Where data is kept unless somebody says otherwise."""
    try:
        return user_data_path("neuraphage")
    except RuntimeError:  # nobody has a home; told by the validator of data_dir
        return Path("~/neuraphage")


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
ShellHookLines = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_shell_hook)]
"""Programs that are hooks, each as `guard PreToolUse 5s: /home/me/check.py`."""
AllowedHosts = Annotated[tuple[str, ...], _MANY, BeforeValidator(_words), _readable_by(read_allowed_host)]
"""Hosts, each as `pypi.org`, `*.pythonhosted.org` or `host:port`."""
BlockedHosts = Annotated[tuple[str, ...], _MANY, BeforeValidator(_words), _readable_by(read_denied_host)]
"""Hosts in the same forms; without a port every one is meant."""


DEFAULT_TIERS: dict[str, tuple[str, ...]] = {
    "cheap": ("claude-haiku-5-5",),
    "worker": ("claude-sonnet-5-5",),
    "expert": ("claude-opus-5-5",),
}
_TIER_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
MOST_TIERS = 32


def _tiers(value: Any) -> Any:
    """A variable holds them as one text: `cheap=claude-haiku-5-5, openai:small; expert=claude-opus-5-5`."""
    if isinstance(value, str):
        rows = [row.partition("=") for row in value.split(";") if row.strip()]
        value = {name.strip(): _words(ids.strip()) for name, _, ids in rows}
    if not isinstance(value, dict):
        return value
    return {**DEFAULT_TIERS, **{name: (ids,) if isinstance(ids, str) else ids for name, ids in value.items()}}


def _checked_tiers(value: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    if len(value) > MOST_TIERS:
        raise ValueError(f"there are {len(value)} tiers; write {MOST_TIERS} at most")
    for name, ids in value.items():
        if not _TIER_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no name of a tier; write small letters, digits, _ and -")
        if not 1 <= len(ids) <= MAX_FALLBACKS + 1:
            raise ValueError(f"tier {name} has {len(ids)} models; write 1 to {MAX_FALLBACKS + 1}")
        for one in ids:
            try:
                check_model(one)
            except BadInput as error:
                raise ValueError(f"tier {name}: {error}") from None
    return value


Tiers = Annotated[Mapping[str, tuple[str, ...]], BeforeValidator(_tiers), AfterValidator(_checked_tiers)]
"""Ids of models by the name of a tier; those that are not named have those of DEFAULT_TIERS."""


def _json_object(value: Any) -> Any:
    try:
        return check_extra(value)
    except BadInput as error:
        raise ValueError(str(error)) from None


RequestExtra = Annotated[dict[str, Any], BeforeValidator(_json_object)]
"""Further fields of a request to the model."""
ModelLimitLines = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_model_limits)]
"""Limits of families of models, each as `claude-sonnet requests=50 input_tokens=30000 output_tokens=8000`."""
AnomalyLines = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_anomaly_rule)]
"""Rules about anomalies, each as `KIND ACTION [LIMIT]`."""
Prices = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_price)]
"""Prices of models, each as `MODEL INPUT OUTPUT [CACHE_WRITE CACHE_READ [HOUR_WRITE]]`."""
LabelLimits = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_label_limit)]
"""Limits of labels, each as `team=web 5000000`."""
LabelSlots = Annotated[tuple[str, ...], _MANY, BeforeValidator(_lines), _readable_by(read_label_slots)]
"""Most tasks of a label at work, each as `repo=web 1` or `repo=* 1`."""


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

"""Limits of calls and tokens within a minute, as settings write them. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from neuraphage.decide.model_family import model_family
from neuraphage.errors import BadInput
from neuraphage.model.capacity import ModelLimits

ALL_FAMILIES = "*"
MOST_PER_MINUTE = 10**10
NO_LIMIT = -1
CHARS_PER_TOKEN = 3
"""Of JSON; fewer than a token has on the average, so that what is taken before a call is seldom too little."""
_FORM = (
    "write FAMILY requests=N input_tokens=N output_tokens=N, as `claude-sonnet requests=50`; `*` for all other families"
)
_PART = re.compile(r"([a-z_]+)=([0-9]{1,11})")


def read_model_limits(line: str) -> tuple[str, ModelLimits]:
    """A family of models and its limits.

    Args:
        line: `claude-sonnet requests=50 input_tokens=30000 output_tokens=8000`.

    Raises:
        BadInput: it is not of that form, or a number is out of its range.
    """
    family, *parts = line.split()
    found: dict[str, int] = {}
    for part in parts:
        read = _PART.fullmatch(part)
        if read is None or read[1] not in ModelLimits.model_fields or read[1] in found:
            raise BadInput(f"{line!r}: {part!r} is no limit; {_FORM}")
        found[read[1]] = int(read[2])
    if not found:
        raise BadInput(f"{line!r} limits nothing; {_FORM}")
    if not all(1 <= number <= MOST_PER_MINUTE for number in found.values()):
        raise BadInput(f"{line!r}: a limit is a number from 1 to {MOST_PER_MINUTE}; {_FORM}")
    if family != ALL_FAMILIES and family != model_family(family):
        raise BadInput(f"{line!r}: {family} is a model of the family {model_family(family)}, which shares its limits")
    return family, ModelLimits(**found)


def limits_of(lines: Iterable[str], model: str) -> ModelLimits | None:
    """The limits of a model; None where none are set.

    Args:
        lines: of the settings; of several for one family the last one holds.
        model: its id.
    """
    by_family = dict(read_model_limits(line) for line in lines)
    return by_family.get(model_family(model), by_family.get(ALL_FAMILIES))


def in_window(most: int | None, window_s: float) -> int:
    """What a limit within a minute allows within a window; NO_LIMIT for None."""
    return NO_LIMIT if most is None else math.floor(most * window_s / 60 + 1e-9)


def estimated_tokens(chars: int) -> int:
    """Tokens that a text may have; rather too many."""
    return -(-chars // CHARS_PER_TOKEN)

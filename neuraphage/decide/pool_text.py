"""Pools of money in words: what is left of one, and how a person makes room."""

from __future__ import annotations

from neuraphage.decide.limits import dollars
from neuraphage.model.money import Pool, Shortage

_FIRST_MICROUSD = 1_000_000
"""What a pool of nothing is raised to."""


def pool_text(shortage: Shortage) -> str:
    """A sentence about a pool: its name, what is used and reserved of it, and its limit."""
    used, reserved = dollars(shortage.used_microusd), dollars(shortage.reserved_microusd)
    of = f"of ${dollars(shortage.limit_microusd)}, ${used} is used and ${reserved} is reserved by calls under way"
    state = "is used up" if shortage.is_exhausted else "has no room for its next call"
    return f"{pool_name(shortage.pool)} {state}: {of}."


def paused_text(shortage: Shortage, ago: str) -> str:
    """Why a task is paused; `ago`: since when, with a blank before it."""
    day = " The pool of the next day (UTC) is a new one." if shortage.pool == Pool.DAY else ""
    return f"{pool_text(shortage)} So it was when it was paused{ago}.{day}"


def pool_name(name: str) -> str:
    """What a pool is called at the beginning of a sentence."""
    return "The pool of the day" if name == Pool.DAY else f"The pool of the label {name}"


def raising_pool(shortage: Shortage) -> str:
    """The command that raises a pool far enough."""
    doubled = max(2 * shortage.limit_microusd, 2 * shortage.used_microusd, _FIRST_MICROUSD)
    return f"`neuraphage pools {shortage.pool} --max-cost {dollars(doubled)}`"

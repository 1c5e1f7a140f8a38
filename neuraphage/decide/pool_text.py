"""Why a task is paused, in words; and pools of money: what is left of one, and how a person makes room."""

from __future__ import annotations

from neuraphage.decide.anomaly_text import told_to_people
from neuraphage.decide.duration import duration
from neuraphage.decide.limits import dollars
from neuraphage.model.money import FAMILY, Pool, Shortage
from neuraphage.model.task import PausedDetail

_FIRST_MICROUSD = 1_000_000
"""What a pool of nothing is raised to."""


def pool_text(shortage: Shortage) -> str:
    """A sentence about a pool: its name, what is used and reserved of it, and its limit."""
    used, reserved = dollars(shortage.used_microusd), dollars(shortage.reserved_microusd)
    of = f"of ${dollars(shortage.limit_microusd)}, ${used} is used and ${reserved} is reserved by calls under way"
    state = "is used up" if shortage.is_exhausted else "has no room for its next call"
    return f"{pool_name(shortage.pool)} {state}: {of}."


def why_paused(detail: PausedDetail, now_ms: int) -> str:
    """Why a task is paused, and since when."""
    ago = f"{duration(now_ms - detail.paused_at_ms)} ago"
    if detail.shortage is not None:
        day = " The pool of the next day (UTC) is a new one." if detail.shortage.pool == Pool.DAY else ""
        return f"{pool_text(detail.shortage)} So it was when it was paused {ago}.{day}"
    if detail.anomaly is not None:
        return f"{told_to_people(detail.anomaly)}. It was paused for that {ago}; a message or a resume counts anew."
    if detail.reason == "recovery":
        return f"Its worker died, and the recovery policy left it to a person {ago}."
    if detail.reason == "parent":
        return f"It was paused {ago} with the task that has made it, and goes on with that."
    return f"A person paused it {ago}."


def pool_name(name: str) -> str:
    """What a pool is called at the beginning of a sentence."""
    if name.startswith(FAMILY):
        return f"The money of {name.removeprefix(FAMILY)} with its subtasks"
    return "The pool of the day" if name == Pool.DAY else f"The pool of the label {name}"


def raising_pool(shortage: Shortage) -> str:
    """The command that raises a pool far enough."""
    doubled = max(2 * shortage.limit_microusd, 2 * shortage.used_microusd, _FIRST_MICROUSD)
    if shortage.of_task is not None:
        return f"`neuraphage limit {shortage.of_task} --max-cost {dollars(doubled)}`"
    return f"`neuraphage pools {shortage.pool} --max-cost {dollars(doubled)}`"

"""Pools of money, and the ledger of what was spent. Money is whole micro-dollars everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from neuraphage.model.base import Frozen

MAX_LABELS = 16
"""Most labels of a task."""
LabelName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_.-]{0,49}$")]
LabelValue = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:/@+-]{0,99}$")]


def label_texts(labels: Mapping[str, str]) -> tuple[str, ...]:
    """Labels as people write them, `team=web`, in order; the pool of a label has this name."""
    return tuple(f"{name}={value}" for name, value in sorted(labels.items()))


FAMILY = "task:"
"""Before the id of a task whose limit a whole tree spends: itself and all that is below it."""


class Pool(StrEnum):
    """Pools by name; that of a label is called as the label: `team=web`."""

    DAY = "day"
    """What all tasks of the namespace spend on one day, UTC."""
    TASK = "task"
    """The limit of one task. It is used by one call at a time, so nothing is reserved of it."""


class Shortage(Frozen):
    """Why a call of the model may not begin now.

    Args:
        pool: its name.
        limit_microusd: of the pool.
        used_microusd: settled: what calls have cost.
        reserved_microusd: what calls that are under way may cost, those of other tasks alone.
    """

    pool: str
    limit_microusd: int
    used_microusd: int
    reserved_microusd: int

    @property
    def of_task(self) -> str | None:
        """The task whose limit it is, with all that is below that; None for another pool."""
        return self.pool.removeprefix(FAMILY) if self.pool.startswith(FAMILY) else None

    @property
    def is_exhausted(self) -> bool:
        """Whether the pool is used up. Else there is room once other calls are settled."""
        return self.used_microusd >= self.limit_microusd


class PoolState(Frozen):
    """One pool as it stands.

    Args:
        name: `day`, or a label.
        limit_microusd: None while nobody has set one.
        used_microusd: settled: of the day today, of a label from its first task on.
        reserved_microusd: what calls that are under way may cost.
        is_set: whether a person has set the limit; else it is that of the settings.
    """

    name: str
    limit_microusd: int | None
    used_microusd: int
    reserved_microusd: int
    is_set: bool = False


class Spent(Frozen):
    """What calls of the model came to; its fields are counters of a task, too.

    Args:
        cost_microusd: price of the tokens.
        model_calls: committed replies.
        model_resends: calls that were sent again although an earlier reply may be billed.
        recovery_cost_microusd: what calls that were lost with their workers may have cost.
        input_tokens, output_tokens, cache_write_tokens, cache_read_tokens: as the provider counts them.
    """

    cost_microusd: int = 0
    model_calls: int = 0
    model_resends: int = 0
    recovery_cost_microusd: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0


SPENT_FIELDS = tuple(Spent.model_fields)
"""In the order in which the ledger holds them."""
OTHERS = "*"
"""Stands in the ledger for models and labels beyond its limit."""


class LedgerRow(Frozen):
    """One row of the ledger.

    Args:
        day: days since 1970-01-01 UTC; 0 for all days before those that are kept.
        kind: `d` for the whole day, `m` for a model, `l` for a label.
        name: of the model or the label; empty for the whole day, and for tasks without a label.
        spent: what was spent.
    """

    day: int
    kind: str
    name: str
    spent: Spent


class By(StrEnum):
    """What costs are told by."""

    DAY = "day"
    MODEL = "model"
    LABEL = "label"
    TASK = "task"


class CostLine(Frozen):
    """One line of a report of costs.

    Args:
        key: the day as `2026-04-05`, the model, the label, or the task's id; empty for what has none.
        text: for people: of a task its name; else the key, or what stands in its place.
        cost_microusd: what was spent.
        spent: calls and tokens too; None of a task since a day, whose days hold its cost alone.
    """

    key: str
    text: str
    cost_microusd: int
    spent: Spent | None = None


class CostReport(Frozen):
    """What was spent.

    Args:
        by: what the lines are told by.
        since_day: the first day, `2026-04-05` (UTC); None for all.
        lines: the dearest first; of days the newest first. A task with several labels is in the line of each.
        total: of all lines but of labels, where it is what was spent in all.
    """

    by: By
    since_day: str | None
    lines: tuple[CostLine, ...]
    total: Spent

"""Data of events about what departs from what was expected."""

from __future__ import annotations

from neuraphage.model.event_data.base import EventData


class BudgetWarning(EventData):
    """Data of BudgetWarning.

    Args:
        pool: task (its own limit), day, or a label.
        percent: of it that is used: 50, 75 or 90.
        used_microusd: what is used.
        limit_microusd: of the pool.
    """

    pool: str
    percent: int
    used_microusd: int
    limit_microusd: int


class WorkingDirChanged(EventData):
    """Data of WorkingDirLost and WorkingDirBack.

    Args:
        path: of the working directory.
        report: what is wrong with it; none where it is back.
    """

    path: str
    report: str | None = None

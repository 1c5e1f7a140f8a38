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


class AnomalyDetected(EventData):
    """Data of AnomalyDetected.

    Args:
        kind: same_call_fails, same_call, failures_in_a_row, no_progress, turn_tokens, writes_a_minute, unusual_path,
            refused_host or runaway_output.
        reading: what it has come to.
        limit: that it has reached.
        what: which call, path or host it is about, in short; empty for none.
    """

    kind: str
    reading: int
    limit: int
    what: str = ""


class WorkingDirChanged(EventData):
    """Data of WorkingDirLost and WorkingDirBack.

    Args:
        path: of the working directory.
        report: what is wrong with it; none where it is back.
    """

    path: str
    report: str | None = None

"""Reports of costs, from the rows of the ledger and the records of tasks. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta

from neuraphage.errors import BadInput
from neuraphage.model.money import OTHERS, SPENT_FIELDS, By, CostLine, CostReport, LedgerRow, Spent
from neuraphage.model.task import TaskRecord

DAY_MS = 86_400_000
_EPOCH = date(1970, 1, 1)
_BEFORE = "before"
"""Key of all days before those that the ledger keeps."""
_KINDS = {By.DAY: "d", By.MODEL: "m", By.LABEL: "l"}
_AGO = re.compile(r"(\d{1,5})([dw])")


def day_text(day: int) -> str:
    """A day of the ledger as people write it."""
    return (_EPOCH + timedelta(days=day)).isoformat() if day else _BEFORE


def first_day(since: str, now_ms: int) -> int:
    """The first day that is meant: `2026-04-05`, or so many days or weeks up to today: `1d` is today, `2w`.

    Raises:
        BadInput: it is neither.
    """
    today = now_ms // DAY_MS
    ago = _AGO.fullmatch(since.strip())
    if ago is not None and int(ago[1]) > 0:
        return max(1, today - int(ago[1]) * (7 if ago[2] == "w" else 1) + 1)
    try:
        found = datetime.strptime(since.strip(), "%Y-%m-%d").replace(tzinfo=UTC).date()
    except ValueError:
        raise BadInput(f"since {since[:40]!r}: write a day (UTC) as 2026-04-05, or 1d for today, 7d, 2w") from None
    return max(1, (found - _EPOCH).days)


def added(spent: Iterable[Spent]) -> Spent:
    """The sum."""
    sums = dict.fromkeys(SPENT_FIELDS, 0)
    for one in spent:
        for name in SPENT_FIELDS:
            sums[name] += getattr(one, name)
    return Spent(**sums)


def cost_report(rows: Iterable[LedgerRow], by: By, since: int | None) -> CostReport:
    """Costs by day, model or label.

    Args:
        rows: of the ledger.
        by: anything but tasks.
        since: the first day; None for all.
    """
    kept = [row for row in rows if since is None or row.day >= since]
    grouped: dict[str, list[Spent]] = {}
    for row in kept:
        if row.kind == _KINDS[by]:
            grouped.setdefault(day_text(row.day) if by is By.DAY else row.name, []).append(row.spent)
    lines = [_line(key, added(spent), by) for key, spent in grouped.items()]
    if by is By.DAY:
        lines.sort(key=lambda line: line.key if line.key != _BEFORE else "", reverse=True)
    else:
        lines.sort(key=lambda line: (-line.cost_microusd, line.key))
    total = added(row.spent for row in kept if row.kind == _KINDS[By.DAY])
    return CostReport(by=by, since_day=_shown(since), lines=tuple(lines), total=total)


def task_report(rows: Iterable[LedgerRow], records: Iterable[TaskRecord], since: int | None) -> CostReport:
    """Costs by task; what the ledger has beyond that was spent by tasks that are deleted.

    Args:
        rows: of the ledger, read after the records.
        records: of all tasks that are stored.
        since: the first day; None for all.
    """
    total = cost_report(rows, By.DAY, since).total
    lines = [line for record in records if (line := _task_line(record, since)).cost_microusd]
    gone = total.cost_microusd - sum(line.cost_microusd for line in lines)
    if gone > 0:
        lines.append(CostLine(key="", text="(tasks that are deleted)", cost_microusd=gone))
    lines.sort(key=lambda line: (-line.cost_microusd, line.key))
    return CostReport(by=By.TASK, since_day=_shown(since), lines=tuple(lines), total=total)


def _task_line(record: TaskRecord, since: int | None) -> CostLine:
    text, counters = " ".join(record.spec.name.split()), record.counters
    if since is not None:
        cost = sum(cost for day, cost in record.cost_by_day.items() if day >= since)
        return CostLine(key=record.task_id, text=text, cost_microusd=cost)
    spent = Spent(**{name: getattr(counters, name) for name in SPENT_FIELDS})
    return CostLine(key=record.task_id, text=text, cost_microusd=spent.cost_microusd, spent=spent)


def _line(key: str, spent: Spent, by: By) -> CostLine:
    text = key
    if not key:
        text = "(no label)" if by is By.LABEL else "(no model)"
    elif key == OTHERS:
        text = f"(further {by.value}s)"
    elif key == _BEFORE:
        text = "(before)"
    return CostLine(key=key, text=text, cost_microusd=spent.cost_microusd, spent=spent)


def _shown(since: int | None) -> str | None:
    return None if since is None else day_text(since)

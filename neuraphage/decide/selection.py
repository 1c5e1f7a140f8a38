"""Which tasks a list shows, and in which order. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from neuraphage.model.task import CancelledDetail, CompletedDetail, FailedDetail, Status, TaskRecord


class Sort(StrEnum):
    """What a list is ordered by."""

    CREATED = "created"
    """Newest first."""
    SAVED = "saved"
    """The last change first."""
    COST = "cost"
    """The dearest first."""
    TURNS = "turns"
    """The most turns first."""
    PRIORITY = "priority"
    """The most urgent first."""
    NAME = "name"
    """By name."""
    STATUS = "status"
    """By status."""


_KEYS: dict[Sort, Callable[[TaskRecord], int | str]] = {
    Sort.SAVED: lambda record: -(record.saved_at_ms or record.created_at_ms),
    Sort.COST: lambda record: -record.counters.cost_microusd,
    Sort.TURNS: lambda record: -record.counters.iteration,
    Sort.PRIORITY: lambda record: record.spec.priority,
    Sort.NAME: lambda record: record.spec.name.casefold(),
    Sort.STATUS: lambda record: record.status.value,
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which tasks, in which order. What is left out restricts nothing.

    Args:
        statuses: one of these.
        tags: all of these.
        name: part of the name, in capitals or small letters.
        text: part of name, request, summary, error or reason, in capitals or small letters.
        created_after_ms: created at this server time or later.
        created_before_ms: created before this server time.
        sort: the order; equal ones are newest first.
        reverse: the order turned around.
    """

    statuses: frozenset[Status] = frozenset()
    tags: frozenset[str] = frozenset()
    name: str = ""
    text: str = ""
    created_after_ms: int | None = None
    created_before_ms: int | None = None
    sort: Sort = Sort.CREATED
    reverse: bool = False

    def takes(self, record: TaskRecord) -> bool:
        """Whether a task is one of them."""
        return (
            (not self.statuses or record.status in self.statuses)
            and self.tags <= set(record.spec.tags)
            and self.name.casefold() in record.spec.name.casefold()
            and (not self.text or any(self.text.casefold() in text.casefold() for text in _texts(record)))
            and (self.created_after_ms is None or record.created_at_ms >= self.created_after_ms)
            and (self.created_before_ms is None or record.created_at_ms < self.created_before_ms)
        )

    def ordered(self, records: list[TaskRecord]) -> list[TaskRecord]:
        """The tasks in order; given newest first, or oldest first where the order is by creation and turned around."""
        if self.sort is Sort.CREATED:
            return records
        return sorted(records, key=_KEYS[self.sort], reverse=self.reverse)


def _texts(record: TaskRecord) -> tuple[str, ...]:
    match record.detail:
        case CompletedDetail():
            more = record.detail.summary
        case FailedDetail():
            more = record.detail.error
        case CancelledDetail():
            more = record.detail.reason or ""
        case _:
            more = ""
    return record.spec.name, record.spec.prompt, more

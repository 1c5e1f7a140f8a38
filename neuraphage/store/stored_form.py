"""The stored form for those who examine and repair it; it has nothing of what a turn writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from neuraphage.model.repairing import RepairMode, RepairResult
from neuraphage.store import access, places, repair, repair_some, reports
from neuraphage.store.context import StoreContext


class RedisStoredForm:
    """Implements ports.StoredForm.

    Args:
        context: the store.
    """

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def check_access(self) -> bool:
        """See ports.StoredForm."""
        return access.check_access(self._context)

    def survey(self, mode: RepairMode, batch: int, parts: Sequence[str] = ()) -> Iterator[list[RepairResult]]:
        """See ports.StoredForm."""
        if parts:
            return repair_some.survey_some(self._context, mode, parts, batch)
        return repair.survey(self._context, mode, batch)

    def last_sweep_ms(self) -> int:
        """See ports.StoredForm."""
        return reports.last_sweep_ms(self._context)

    def now_ms(self) -> int:
        """See ports.StoredForm."""
        return places.now_ms(self._context)

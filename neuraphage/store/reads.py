"""What people are shown, as one object: the reads of one namespace. What few commands read is imported when they do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from neuraphage.store import listing, queries
from neuraphage.store.context import StoreContext

if TYPE_CHECKING:
    from neuraphage.model.admission import AdmissionState, LinePlace
    from neuraphage.model.capacity import GateView
    from neuraphage.model.effect import JournalEntry
    from neuraphage.model.event import Event
    from neuraphage.model.event_stream import EventPage
    from neuraphage.model.explanation import TaskFacts
    from neuraphage.model.lock import HeldResource
    from neuraphage.model.money import LedgerRow, PoolState
    from neuraphage.model.recovery import LoggedDecision, RecoveryDecision, RecoveryReport
    from neuraphage.model.task import TaskRecord
    from neuraphage.ports import Delta


class RedisReads:
    """Implements ports.ReadStore. Every method is one read, safe to repeat.

    Args:
        context: of the store.
    """

    def __init__(self, context: StoreContext) -> None:
        self._context = context

    def find(self, part: str) -> str:
        """See listing.find."""
        return listing.find(self._context, part)

    def get(self, task_id: str) -> TaskRecord:
        """See queries.get."""
        return queries.get(self._context, task_id)

    def records(self, *, oldest_first: bool = False) -> Iterator[TaskRecord]:
        """See listing.records."""
        return listing.records(self._context, oldest_first=oldest_first)

    def asking(self, limit: int) -> Sequence[TaskRecord]:
        """See listing.asking."""
        return listing.asking(self._context, limit)

    def dependants(self, task_id: str, limit: int) -> Sequence[str]:
        """See edges.dependants."""
        from neuraphage.store import edges  # noqa: PLC0415 - one command needs it

        return edges.dependants(self._context, task_id, limit)

    def locks(self) -> Sequence[HeldResource]:
        """See lock_text.all_locks."""
        from neuraphage.store import lock_text  # noqa: PLC0415 - as above

        return lock_text.all_locks(self._context)

    def admission(self) -> AdmissionState:
        """See admission_view.admission_state."""
        from neuraphage.store import admission_view  # noqa: PLC0415 - as above

        return admission_view.admission_state(self._context)

    def line_place(self, task_id: str) -> LinePlace | None:
        """See admission_view.line_place."""
        from neuraphage.store import admission_view  # noqa: PLC0415 - as above

        return admission_view.line_place(self._context, task_id)

    def conversation(self, task_id: str, first: int = 0) -> Sequence[dict[str, Any]]:
        """See queries.conversation."""
        return queries.conversation(self._context, task_id, first)

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """See queries.journal."""
        return queries.journal(self._context, task_id)

    def events(self, task_id: str, *, after: str, block_ms: int | None = None) -> Sequence[Event]:
        """See queries.events."""
        return queries.events(self._context, task_id, after=after, block_ms=block_ms)

    def all_events(self, after: str | None, kinds: frozenset[str], tasks: frozenset[str]) -> EventPage:
        """See event_stream.all_events."""
        from neuraphage.store.event_stream import all_events  # noqa: PLC0415 - most commands look at one task

        return all_events(self._context, after, kinds, tasks)

    def wait_for_events(self, after: str, block_ms: int) -> bool:
        """See event_stream.wait_for_events."""
        from neuraphage.store.event_stream import wait_for_events  # noqa: PLC0415 - as above

        return wait_for_events(self._context, after, block_ms)

    def task_facts(self, task_id: str) -> TaskFacts:
        """See task_facts.task_facts."""
        from neuraphage.store import task_facts  # noqa: PLC0415 - a list needs none of it

        return task_facts.task_facts(self._context, task_id)

    def decisions(self, task_id: str) -> Sequence[LoggedDecision]:
        """See task_facts.task_decisions."""
        from neuraphage.store import task_facts  # noqa: PLC0415 - as above

        return task_facts.task_decisions(self._context, task_id)

    def ledger(self) -> Sequence[LedgerRow]:
        """See ledger.ledger."""
        from neuraphage.store import ledger  # noqa: PLC0415 - few commands show costs

        return ledger.ledger(self._context)

    def pools(self) -> Sequence[PoolState]:
        """See ledger.pools."""
        from neuraphage.store import ledger  # noqa: PLC0415 - as above

        return ledger.pools(self._context)

    def counts(self) -> dict[str, int]:
        """See queries.counts."""
        return queries.counts(self._context)

    def capacity(self) -> Sequence[GateView]:
        """See capacity_view.gates."""
        from neuraphage.store import capacity_view  # noqa: PLC0415 - as above

        return capacity_view.gates(self._context)

    def last_report(self) -> RecoveryReport | None:
        """See reports.last_report."""
        from neuraphage.store import reports  # noqa: PLC0415 - as above

        return reports.last_report(self._context)

    def note_recovery(self, decision: RecoveryDecision) -> None:
        """See reports.note_recovery."""
        from neuraphage.store import reports  # noqa: PLC0415 - as above

        reports.note_recovery(self._context, decision)

    def watch(self, task_id: str) -> None:
        """See live.watch."""
        from neuraphage.store import live  # noqa: PLC0415 - as above

        live.watch(self._context, task_id)

    def snapshot(self, task_id: str, after_event: str, after_delta: str) -> list[tuple[str, Event | Delta]]:
        """See live.snapshot."""
        from neuraphage.store import live  # noqa: PLC0415 - as above

        return live.snapshot(self._context, task_id, after_event, after_delta)

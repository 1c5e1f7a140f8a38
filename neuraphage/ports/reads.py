"""What people are shown of tasks. Nothing here is a source of recovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # every process imports the ports, and many of them show nobody a task
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
    from neuraphage.ports.effects import Delta


class ReadStore(Protocol):
    """Reads for people.

    Every one may raise StoreUnavailable or StoreError; one of a task TaskNotFound, CorruptRecord or SchemaTooNew too.
    """

    def find(self, part: str) -> str:
        """The full id of the one task whose id has this part.

        Raises:
            TaskNotFound: none fits.
            BadInput: several fit, or the part is empty.
        """
        ...

    def get(self, task_id: str) -> TaskRecord:
        """One task, read at one instant."""
        ...

    def records(self, *, oldest_first: bool = False) -> Iterator[TaskRecord]:
        """Every task by creation, newest first; what cannot be read is left out. Read a page at a time, as used."""
        ...

    def asking(self, limit: int) -> Sequence[TaskRecord]:
        """Tasks that wait for a person, and paused ones, that have open prompts; what cannot be read is left out.

        Args:
            limit: at most so many of each of the two statuses are looked at, the longest waiting first.
        """
        ...

    def dependants(self, task_id: str, limit: int) -> Sequence[str]:
        """Ids of tasks that wait for this one, at most so many."""
        ...

    def locks(self) -> Sequence[HeldResource]:
        """Every resource that a task holds or waits for, by name."""
        ...

    def admission(self) -> AdmissionState:
        """Slots, and the parts of the line of those that wait for one."""
        ...

    def line_place(self, task_id: str) -> LinePlace | None:
        """Where a task stands in line; None where it does not."""
        ...

    def conversation(self, task_id: str, first: int = 0) -> Sequence[dict[str, Any]]:
        """The stored conversation from entry number `first` on, oldest first."""
        ...

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """The journal of the present turn, by the ids of its effects."""
        ...

    def events(self, task_id: str, *, after: str, block_ms: int | None = None) -> Sequence[Event]:
        """Up to a thousand history lines after an event id, oldest first.

        Args:
            task_id: full id.
            after: an event id.
            block_ms: wait so long for the first one; None for not at all.
        """
        ...

    def all_events(self, after: str | None, kinds: frozenset[str], tasks: frozenset[str]) -> EventPage:
        """A page of the events of the whole namespace, oldest first.

        Args:
            after: an event id; None for the end of the stream, where nothing is read.
            kinds: of events; empty for all.
            tasks: full ids; empty for all.
        """
        ...

    def wait_for_events(self, after: str, block_ms: int) -> bool:
        """Wait so long until the namespace has an event after an id; whether it has."""
        ...

    def task_facts(self, task_id: str) -> TaskFacts:
        """Everything that decisions about a task are made from."""
        ...

    def decisions(self, task_id: str) -> Sequence[LoggedDecision]:
        """What sweep and watchers decided about a task, oldest first."""
        ...

    def ledger(self) -> Sequence[LedgerRow]:
        """Every row of the ledger of costs."""
        ...

    def pools(self) -> Sequence[PoolState]:
        """Pools of money of which anything is known, by name; that of the day first, and always."""
        ...

    def counts(self) -> dict[str, int]:
        """Tasks by status, and members of the four places."""
        ...

    def capacity(self) -> Sequence[GateView]:
        """What limits calls of models now, by family and key."""
        ...

    def last_report(self) -> RecoveryReport | None:
        """The newest recovery report that is not empty; None if there never was one."""
        ...

    def note_recovery(self, decision: RecoveryDecision) -> None:
        """Put into the report what a person has ordered; a server that refuses it is logged and nothing more."""
        ...

    def watch(self, task_id: str) -> None:
        """Have pieces of the streaming reply kept for a viewer; call it again while somebody looks."""
        ...

    def snapshot(self, task_id: str, after_event: str, after_delta: str) -> list[tuple[str, Event | Delta]]:
        """History lines and pieces of the reply after the given ids, read at one instant, as they were written.

        Returns:
            (stream id, line or piece) pairs. Both streams are numbered by the same server clock.
        """
        ...

"""What surfaces read: one task and all that is kept of it, lists of tasks, counts, and what was recovered."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from neuraphage.api.base import ApiBase
from neuraphage.decide.selection import Selection, Sort
from neuraphage.errors import BadInput
from neuraphage.model.task import Status, TaskRecord
from neuraphage.settings import Settings

if TYPE_CHECKING:
    from neuraphage.decide.why import Rules
    from neuraphage.model.capacity import GateView
    from neuraphage.model.effect import JournalEntry
    from neuraphage.model.event import Event
    from neuraphage.model.explanation import Explanation
    from neuraphage.model.recovery import LoggedDecision, RecoveryReport

FIRST_EVENT = "0"
"""What stands before the first event."""
_EVENT_ID = re.compile(r"\d{1,20}(-\d{1,20})?")


class Reads(ApiBase):
    """Reads of tasks. `Follow` has those that wait."""

    def get(self, task_id: str) -> TaskRecord:
        """One task.

        Args:
            task_id: the task, by id or any unique part of it.

        Raises:
            TaskNotFound: there is no such task.
            BadInput: several fit.
            CorruptRecord: its record breaks its own rules; it was left untouched.
            SchemaTooNew: a newer release wrote it.
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self._ports.reads.get(self.find(task_id))

    def list(self, *statuses: Status, limit: int = 100) -> Sequence[TaskRecord]:
        """Tasks by status (all when none is named), by creation, newest first; unreadable ones are skipped.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self.select(Selection(statuses=frozenset(statuses)), limit=limit)

    def select(self, selection: Selection, *, skip: int = 0, limit: int = 100) -> Sequence[TaskRecord]:
        """Tasks that a selection takes, in its order; unreadable ones are skipped.

        By creation, records are read as far as needed; in another order, all of them.

        Args:
            selection: which ones, and in which order.
            skip: how many of them to leave out.
            limit: at most so many.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        every = self._ports.reads.records(oldest_first=selection.reverse and selection.sort is Sort.CREATED)
        found = (record for record in every if selection.takes(record))
        ordered = found if selection.sort is Sort.CREATED else iter(selection.ordered([*found]))
        return [*islice(ordered, skip, skip + limit)]

    def conversation(self, task_id: str, *, first: int = 0) -> Sequence[dict[str, Any]]:
        """The stored conversation from entry number `first` on, oldest first. Raises: see `get`."""
        return self._ports.reads.conversation(self._existing(task_id), first)

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """The journal of the present turn. Raises: see `get`."""
        return self._ports.reads.journal(self._existing(task_id))

    def decisions(self, task_id: str) -> Sequence[LoggedDecision]:
        """What sweep and watchers decided about the task, and from what, oldest first. Raises: see `get`."""
        return self._ports.reads.decisions(self._existing(task_id))

    def why(self, task_id: str) -> Explanation:
        """Why the task stands where it stands, and what happens next, by these settings. Raises: see `get`."""
        from neuraphage.decide.why import explain  # noqa: PLC0415 - most callers ask for no reasons

        facts, quote = self._ports.reads.task_facts(self.find(task_id)), self._ports.quote
        is_priced = quote is None or quote(facts.record.choice.model).known
        return explain(facts, rules_of(self.settings), is_priced=is_priced)

    def counts(self) -> dict[str, int]:
        """Tasks by status, and members of the four places. Raises: see `list`."""
        return self._ports.reads.counts()

    def capacity(self) -> Sequence[GateView]:
        """What limits calls of models now, for each family and key that something is known of. Raises: see `list`."""
        return self._ports.reads.capacity()

    def recovery_report(self) -> RecoveryReport | None:
        """The newest recovery report that is not empty; None if there never was one. Raises: see `list`."""
        return self._ports.reads.last_report()

    def history(self, task_id: str, *, after: str = FIRST_EVENT, block_ms: int | None = None) -> Sequence[Event]:
        """One read of the history: up to a thousand lines after an event id, oldest first.

        Args:
            task_id: the task.
            after: resume after this event id.
            block_ms: wait so long for the first line; None for not at all.

        Raises:
            BadInput: `after` is no event id. Else see `get`.
        """
        return self._ports.reads.events(self._existing(task_id), after=event_id(after), block_ms=block_ms)


def event_id(text: str) -> str:
    """An event id that the server takes.

    Raises:
        BadInput: it is none.
    """
    if not _EVENT_ID.fullmatch(text):
        raise BadInput(f"{text!r} is no event id; give one as `neuraphage events --json` shows it, or 0 for the start")
    return text


def rules_of(settings: Settings) -> Rules:
    """The settings that decide about tasks, as `explain` takes them."""
    from neuraphage.decide.why import Rules  # noqa: PLC0415 - as in `why`

    return Rules(
        lease_ms=int(settings.lease_s * 1000),
        heartbeat_ms=int(settings.heartbeat_s * 1000),
        sweep_ms=int(settings.sweep_s * 1000),
        absent_host_ms=int(settings.absent_host_s * 1000),
        saved_max_age_ms=int(settings.saved_max_age_s * 1000),
        wait_poll_ms=int(settings.wait_poll_s * 1000),
        first_republish_ms=int(settings.first_republish_s * 1000),
        max_republish_ms=int(settings.max_republish_s * 1000),
        max_recoveries=settings.max_recoveries,
        recovery_policy=settings.recovery_policy.value,
    )

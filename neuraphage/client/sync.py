"""The client for programs that wait: reads, and following a task as it goes."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from neuraphage.client.commands import TaskCommands
from neuraphage.decide.selection import Selection, Sort
from neuraphage.errors import AccessRefused, BadInput, CorruptRecord, StoreUnavailable
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.store import listing, reading

if TYPE_CHECKING:
    from neuraphage.client.following import Following
    from neuraphage.model.effect import JournalEntry
    from neuraphage.model.event import Event
    from neuraphage.model.readings import Explanation
    from neuraphage.model.recovery import Decision, RecoveryReport
    from neuraphage.ports import Delta

T = TypeVar("T")

POLL_BLOCK_MS = 1_000
"""One blocking read of events; well under the socket timeout."""
OUTAGE_PATIENCE_S = 60.0
"""How long events, follow and wait sit out an outage of the state server: longer than a restart or a failover."""
OUTAGE_PAUSE_S = 0.2
FIRST_EVENT = "0"
_EVENT_ID = re.compile(r"\d{1,20}(-\d{1,20})?")


class Client(TaskCommands):
    """A client of one namespace. Thread-safe; use it as a context manager.

    Args:
        settings: where the servers are; from the environment and the files of settings when not given,
            or the local stack that runs.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read. No connection is made yet.
    """

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
        return reading.get(self._context, self.find(task_id))

    def list(self, *statuses: Status, limit: int = 100) -> Sequence[TaskRecord]:
        """Tasks by status (all when none is named), by creation, newest first; unreadable ones are skipped (R40).

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        return self.select(Selection(statuses=frozenset(statuses)), limit=limit)

    def select(self, selection: Selection, *, skip: int = 0, limit: int = 100) -> Sequence[TaskRecord]:
        """Tasks that a selection takes, in its order; unreadable ones are skipped (R40).

        By creation, records are read as far as needed; in another order, all of them.

        Args:
            selection: which ones, and in which order.
            skip: how many of them to leave out.
            limit: at most so many.

        Raises:
            StoreUnavailable, StoreError: the state server did not answer.
        """
        oldest_first = selection.reverse and selection.sort is Sort.CREATED
        every = listing.records(self._context, oldest_first=oldest_first)
        found = (record for record in every if selection.takes(record))
        ordered = found if selection.sort is Sort.CREATED else iter(selection.ordered(list(found)))
        return list(islice(ordered, skip, skip + limit))

    def conversation(self, task_id: str, *, first: int = 0) -> Sequence[dict[str, Any]]:
        """The stored conversation from entry number `first` on, oldest first. Raises: see `get`."""
        return reading.conversation(self._context, self._existing(task_id), first)

    def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """The journal of the present turn. Raises: see `get`."""
        return reading.journal(self._context, self._existing(task_id))

    def decisions(self, task_id: str) -> Sequence[Decision]:
        """What sweep and watchers decided about the task, with their readings, oldest first. Raises: see `get`."""
        from neuraphage.store import readings  # noqa: PLC0415 - as in `why`

        return readings.task_decisions(self._context, self._existing(task_id))

    def why(self, task_id: str) -> Explanation:
        """Why the task stands where it stands, and what happens next, by these settings. Raises: see `get`."""
        from neuraphage.client.rules import rules_of  # noqa: PLC0415 - most clients ask for no reasons
        from neuraphage.decide.why import explain  # noqa: PLC0415 - as above
        from neuraphage.store import readings  # noqa: PLC0415 - as above

        return explain(readings.readings(self._context, self.find(task_id)), rules_of(self.settings))

    def counts(self) -> dict[str, int]:
        """Tasks by status, and members of the four places. Raises: see `list`."""
        return reading.counts(self._context)

    def _note_recovery(self, record: TaskRecord, verb: str) -> None:
        """Put what a person has ordered with `recover` into the report.

        Args:
            record: the task before it.
            verb: resume, retry or reset.
        """
        from neuraphage.model.recovery import RecoveryReading  # noqa: PLC0415 - as in `why`
        from neuraphage.store import reports  # noqa: PLC0415 - as in `why`

        reading = RecoveryReading(
            task_id=record.task_id,
            verdict=verb,
            evidence="person",
            marker=record.marker.name.value,
            iteration=record.counters.iteration,
            reason=f"a person gave the command to {verb} it; it was {record.status.value}",
        )
        reports.note_recovery(self._context, reading)

    def recovery_report(self) -> RecoveryReport | None:
        """The newest recovery report that is not empty; None if there never was one. Raises: see `list`."""
        from neuraphage.store import reports  # noqa: PLC0415 - as in `why`

        return reports.last_report(self._context)

    def history(self, task_id: str, *, after: str = FIRST_EVENT, block_ms: int | None = None) -> Sequence[Event]:
        """One read of the history: up to a thousand lines after an event id, oldest first.

        Args:
            task_id: the task.
            after: resume after this event id.
            block_ms: wait so long for the first line; None for not at all.

        Raises:
            BadInput: `after` is no event id. Else see `get`.
        """
        return self._events(self._existing(task_id), event_id(after), block_ms)

    # --- following: the first read fails at once, the later ones sit out an outage ---

    def events(self, task_id: str, *, after: str = FIRST_EVENT, follow: bool = False) -> Iterator[Event]:
        """History lines after an event id, oldest first. Each has its own id, after which a later call goes on.

        Args:
            task_id: the task.
            after: resume after this event id.
            follow: go on until the task is over; blocks between events.

        Raises:
            BadInput: `after` is no event id.
            StoreUnavailable: the server was away for longer than OUTAGE_PATIENCE_S. Else see `get`.
        """
        full_id, after = self._existing(task_id), event_id(after)
        while True:
            over = follow and patiently(partial(reading.get, self._context, full_id)).status in TERMINAL
            block_ms = POLL_BLOCK_MS if follow and not over else None
            lines = patiently(partial(self._events, full_id, after, block_ms))
            for line in lines:
                after = line.event_id or after
                yield line
            if not lines and (not follow or over):
                return

    def follow(
        self, task_id: str, *, after: str = FIRST_EVENT, poll_s: float = 0.05
    ) -> Iterator[Event | Delta | TaskRecord]:
        """The task as it goes: history lines and pieces of the streaming reply, in order.

        After each round the present record is yielded, so that the caller decides when to stop; it ends by
        itself when the task is over.

        Args:
            task_id: the task.
            after: resume after this event id; pieces that are older are left out too.
            poll_s: seconds between two rounds.

        Raises:
            BadInput, StoreUnavailable: as `events`.
        """
        following = self._following(task_id, after)
        while True:
            look = patiently(following.look)
            yield from look.items
            yield look.record
            if look.is_last:
                return
            time.sleep(poll_s)

    def wait(self, task_id: str, *, timeout_s: float | None = None, until: Iterable[Status] = TERMINAL) -> TaskRecord:
        """Wait until the task is over, or before that in one of the statuses given.

        Args:
            task_id: the task.
            timeout_s: seconds to wait; None for ever.
            until: statuses that end the waiting too.

        Returns:
            The task as it stood then.

        Raises:
            TimeoutError: it was not within the timeout. Else as `events`.
        """
        full_id, wanted = self.find(task_id), TERMINAL | frozenset(until)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        record, after = reading.get(self._context, full_id), FIRST_EVENT
        while record.status not in wanted:
            left_ms = POLL_BLOCK_MS if deadline_s is None else int((deadline_s - time.monotonic()) * 1000)
            if left_ms <= 0:
                raise TimeoutError(f"{full_id} is still {record.status} after {timeout_s} s")
            block_ms = max(1, min(POLL_BLOCK_MS, left_ms))
            lines = patiently(partial(self._events, full_id, after, block_ms), deadline_s)
            after = lines[-1].event_id or after if lines else after
            record = patiently(partial(reading.get, self._context, full_id), deadline_s)
        return record

    def _following(self, task_id: str, after: str) -> Following:
        from neuraphage.client.following import Following  # noqa: PLC0415 - as in `why`

        full_id = self.find(task_id)
        reading.get(self._context, full_id)  # fails at once
        return Following(self._context, full_id, event_id(after), self.settings.live_ttl_s)

    def _events(self, full_id: str, after: str, block_ms: int | None) -> Sequence[Event]:
        return reading.events(self._context, full_id, after=after, block_ms=block_ms)

    def _existing(self, task_id: str) -> str:
        """The full id of a task that exists; also of one whose record cannot be read, so that it can be looked into."""
        full_id = self.find(task_id)
        with contextlib.suppress(CorruptRecord):
            reading.get(self._context, full_id)
        return full_id


def event_id(text: str) -> str:
    """An event id that the server takes.

    Raises:
        BadInput: it is none.
    """
    if not _EVENT_ID.fullmatch(text):
        raise BadInput(f"{text!r} is no event id; give one as `neuraphage events --json` shows it, or 0 for the start")
    return text


def patiently(read: Callable[[], T], deadline_s: float | None = None) -> T:
    """Read again while the state server is away.

    Args:
        read: the read.
        deadline_s: end earlier, by the monotonic clock.

    Raises:
        StoreUnavailable: it stayed away.
        AccessRefused: it lets this process not in; not repeated.
    """
    limit_s = time.monotonic() + OUTAGE_PATIENCE_S
    while True:
        try:
            return read()
        except AccessRefused:
            raise
        except StoreUnavailable:
            if time.monotonic() > min(limit_s, deadline_s or limit_s):
                raise
        time.sleep(OUTAGE_PAUSE_S)

"""A task as it goes: its history, the pieces of its replies, and its end.

The first read fails at once, the later ones sit out an outage.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from functools import partial

from neuraphage.api.following import Following, Look
from neuraphage.api.reads import FIRST_EVENT, Reads, event_id
from neuraphage.api.steps import Change, Pause, Read, Steps, blocking, patiently
from neuraphage.model.event import Event
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import Delta, ReadStore

POLL_BLOCK_MS = 1_000
"""One blocking read of events; well under the socket timeout."""


class Follow(Reads):
    """Reads that wait in the thread of the caller; `AsyncClient` takes the same steps without one."""

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
        return blocking(self._event_steps(task_id, after, follow=follow))

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
        return blocking(self._follow_steps(task_id, after, poll_s))

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
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        waiting = self._waiting(task_id, until, timeout_s)
        for _ in blocking(waiting.steps(deadline_s)):
            """Each round shows in the record."""
        return waiting.record

    def _event_steps(self, task_id: str, after: str, *, follow: bool) -> Steps[Event]:
        full_id = yield Read(partial(self._existing, task_id))
        after, reads = event_id(after), self._ports.reads
        while True:
            # asked before the lines: what was written up to the end is in them
            over = not follow or (yield from patiently(Read(partial(reads.get, full_id)))).status in TERMINAL
            lines = yield from patiently(Read(partial(reads.events, full_id, after=after)))
            if not lines and not over:
                lines = yield from patiently(_change(reads, full_id, after, POLL_BLOCK_MS))
            for line in lines:
                after = line.event_id or after
                yield line
            if not lines and over:
                return

    def _follow_steps(self, task_id: str, after: str, poll_s: float) -> Steps[Event | Delta | TaskRecord]:
        following: Following = yield Read(partial(self._following, task_id, after))
        while True:
            look: Look = yield from patiently(Read(following.look))
            yield from look.items
            yield look.record
            if look.is_last:
                return
            yield Pause(poll_s)

    def _following(self, task_id: str, after: str) -> Following:
        full_id = self.find(task_id)
        self._ports.reads.get(full_id)  # fails at once
        return Following(self._ports.reads, full_id, event_id(after), self.settings.live_ttl_s)

    def _waiting(self, task_id: str, until: Iterable[Status], timeout_s: float | None) -> Waiting:
        return Waiting(self._ports.reads, self.find(task_id), until, timeout_s)


class Waiting:
    """Until a task stands as wanted.

    Args:
        reads: of the namespace.
        task_id: full id.
        until: statuses that end it, beside those that end the task.
        timeout_s: for the error alone; who takes the steps keeps to it.

    Raises:
        TaskNotFound, CorruptRecord, StoreUnavailable, StoreError: see `Reads.get`.
    """

    def __init__(self, reads: ReadStore, task_id: str, until: Iterable[Status], timeout_s: float | None) -> None:
        self._reads = reads
        self._wanted = TERMINAL | frozenset(until)
        self._timeout_s = timeout_s
        self.record = reads.get(task_id)

    def steps(self, deadline_s: float | None = None) -> Steps[TaskRecord]:
        """Wait; each look at the task is found.

        Args:
            deadline_s: by the monotonic clock; None when whoever takes the steps ends them in time.

        Raises:
            TimeoutError: it is past the deadline.
        """
        task_id, after = self.record.task_id, FIRST_EVENT
        while self.record.status not in self._wanted:
            left_ms = POLL_BLOCK_MS if deadline_s is None else int((deadline_s - time.monotonic()) * 1000)
            if left_ms <= 0:
                raise self.too_late()
            change = _change(self._reads, task_id, after, max(1, min(POLL_BLOCK_MS, left_ms)))
            lines = yield from patiently(change, deadline_s)
            after = lines[-1].event_id or after if lines else after
            self.record = yield from patiently(Read(partial(self._reads.get, task_id)), deadline_s)
            yield self.record

    def too_late(self) -> TimeoutError:
        """What is raised when the time is over."""
        return TimeoutError(f"{self.record.task_id} is still {self.record.status} after {self._timeout_s} s")


def _change(reads: ReadStore, task_id: str, after: str, limit_ms: int) -> Change:
    return Change(lambda block_ms: reads.events(task_id, after=after, block_ms=block_ms), limit_ms)

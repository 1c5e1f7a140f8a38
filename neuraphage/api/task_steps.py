"""What following a task takes, as steps; see `steps`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from neuraphage.api.base import ApiBase
from neuraphage.api.following import Following, Look
from neuraphage.api.following_all import FollowingAll, FoundEvents
from neuraphage.api.reads import FIRST_EVENT, event_id
from neuraphage.api.steps import Change, Pause, Read, Steps, patiently
from neuraphage.decide.event_position import kinds_of, position
from neuraphage.model.task import TERMINAL, Status, TaskRecord

if TYPE_CHECKING:
    from neuraphage.model.event import Event
    from neuraphage.model.event_stream import EventGap
    from neuraphage.ports import Delta, ReadStore

POLL_BLOCK_MS = 1_000
"""One blocking read of events; well under the socket timeout."""


class TaskSteps(ApiBase):
    """Following as steps, for whoever waits in a way of its own. The first read fails at once, later ones sit out an
    outage.
    """

    def events(self, task_id: str, after: str, *, follow: bool) -> Steps[Event]:
        """As `Follow.events`."""
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

    def all_events(
        self, since: str | None, kinds: Iterable[str], tasks: Iterable[str], *, follow: bool
    ) -> Steps[Event | EventGap]:
        """As `Follow.follow` without a task."""
        following: FollowingAll = yield Read(partial(self._following_all, since, kinds, tasks))
        found: FoundEvents = yield Read(following.look)
        while True:
            yield from found.items
            if found.is_end and not follow:
                return
            if found.is_end:
                yield from patiently(Change(following.wait, POLL_BLOCK_MS))
            found = yield from patiently(Read(following.look))

    def _following_all(self, since: str | None, kinds: Iterable[str], tasks: Iterable[str]) -> FollowingAll:
        after = None if since is None else position(since, self._ports.clock.wall_ms())
        wanted = frozenset(self.find(one) for one in tasks)
        return FollowingAll(self._ports.reads, after, kinds_of(kinds), wanted)

    def follow(self, task_id: str, after: str, poll_s: float) -> Steps[Event | Delta | TaskRecord]:
        """As `Follow.follow`."""
        following: Following = yield Read(partial(self._following, task_id, after))
        while True:
            look: Look = yield from patiently(Read(following.look))
            yield from look.items
            yield look.record
            if look.is_last:
                return
            yield Pause(poll_s)

    def waiting(self, task_id: str, until: Iterable[Status], timeout_s: float | None) -> Waiting:
        """For `Follow.wait`, with the first read, which fails at once."""
        return Waiting(self._ports.reads, self.find(task_id), until, timeout_s)

    def _following(self, task_id: str, after: str) -> Following:
        full_id = self.find(task_id)
        self._ports.reads.get(full_id)  # fails at once
        return Following(self._ports.reads, full_id, event_id(after), self.settings.live_ttl_s)


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

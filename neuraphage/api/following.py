"""One viewer's place in what a task does: what is new since the last look."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from neuraphage.model.event import Event
from neuraphage.model.task import TERMINAL, TaskRecord

if TYPE_CHECKING:
    from neuraphage.ports import Delta, ReadStore


@dataclass(frozen=True, slots=True)
class Look:
    """What one look found.

    Args:
        items: new history lines and pieces of the reply, in order.
        record: the task as it stood before them.
    """

    items: tuple[Event | Delta, ...]
    record: TaskRecord

    @property
    def is_last(self) -> bool:
        """Whether nothing more will come."""
        return self.record.status in TERMINAL and not self.items


class Following:
    """Looks at a task again and again. A look that fails may be repeated; it skips nothing.

    Args:
        reads: of the namespace.
        task_id: full id.
        after: an event id; what is older is left out.
        live_ttl_s: how long pieces of the reply are kept for a viewer who does not ask for more.
    """

    def __init__(self, reads: ReadStore, task_id: str, after: str, live_ttl_s: float) -> None:
        self._reads = reads
        self._task_id = task_id
        self._seen_event = self._seen_delta = after  # one server clock numbers both
        self._watch_every_s = live_ttl_s / 3
        self._watched_s: float | None = None

    def look(self) -> Look:
        """What is new.

        Raises:
            TaskNotFound, CorruptRecord, StoreUnavailable, StoreError: see `Reads.get`.
        """
        reads, now_s = self._reads, time.monotonic()
        if self._watched_s is None or now_s - self._watched_s > self._watch_every_s:
            reads.watch(self._task_id)
            self._watched_s = now_s
        record = reads.get(self._task_id)  # before the lines: what was written up to the end is in them
        found = reads.snapshot(self._task_id, self._seen_event, self._seen_delta)
        for stream_id, item in found:
            if isinstance(item, Event):
                self._seen_event = stream_id
            else:
                self._seen_delta = stream_id
        return Look(tuple(item for _, item in found), record)

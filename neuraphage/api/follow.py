"""A task as it goes: its history, the pieces of its replies, and its end.

The first read fails at once, the later ones sit out an outage.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, overload

from neuraphage.api.base import ApiBase, ApiPorts
from neuraphage.api.reads import FIRST_EVENT
from neuraphage.api.steps import blocking
from neuraphage.api.task_steps import TaskSteps
from neuraphage.model.task import TERMINAL, Status, TaskRecord

if TYPE_CHECKING:
    from neuraphage.model.event import Event
    from neuraphage.model.event_stream import EventGap
    from neuraphage.ports import Delta


class Follow(ApiBase):
    """Reads that wait in the thread of the caller; `AsyncClient` takes the same steps without one.

    Args:
        ports: what it stands on.
    """

    def __init__(self, ports: ApiPorts) -> None:
        super().__init__(ports)
        self._steps = TaskSteps(ports)

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
        return blocking(self._steps.events(task_id, after, follow=follow))

    @overload
    def follow(
        self, task_id: str, *, after: str = FIRST_EVENT, poll_s: float = 0.05
    ) -> Iterator[Event | Delta | TaskRecord]: ...

    @overload
    def follow(
        self, *, since: str | None = None, kinds: Iterable[str] = (), tasks: Iterable[str] = (), wait: bool = True
    ) -> Iterator[Event | EventGap]: ...

    def follow(
        self,
        task_id: str | None = None,
        *,
        after: str = FIRST_EVENT,
        poll_s: float = 0.05,
        since: str | None = None,
        kinds: Iterable[str] = (),
        tasks: Iterable[str] = (),
        wait: bool = True,
    ) -> Iterator[Any]:
        """One task as it goes, or the events of all tasks.

        **With a task**: history lines and pieces of the streaming reply, in order. After each round the present record
        is yielded, so that the caller decides when to stop; it ends by itself when the task is over.

        **Without one**: the events of the namespace, each once and in their order, for as long as the caller reads.
        Whoever keeps the id of the last event that it has dealt with goes on behind it, in this process or another one.
        Where events may be missing, an EventGap says so in their place. Of an event whose task is deleted, its kind,
        task, id and time are left.

        Args:
            task_id: the task.
            after: of a task: resume after this event id; pieces that are older are left out too.
            poll_s: of a task: seconds between two rounds.
            since: of the namespace: an event id to go on behind, how long ago (`15m`), or a time; None for from now on.
            kinds: of the namespace: these alone, by the names of kinds (`TaskFailed`) or groups (`security`).
            tasks: of the namespace: these alone, by id or any unique part of one.
            wait: of the namespace: whether to wait for what comes; else it ends with what there is.

        Raises:
            BadInput: `after` is no event id, or what is given of the namespace cannot be read.
            StoreUnavailable: as `events`.
        """
        if task_id is None:
            return blocking(self._steps.all_events(since, kinds, tasks, follow=wait))
        return blocking(self._steps.follow(task_id, after, poll_s))

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
        waiting = self._steps.waiting(task_id, until, timeout_s)
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        for _ in blocking(waiting.steps(deadline_s)):
            pass  # each look shows in the record
        return waiting.record

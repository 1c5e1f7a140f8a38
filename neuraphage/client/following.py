"""Following with the client for asyncio: the same steps as the plain client's, taken without holding a thread."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar, overload

from neuraphage.api import FIRST_EVENT
from neuraphage.api.steps import Change, Pause, Read, Step, Steps, next_of
from neuraphage.client.threads import ClientThreads
from neuraphage.errors import StoreUnavailable
from neuraphage.model.event import Event
from neuraphage.model.event_stream import EventGap
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import Delta

T = TypeVar("T")

POLL_S = 0.1


class AsyncFollowing(ClientThreads):
    """What waits in `AsyncClient`.

    Args:
        settings: see `AsyncClient`.
    """

    async def events(self, task_id: str, *, after: str = FIRST_EVENT, follow: bool = False) -> AsyncIterator[Event]:
        """As `Client.events`: an async iterator that may be left at any time and resumed after any event's id."""
        async for line in self._found(self._steps.events(task_id, after, follow=follow)):
            yield line

    @overload
    def follow(
        self, task_id: str, *, after: str = FIRST_EVENT, poll_s: float = 0.05
    ) -> AsyncIterator[Event | Delta | TaskRecord]: ...

    @overload
    def follow(
        self, *, since: str | None = None, kinds: Iterable[str] = (), tasks: Iterable[str] = (), wait: bool = True
    ) -> AsyncIterator[Event | EventGap]: ...

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
    ) -> AsyncIterator[Any]:
        """As `Client.follow`: an async iterator that may be left at any time."""
        if task_id is None:
            return self._found(self._steps.all_events(since, kinds, tasks, follow=wait))
        return self._found(self._steps.follow(task_id, after, poll_s))

    async def wait(
        self, task_id: str, *, timeout_s: float | None = None, until: Iterable[Status] = TERMINAL
    ) -> TaskRecord:
        """As `Client.wait`."""
        waiting = await self._call(self._steps.waiting, task_id, until, timeout_s)
        try:
            async with asyncio.timeout(timeout_s):
                async for _ in self._found(waiting.steps()):
                    pass  # each look shows in the record
        except TimeoutError:
            raise waiting.too_late() from None
        return waiting.record

    async def _found(self, steps: Steps[T]) -> AsyncIterator[T]:
        """As api.steps.blocking."""
        answer, error = None, None
        while True:
            try:
                found = next_of(steps, answer, error)
            except StopIteration:
                return
            answer, error = None, None
            if not isinstance(found, Read | Pause | Change):
                yield found
                continue
            try:
                answer = await self._taken(found)
            except StoreUnavailable as away:
                error = away

    async def _taken(self, step: Step) -> Any:
        match step:
            case Read():
                return await self._call(step.read)
            case Pause():
                return await asyncio.sleep(step.seconds)
            case Change():  # by looking again: a read that blocks would hold a thread
                return await asyncio.sleep(min(POLL_S, step.limit_ms / 1000), ())

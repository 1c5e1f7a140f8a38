"""The part of the client for asyncio about many tasks: waiting, locks, batches, schedules, observers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from neuraphage.api.batch import untold
from neuraphage.client.threads import ClientThreads
from neuraphage.model.dependency import OnFailure
from neuraphage.model.lock import HeldResource
from neuraphage.model.schedule import Overlap
from neuraphage.model.task_tree import TaskTree
from neuraphage.ports import Signalled

if TYPE_CHECKING:
    from neuraphage.model.batch import BatchReport, BatchRow
    from neuraphage.model.observed import PutBy
    from neuraphage.model.schedule import Schedule


class AsyncGraph(ClientThreads):
    """Dependencies, locks, batches and observers; see `AsyncClient`."""

    async def map(
        self,
        rows: Iterable[str | Mapping[str, Any] | BatchRow],
        *,
        batch: str,
        progress: Callable[[int, int], None] = untold,
        **fields: Any,
    ) -> BatchReport:
        """As `Client.map`; `progress` is called in a thread of the client."""
        return await self._call(self._api.map, rows, batch=batch, progress=progress, **fields)

    async def add_dependency(
        self, task_id: str, on: str, *, on_failure: OnFailure = OnFailure.BLOCK, key: str | None = None
    ) -> Signalled:
        """As `Client.add_dependency`."""
        return await self._call(self._api.add_dependency, task_id, on, on_failure=on_failure, key=key)

    async def remove_dependency(self, task_id: str, on: str, *, key: str | None = None) -> Signalled:
        """As `Client.remove_dependency`."""
        return await self._call(self._api.remove_dependency, task_id, on, key=key)

    async def tree(self, task_id: str) -> TaskTree:
        """As `Client.tree`."""
        return await self._call(self._api.tree, task_id)

    async def locks(self) -> Sequence[HeldResource]:
        """As `Client.locks`."""
        return await self._call(self._api.locks)

    async def break_lock(self, resource: str, *, key: str | None = None) -> Sequence[str]:
        """As `Client.break_lock`."""
        return await self._call(self._api.break_lock, resource, key=key)

    async def add_schedule(
        self,
        name: str,
        cron: str,
        prompt: str,
        *,
        overlap: Overlap = Overlap.SKIP,
        zone: str | None = None,
        **fields: Any,
    ) -> Schedule:
        """As `Client.add_schedule`."""
        return await self._call(self._api.add_schedule, name, cron, prompt, overlap=overlap, zone=zone, **fields)

    async def schedules(self) -> Sequence[Schedule]:
        """As `Client.schedules`."""
        return await self._call(self._api.schedules)

    async def schedule(self, name: str) -> Schedule:
        """As `Client.schedule`."""
        return await self._call(self._api.schedule, name)

    async def pause_schedule(self, name: str) -> None:
        """As `Client.pause_schedule`."""
        await self._call(self._api.pause_schedule, name)

    async def resume_schedule(self, name: str) -> None:
        """As `Client.resume_schedule`."""
        await self._call(self._api.resume_schedule, name)

    async def remove_schedule(self, name: str) -> None:
        """As `Client.remove_schedule`."""
        await self._call(self._api.remove_schedule, name)

    async def failed_hooks(self) -> Sequence[PutBy]:
        """As `Client.failed_hooks`."""
        return await self._call(self._api.failed_hooks)

    async def retry_hooks(self, name: str | None = None) -> int:
        """As `Client.retry_hooks`."""
        return await self._call(self._api.retry_hooks, name)

"""The client for asyncio: the same names, to be awaited.

Each call runs in one of a few threads of the client's own, so that nothing blocks the event loop. Waiting is done
outside them, so a thousand waits hold no thread, and one that is cancelled ends at once and leaves nothing behind. A
cancelled request may have been carried out all the same; repeat it under the same `key`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from neuraphage.api import FIRST_EVENT
from neuraphage.api.approving import APPROVE_POLL_S
from neuraphage.api.inbox import INBOX_PROMPTS
from neuraphage.api.recovering import PutBack
from neuraphage.client.async_graph import AsyncGraph
from neuraphage.client.following import AsyncFollowing
from neuraphage.decide.selection import Selection
from neuraphage.model.admission import AdmissionState, LinePlace
from neuraphage.model.capacity import GateView
from neuraphage.model.context_size import ContextSize
from neuraphage.model.effect import JournalEntry
from neuraphage.model.event import Event
from neuraphage.model.explanation import Explanation
from neuraphage.model.money import By, CostReport, PoolState
from neuraphage.model.recovery import LoggedDecision, RecoveryReport
from neuraphage.model.shown import Inbox, OpenPrompt, ShownPrompt
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Signalled

if TYPE_CHECKING:
    from datetime import timedelta

    from neuraphage.api.checking import Attachable
    from neuraphage.decide.fate import Fate

P = ParamSpec("P")
T = TypeVar("T")


class AsyncClient(AsyncFollowing, AsyncGraph):
    """A client of one namespace for asyncio. Use it as an async context manager.

    Every method means what `Client`'s means, takes the same arguments and raises the same errors.

    Args:
        settings: where the servers are; those of the environment, the files, or the local stack when not given.

    Raises:
        SettingsError: a setting is wrong, or a server's URL cannot be read. No connection is made yet.
    """

    # --- requests ---

    async def submit(self, prompt: str, **fields: Any) -> str:
        """As `Client.submit`, with the same keywords."""
        return await self._call(self._api.submit, prompt, **fields)

    async def send(
        self, task_id: str, text: str, *, key: str | None = None, attachments: Iterable[Attachable] = ()
    ) -> Signalled:
        """As `Client.send`."""
        return await self._call(self._api.send, task_id, text, key=key, attachments=attachments)

    async def answer(
        self, task_id: str, text: str, *, prompt_id: str | None = None, key: str | None = None
    ) -> Signalled:
        """As `Client.answer`."""
        return await self._call(self._api.answer, task_id, text, prompt_id=prompt_id, key=key)

    async def became_of(self, task_id: str, prompt_id: str) -> Fate | None:
        """As `Client.became_of`."""
        return await self._call(self._api.became_of, task_id, prompt_id)

    async def pause(self, task_id: str, *, key: str | None = None) -> Signalled:
        """As `Client.pause`."""
        return await self._call(self._api.pause, task_id, key=key)

    async def resume(self, task_id: str, *, key: str | None = None) -> Signalled:
        """As `Client.resume`."""
        return await self._call(self._api.resume, task_id, key=key)

    async def cancel(self, task_id: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """As `Client.cancel`."""
        return await self._call(self._api.cancel, task_id, reason=reason, key=key)

    async def retry(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """As `Client.retry`."""
        limits: dict[str, Any] = {"max_turns": max_turns, "max_cost_usd": max_cost_usd}
        return await self._call(self._api.retry, task_id, **limits, max_running_for=max_running_for, key=key)

    async def retry_reply(self, task_id: str, *, key: str | None = None) -> Signalled:
        """As `Client.retry_reply`."""
        return await self._call(self._api.retry_reply, task_id, key=key)

    async def reset(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """As `Client.reset`."""
        limits: dict[str, Any] = {"max_turns": max_turns, "max_cost_usd": max_cost_usd}
        return await self._call(self._api.reset, task_id, **limits, max_running_for=max_running_for, key=key)

    async def limit(
        self,
        task_id: str,
        *,
        max_turns: int | None = None,
        max_cost_usd: float | None = None,
        max_tree_turns: int | None = None,
        max_running_for: float | timedelta | None = None,
        key: str | None = None,
    ) -> Signalled:
        """As `Client.limit`."""
        return await self._call(
            self._api.limit,
            task_id,
            max_turns=max_turns,
            max_cost_usd=max_cost_usd,
            max_tree_turns=max_tree_turns,
            max_running_for=max_running_for,
            key=key,
        )

    async def set_model(self, task_id: str, model: str, *, reason: str = "", key: str | None = None) -> Signalled:
        """As `Client.set_model`."""
        return await self._call(self._api.set_model, task_id, model, reason=reason, key=key)

    async def sees(self, model: str | None = None) -> bool:
        """As `Client.sees`."""
        return await self._call(self._api.sees, model)

    async def wake(self, task_id: str) -> bool:
        """As `Client.wake`."""
        return await self._call(self._api.wake, task_id)

    async def put_back(self, record: TaskRecord, verb: PutBack) -> Signalled:
        """As `Client.put_back`."""
        return await self._call(self._api.put_back, record, verb)

    # --- reads ---

    async def find(self, prefix: str) -> str:
        """As `Client.find`."""
        return await self._call(self._api.find, prefix)

    async def get(self, task_id: str) -> TaskRecord:
        """As `Client.get`."""
        return await self._call(self._api.get, task_id)

    async def list(self, *statuses: Status, limit: int = 100) -> Sequence[TaskRecord]:
        """As `Client.list`."""
        return await self._call(self._api.list, *statuses, limit=limit)

    async def select(self, selection: Selection, *, skip: int = 0, limit: int = 100) -> Sequence[TaskRecord]:
        """As `Client.select`."""
        return await self._call(self._api.select, selection, skip=skip, limit=limit)

    async def conversation(self, task_id: str, *, first: int = 0) -> Sequence[dict[str, Any]]:
        """As `Client.conversation`."""
        return await self._call(self._api.conversation, task_id, first=first)

    async def journal(self, task_id: str) -> dict[str, JournalEntry]:
        """As `Client.journal`."""
        return await self._call(self._api.journal, task_id)

    async def decisions(self, task_id: str) -> Sequence[LoggedDecision]:
        """As `Client.decisions`."""
        return await self._call(self._api.decisions, task_id)

    async def why(self, task_id: str) -> Explanation:
        """As `Client.why`."""
        return await self._call(self._api.why, task_id)

    async def capacity(self) -> Sequence[GateView]:
        """As `Client.capacity`."""
        return await self._call(self._api.capacity)

    async def cost(self, *, by: By = By.DAY, since: str | None = None) -> CostReport:
        """As `Client.cost`."""
        return await self._call(self._api.cost, by=by, since=since)

    async def is_priced(self, model: str) -> bool:
        """As `Client.is_priced`."""
        return await self._call(self._api.is_priced, model)

    async def admission(self) -> AdmissionState:
        """As `Client.admission`."""
        return await self._call(self._api.admission)

    async def line_place(self, task_id: str) -> LinePlace | None:
        """As `Client.line_place`."""
        return await self._call(self._api.line_place, task_id)

    async def pools(self) -> Sequence[PoolState]:
        """As `Client.pools`."""
        return await self._call(self._api.pools)

    async def set_pool(self, name: str, *, max_cost_usd: float | None) -> None:
        """As `Client.set_pool`."""
        await self._call(self._api.set_pool, name, max_cost_usd=max_cost_usd)

    async def counts(self) -> dict[str, int]:
        """As `Client.counts`."""
        return await self._call(self._api.counts)

    async def recovery_report(self) -> RecoveryReport | None:
        """As `Client.recovery_report`."""
        return await self._call(self._api.recovery_report)

    async def changed_since_asked(self, record: TaskRecord) -> frozenset[str]:
        """As `Client.changed_since_asked`."""
        return await self._call(self._api.changed_since_asked, record)

    async def shown_prompts(self, record: TaskRecord) -> tuple[ShownPrompt, ...]:
        """As `Client.shown_prompts`."""
        return await self._call(self._api.shown_prompts, record)

    async def context_size(self, task_id: str) -> ContextSize:
        """As `Client.context_size`."""
        return await self._call(self._api.context_size, task_id)

    async def inbox(self, *, limit: int = INBOX_PROMPTS) -> Inbox:
        """As `Client.inbox`."""
        return await self._call(self._api.inbox, limit=limit)

    async def history(self, task_id: str, *, after: str = FIRST_EVENT) -> Sequence[Event]:
        """As `Client.history`, without waiting."""
        return await self._call(self._api.history, task_id, after=after)

    async def approve(
        self,
        callback: Callable[[OpenPrompt], str | Awaitable[str | None] | None],
        *,
        tasks: Iterable[str] = (),
        poll_s: float = APPROVE_POLL_S,
        timeout_s: float | None = None,
        most: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """As `Client.approve`; the function may be a coroutine's, and cancelling ends the loop at once."""
        loop = self._approvals.loop(tasks, poll_s, timeout_s, most, stop)
        async for entry in self._found(loop.steps()):
            said = callback(entry)
            answer = await said if isinstance(said, Awaitable) else said
            if answer is not None:
                loop.count += await self._call(loop.send, entry, answer)
        return loop.count

"""The client for asyncio on a real server; the test plays the workers through the store."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Coroutine
from typing import Any, TypeVar

import pytest

from clikit import Bench
from neuraphage.client import AsyncClient, Client
from neuraphage.errors import BadInput, IllegalMove, TaskNotFound
from neuraphage.model.event import Event
from neuraphage.model.prompt import PERMISSION_OPTIONS, Prompt, PromptKind
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Delta, FinishTo, SignalVerdict
from neuraphage.store import live
from patience import PATIENCE_S

T = TypeVar("T")
LIMIT_S = PATIENCE_S
UNKNOWN = "task-01a2b3c4-0000-7000-8000-000000000000"


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(work, LIMIT_S))


def public(client: Client | AsyncClient) -> set[str]:
    """Names that a program may use, settings and methods; closing is named as asyncio's own things name it."""
    return {name.replace("aclose", "close") for name in dir(client) if not name.startswith("_")}


def arguments_of(client: Client | AsyncClient, name: str) -> list[inspect.Parameter]:
    """Of a method, with their defaults."""
    return list(inspect.signature(getattr(client, name)).parameters.values())


def test_the_same_names_and_arguments(bench: Bench) -> None:
    """Who knows one client knows the other: a method that one gains, the other must gain too."""

    async def work() -> None:
        async with AsyncClient(bench.client.settings) as asynchronous:
            names = public(bench.client)
            assert public(asynchronous) == names
            assert {"submit", "follow", "events", "wait", "settings", "close"} <= names
            # but: submit passes its keywords on as they are, history does not wait, approve takes coroutines' functions
            for name in names - {"settings", "close", "submit", "history", "approve"}:
                assert arguments_of(asynchronous, name) == arguments_of(bench.client, name), name

    run(work())


def test_a_task_from_submit_to_its_end(bench: Bench) -> None:
    """Every request reaches the store, and its result comes back typed."""

    async def work() -> None:
        async with AsyncClient(bench.client.settings) as client:
            task_id = await client.submit("do it", allow=["edit"], key="k")
            assert await client.submit("again", key="k") == task_id
            assert (await client.get(task_id)).spec.allow == ("edit",)
            assert [record.task_id for record in await client.list()] == [task_id]
            assert (await client.send(task_id, "hello", key="m")).verdict is SignalVerdict.ACCEPTED
            assert (await client.send(task_id, "hello", key="m")).verdict is SignalVerdict.REPEATED
            await client.pause(task_id)
            assert (await client.wait(task_id, until=[Status.PAUSED])).status is Status.PAUSED
            await client.resume(task_id)
            assert await client.wake(task_id)
            assert (await client.why(task_id)).place == "outbox"
            assert (await client.counts())["Queued"] == 1
            assert await client.conversation(task_id)
            assert await client.journal(task_id) == {}
            assert await client.decisions(task_id) == ()
            assert await client.recovery_report() is None
            await client.cancel(task_id, reason="enough")
            assert (await client.wait(task_id)).status is Status.CANCELLED
            for call in (client.retry, client.reset, client.retry_reply):
                with pytest.raises(IllegalMove):
                    await call(task_id)
            record = await client.get(task_id)
            assert await client.changed_since_asked(record) == frozenset()
            with pytest.raises(IllegalMove):
                await client.put_back(record, "reset")
            assert await client.recovery_report() is None, "what was refused is not noted"
            prompt = Prompt(prompt_id="p", kind=PromptKind.PERMISSION, text="May it?", options=PERMISSION_OPTIONS)
            with pytest.raises(BadInput, match="must name its prompt"):
                await client.answer(bench.kit.waiting(prompt), "y")
            assert (await client.answer(bench.kit.waiting(prompt), "y", prompt_id="p")).place == "outbox"

    run(work())


def test_events_as_they_come(bench: Bench) -> None:
    """An async iterator that ends with the task, resumes after any id, and holds up nothing else meanwhile."""

    async def work() -> None:
        task_id, lease = bench.kit.running()
        async with AsyncClient(bench.client.settings) as client:
            seen = []
            async for event in client.events(task_id, follow=True):
                seen.append(event)
                if event.kind == "TaskStarted":
                    finish = asyncio.to_thread(bench.kit.finish, lease, FinishTo.COMPLETED, summary="Done.")
                    await asyncio.gather(finish, *(client.get(task_id) for _ in range(20)))
            assert [event.kind for event in seen] == ["TaskCreated", "TaskStarted", "TaskCompleted"]
            rest = [event async for event in client.events(task_id, after=seen[0].event_id or "")]
            assert rest == seen[1:]

    run(work())


def test_follow_shows_what_the_plain_client_shows(bench: Bench) -> None:
    """History lines and pieces of the reply in order, the present record after each look, then the end."""

    async def work() -> None:
        task_id, lease = bench.kit.running()
        seen: list[Event | Delta | TaskRecord] = []
        async with AsyncClient(bench.client.settings) as client:
            async for item in client.follow(task_id, poll_s=0.001):
                first = isinstance(item, TaskRecord) and not any(isinstance(one, TaskRecord) for one in seen)
                seen.append(item)
                if first:
                    pieces = [Delta("text", "hel"), Delta("text", "lo")]
                    await asyncio.to_thread(live.publish, bench.kit.store.context, task_id, pieces)
                    await asyncio.to_thread(bench.kit.finish, lease, FinishTo.COMPLETED, summary="Done.")
            assert [item.text for item in seen if isinstance(item, Delta)] == ["hel", "lo"]
            lines = [item for item in seen if isinstance(item, Event)]
            assert lines == [line async for line in client.events(task_id)]
            assert isinstance(seen[-1], TaskRecord)
            assert seen[-1].status is Status.COMPLETED
            again = [item async for item in client.follow(task_id, after=lines[0].event_id or "")]
            assert [item for item in again if isinstance(item, Event)] == lines[1:]

    run(work())


def test_what_is_wrong_is_raised_where_it_is_awaited(bench: Bench) -> None:
    """The same errors as those of the plain client."""

    async def work() -> None:
        async with AsyncClient(bench.client.settings) as client:
            with pytest.raises(TaskNotFound):
                await client.get(UNKNOWN)
            with pytest.raises(TaskNotFound):
                await anext(client.events(UNKNOWN))
            with pytest.raises(TaskNotFound):
                await anext(client.follow(UNKNOWN))
            for read in (client.events, client.follow):
                with pytest.raises(BadInput, match="no event id"):
                    await anext(read(bench.kit.create(), after="yesterday"))
            with pytest.raises(TimeoutError, match="Queued"):
                await client.wait(bench.kit.create(), timeout_s=0.01)

    run(work())


def test_cancellation_leaves_nothing_behind(bench: Bench) -> None:
    """Hundreds of waits hold no thread; cancelled, they are gone at once, and so are threads and connections."""
    before = set(threading.enumerate())

    async def work() -> None:
        task_id, others = bench.kit.create(), asyncio.all_tasks()
        async with AsyncClient(bench.client.settings) as client:
            waiting = [asyncio.ensure_future(client.wait(task_id)) for _ in range(300)]
            reading = [asyncio.ensure_future(_all(client.events(task_id, follow=True))) for _ in range(20)]
            reading += [asyncio.ensure_future(_all(client.follow(task_id, poll_s=0.01))) for _ in range(20)]
            assert (await client.get(task_id)).status is Status.QUEUED  # they do not keep others from their turn
            for each in (*waiting, *reading):
                each.cancel()
            ended = await asyncio.gather(*waiting, *reading, return_exceptions=True)
            assert {type(each) for each in ended} == {asyncio.CancelledError}
            assert asyncio.all_tasks() == others

    run(work())
    assert {t for t in threading.enumerate() if t not in before and t.name.startswith("neuraphage-client")} == set()


async def _all(items: AsyncIterator[Any]) -> None:
    async for _ in items:
        pass

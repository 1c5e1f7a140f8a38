"""Following a task: one row of steps, taken by a thread that waits or by an event loop that does not."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from apikit import ApiBench
from neuraphage.api import steps
from neuraphage.api.steps import Change, Pause, Read, blocking
from neuraphage.api.task_steps import TaskSteps
from neuraphage.client import AsyncClient, Client
from neuraphage.errors import StoreUnavailable
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskRecord
from neuraphage.settings import Settings
from patience import PATIENCE_S


@pytest.fixture
def bench() -> ApiBench:
    """A service of this test alone."""
    return ApiBench()


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages are looked at again at once."""
    monkeypatch.setattr(steps, "OUTAGE_PAUSE_S", 0.001)


def in_a_loop(bench: ApiBench, work: Callable[[AsyncClient], Any]) -> Any:
    """Run something with the client for asyncio on the same ports."""

    async def run() -> Any:
        async with AsyncClient(Settings()) as client:
            client._api, client._steps = bench.api, TaskSteps(bench.ports)
            return await asyncio.wait_for(work(client), PATIENCE_S)

    return asyncio.run(run())


def kinds_of(bench: ApiBench, task_id: str, *, how: str) -> list[str]:
    """Kinds of all lines that following finds until the task is over."""
    if how == "thread":
        return [line.kind for line in bench.api.events(task_id, follow=True)]

    async def work(client: AsyncClient) -> list[str]:
        return [line.kind async for line in client.events(task_id, follow=True)]

    found: list[str] = in_a_loop(bench, work)
    return found


@pytest.mark.parametrize("how", ["thread", "loop"])
def test_both_find_the_same_through_an_outage(bench: ApiBench, how: str, hasty: None) -> None:
    """Lines that come meanwhile, in order and once each, also when the server is away in between; then the end."""
    task_id = bench.api.submit("x")
    original, told = bench.rows.events, iter(["TurnStarted", "end"])

    def events(task_id: str, *, after: str, block_ms: int | None = None) -> Any:
        """After each empty read the workers go on, and the server is away for two reads."""
        found = original(task_id, after=after, block_ms=block_ms)
        if not found and (kind := next(told, None)) is not None:
            bench.rows.complete(task_id) if kind == "end" else bench.rows.write(task_id, kind)
            bench.rows.away = 2
        return found

    bench.rows.events = events  # type: ignore[method-assign]
    assert kinds_of(bench, task_id, how=how) == ["TaskCreated", "TurnStarted", "TaskCompleted"]


@pytest.mark.parametrize("how", ["thread", "loop"])
def test_the_first_read_fails_at_once(bench: ApiBench, how: str) -> None:
    """Who asks for a server that is not there is told so, and does not wait for a minute."""
    task_id = bench.api.submit("x")
    bench.rows.away = 1
    with pytest.raises(StoreUnavailable):
        kinds_of(bench, task_id, how=how)


def test_a_loop_never_blocks_in_a_read(bench: ApiBench) -> None:
    """A thread waits in the server for the next line; the loop looks again instead, so that it holds no thread."""
    task_id = bench.api.submit("x")

    async def work(client: AsyncClient) -> TaskRecord:
        waiting = asyncio.ensure_future(client.wait(task_id))
        await asyncio.sleep(0.05)
        bench.rows.complete(task_id)
        return await waiting

    assert in_a_loop(bench, work).status is Status.COMPLETED
    assert bench.rows.blocked_ms == []
    other = bench.api.submit("y")
    with pytest.raises(TimeoutError, match=r"is still Queued after 0\.05 s"):
        bench.api.wait(other, timeout_s=0.05)
    assert bench.rows.blocked_ms
    assert max(bench.rows.blocked_ms) <= 50


def test_a_wait_ends_in_time_while_the_server_is_away(bench: ApiBench, hasty: None) -> None:
    """By its own deadline, long before an outage is given up."""
    task_id = bench.api.submit("x")

    async def work(client: AsyncClient) -> TaskRecord:
        asyncio.get_running_loop().call_later(0.02, lambda: setattr(bench.rows, "away", 10**9))
        return await client.wait(task_id, timeout_s=0.2)

    began_s = time.monotonic()
    with pytest.raises(TimeoutError, match="is still Queued"):
        in_a_loop(bench, work)
    assert time.monotonic() - began_s < steps.OUTAGE_PATIENCE_S / 2


def test_who_blocks_takes_every_kind_of_step() -> None:
    """A read is answered by its result, a change by its lines, a pause by nothing; what is found comes out."""
    line = Event(kind="TaskCreated", event_id="1")
    asked: list[int] = []

    def lines(block_ms: int) -> list[Event]:
        asked.append(block_ms)
        return [line]

    def found() -> Iterator[Any]:
        yield (yield Read(lambda: 7))
        yield (yield Change(lines, 300))
        yield (yield Pause(0.0))

    assert list(blocking(found())) == [7, [line], None]  # type: ignore[arg-type]
    assert asked == [300]


def test_both_clients_can_do_the_same() -> None:
    """All that one has, the other has by the same name; each closes in its own way."""
    plain, for_asyncio = ({name for name in dir(kind) if not name.startswith("_")} for kind in (Client, AsyncClient))
    assert (plain - for_asyncio, for_asyncio - plain) == ({"close"}, {"aclose", "settings"})

"""Following a task with the Python client: events, pieces of the reply, waiting, and an outage in between."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator

import pytest

from clikit import Bench
from neuraphage.api import steps
from neuraphage.api.steps import Read, blocking, patiently
from neuraphage.errors import AccessRefused, BadInput, StoreUnavailable
from neuraphage.model.event import Event
from neuraphage.model.task import Status, TaskRecord
from neuraphage.ports import Delta, FinishTo
from neuraphage.store import live
from patience import PATIENCE_S


def test_events_can_be_resumed(bench: Bench) -> None:
    """Reading on after any line gives exactly the rest."""
    task_id = bench.kit.put(Status.COMPLETED)
    lines = list(bench.client.events(task_id))
    assert len(lines) >= 3
    for number, line in enumerate(lines):
        assert list(bench.client.events(task_id, after=line.event_id or "")) == lines[number + 1 :]


def test_following_events_ends_with_the_task(bench: Bench) -> None:
    """Lines that are written later come too, and then the iteration ends."""
    task_id, lease = bench.kit.running()
    lines = bench.client.events(task_id, follow=True)
    seen = [next(lines).kind for _ in list(bench.client.events(task_id))]
    waiting: list[str] = []
    reader = threading.Thread(target=lambda: waiting.extend(line.kind for line in lines))
    reader.start()
    bench.kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    assert seen[0] == "TaskCreated"
    assert waiting[-1] == "TaskCompleted"


def test_follow_shows_events_and_pieces_in_order(bench: Bench) -> None:
    """A viewer sees each thing once, then the final record; it may start after any line."""
    task_id, lease = bench.kit.running()
    stream = bench.client.follow(task_id, poll_s=0.001)
    first = list(itertools.takewhile(lambda i: not isinstance(i, TaskRecord), stream))
    live.publish(bench.kit.store.context, task_id, [Delta("text", "hel"), Delta("text", "lo")])
    bench.kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    rest = list(stream)
    assert [i.text for i in rest if isinstance(i, Delta)] == ["hel", "lo"]
    events = [i for i in (*first, *rest) if isinstance(i, Event)]
    assert events == list(bench.client.events(task_id))
    assert isinstance(rest[-1], TaskRecord)
    assert rest[-1].status is Status.COMPLETED
    again = bench.client.follow(task_id, after=events[0].event_id or "")
    assert [i for i in again if isinstance(i, Event)] == events[1:]


def test_wait(bench: Bench) -> None:
    """For the end, for a status, and not for ever."""
    task_id, lease = bench.kit.running()
    with pytest.raises(TimeoutError, match="Running"):
        bench.client.wait(task_id, timeout_s=0.05)
    assert bench.client.wait(task_id, until=[Status.RUNNING]).status is Status.RUNNING
    ended: list[TaskRecord] = []
    waiter = threading.Thread(target=lambda: ended.append(bench.client.wait(task_id, timeout_s=PATIENCE_S)))
    waiter.start()
    bench.kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    waiter.join(PATIENCE_S)
    assert ended[0].status is Status.COMPLETED
    never = bench.client.wait(task_id, until=[Status.PAUSED], timeout_s=PATIENCE_S)  # over: no other status will come
    assert never.status is Status.COMPLETED


def test_following_sits_out_an_outage(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is away is waited for, and its refusals are not; the first read fails at once."""
    tries: list[int] = []

    def read(away: int, error: type[StoreUnavailable]) -> int:
        tries.append(0)
        if len(tries) <= away:
            raise error("away")
        return len(tries)

    def taken(away: int, error: type[StoreUnavailable]) -> list[int]:
        def found() -> Iterator[int]:
            yield (yield from patiently(Read(lambda: read(away, error))))

        return list(blocking(found()))

    monkeypatch.setattr(steps, "OUTAGE_PAUSE_S", 0.001)
    assert taken(3, StoreUnavailable) == [4]
    tries.clear()
    with pytest.raises(AccessRefused):
        taken(3, AccessRefused)
    assert len(tries) == 1
    tries.clear()
    monkeypatch.setattr(steps, "OUTAGE_PATIENCE_S", 0.01)
    with pytest.raises(StoreUnavailable):
        taken(10**6, StoreUnavailable)
    assert len(tries) > 1


@pytest.mark.parametrize("after", ["", "yesterday", "1-2-3", "-", "1" * 30])
def test_events_after_what_is_no_event(bench: Bench, after: str) -> None:
    """A wrong id is told before the server is asked to read it."""
    task_id = bench.kit.create()
    for read in (bench.client.events, bench.client.follow, bench.client.history):
        with pytest.raises(BadInput, match="no event id"):
            list(read(task_id, after=after))

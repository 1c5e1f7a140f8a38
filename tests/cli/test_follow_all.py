"""Following the events of all tasks: each once, resumable by id, over lost writes; and what is missing is told."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from clikit import Bench, CommandLine
from neuraphage.api.following_all import REMEMBERED
from neuraphage.client import AsyncClient
from neuraphage.errors import BadInput
from neuraphage.model.event import Event
from neuraphage.model.event_stream import EventGap, GapKind
from neuraphage.model.task import Status
from neuraphage.ports import FinishTo
from patience import PATIENCE_S

ALL = {"since": "0", "wait": False}


def read(bench: Bench, **asked: Any) -> list[Event]:
    """What there is, without a gap."""
    found = list(bench.client.follow(**{**ALL, **asked}))
    assert not any(isinstance(one, EventGap) for one in found)
    return [one for one in found if isinstance(one, Event)]


def ids(events: list[Any]) -> list[str]:
    return [event.event_id for event in events]


def test_reading_on_after_any_event_gives_exactly_the_rest(bench: Bench) -> None:
    """Of tasks that go side by side; and an id is the same in the history of its task."""
    first, lease = bench.kit.running()
    second = bench.kit.put(Status.WAITING_FOR_USER)
    bench.kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    whole = read(bench)
    assert {event.task_id for event in whole} == {first, second}
    for number, event in enumerate(whole):
        assert read(bench, since=event.event_id) == whole[number + 1 :]
    assert list(bench.client.events(second)) == [event for event in whole if event.task_id == second]


def test_kinds_groups_and_tasks(bench: Bench) -> None:
    """Each alone and together, in any case of letters."""
    failed, waiting = bench.kit.put(Status.FAILED), bench.kit.put(Status.WAITING_FOR_USER)
    assert [event.task_id for event in read(bench, kinds=["taskfailed"])] == [failed]
    assert [event.kind for event in read(bench, kinds=["iteration"])] == ["UserInputNeeded"]
    assert {event.task_id for event in read(bench, tasks=[waiting[-8:]])} == {waiting}
    assert read(bench, kinds=["TaskFailed", "iteration"], tasks=[waiting])[0].kind == "UserInputNeeded"


@pytest.mark.parametrize(
    "asked",
    [{"since": "never"}, {"since": "1-2-3"}, {"since": "3y"}, {"since": ""}, {"kinds": ["Nothing"]}, {"kinds": [""]}],
)
def test_what_cannot_be_read_is_told_before_the_server_is_asked(bench: Bench, asked: dict[str, Any]) -> None:
    """With what can be given instead."""
    with pytest.raises(BadInput, match="give an"):
        list(bench.client.follow(**{**ALL, **asked}))


def test_from_now_on(bench: Bench) -> None:
    """Without a position what was before is left out, and what comes then is not."""
    bench.kit.put(Status.COMPLETED)
    found = bench.client.follow()
    seen: list[str] = []
    began = threading.Event()

    def reading() -> None:
        for event in found:
            assert isinstance(event, Event)
            seen.append(event.kind)
            began.set()
            if event.kind == "TaskPaused":
                return

    reader = threading.Thread(target=reading)
    reader.start()
    while not began.wait(0.02):
        bench.kit.create()
    task_id = bench.kit.put(Status.PAUSED)
    reader.join(PATIENCE_S)
    assert not reader.is_alive()
    assert seen[-1] == "TaskPaused"
    assert "TaskCompleted" not in seen
    assert task_id


def test_since_a_time(bench: Bench) -> None:
    """How long ago, or a moment; a stream that is younger has lost nothing."""
    bench.kit.put(Status.COMPLETED)
    whole = read(bench)
    assert read(bench, since="1h") == read(bench, since="2020-01-02T03:04") == read(bench, since="2020-01-02") == whole
    at = f"{(whole[-1].at_ms or 0) + 60_000}"
    assert read(bench, since=at) == []


def test_what_is_kept_no_more_is_told(bench: Bench) -> None:
    """Once, in its place, with where it goes on; to one who comes back late, to a slow one, and by time."""
    for _ in range(110):
        bench.kit.create()
    whole = read(bench)
    slow = bench.client.follow(since=whole[0].event_id, wait=False)
    begun = [next(slow)]
    for _ in range(450):
        bench.kit.create()
    bench.kit.client.xtrim(bench.kit.keys.all_events, maxlen=50, approximate=False)
    left = read(bench)
    assert len(left) == 50
    for found in (
        list(bench.client.follow(since=whole[3].event_id, wait=False)),
        list(bench.client.follow(since="1h", wait=False)),
    ):
        gap, *rest = found
        assert isinstance(gap, EventGap)
        assert gap.why is GapKind.TRIMMED
        assert gap.until == left[0].event_id
        assert rest == left
    late = begun + list(slow)
    gaps = [one for one in late if isinstance(one, EventGap)]
    assert [gap.why for gap in gaps] == [GapKind.TRIMMED]
    assert ids([one for one in late if isinstance(one, Event)]) == ids(whole[1:]) + ids(left)


def lose_the_last(bench: Bench, saved: dict[bytes, tuple[bytes, int]]) -> None:
    """The server is replaced by one that had less."""
    bench.kit.restore(saved)


def test_writes_that_were_lost_are_told_and_new_ones_are_not_skipped(bench: Bench) -> None:
    """Also where the clock of the new server stands behind, so that new events have lower ids than lost ones."""
    kit = bench.kit
    kept = [kit.create() for _ in range(3)]
    saved = kit.snapshot()
    found = bench.client.follow(since="0")
    before = [next(found) for _ in kept]
    ahead = f"{kit.store.now_ms() + 10**6}-0"
    kit.client.xadd(kit.keys.all_events, {"TaskCreated": kept[0]}, id=ahead)
    lost = next(found)
    assert isinstance(lost, Event)
    assert lost.event_id == ahead
    kit.restore(saved)
    new = [kit.create() for _ in range(2)]
    rest = [next(found) for _ in range(3)]
    assert isinstance(rest[0], EventGap)
    assert (rest[0].why, rest[0].after) == (GapKind.LOST, ahead)
    assert [event.task_id for event in rest[1:] if isinstance(event, Event)] == new
    assert ids(before + rest[1:]) == ids(read(bench))
    # another reader, who knows nothing but the id of the lost event
    again = bench.client.follow(since=ahead)
    gap = next(again)
    assert isinstance(gap, EventGap)
    assert gap.why is GapKind.LOST
    newest = kit.create()
    assert getattr(next(again), "task_id", None) == newest


def test_a_reader_holds_no_more_than_a_page_and_the_last_ids(bench: Bench) -> None:
    """However much there is; all of it comes."""
    task_id = bench.kit.create()
    with bench.kit.client.pipeline(transaction=False) as pipe:
        for _ in range(3 * REMEMBERED):
            pipe.xadd(bench.kit.keys.all_events, {"TaskResumed": task_id})
        pipe.execute()
    steps = bench.client._steps
    following = steps._following_all("0", (), ())
    sizes, total = [], 0
    while not (look := following.look()).is_end:
        sizes.append(len(look.items))
        total += len(look.items)
    assert total == 3 * REMEMBERED + 1
    assert max(sizes) <= 500
    assert len(following._given) == REMEMBERED
    bench.kit.broken_on_purpose = True


def test_the_client_for_asyncio_gives_the_same(bench: Bench) -> None:
    """What there is, what comes, and gaps; leaving it leaves nothing behind."""

    async def work() -> None:
        task_id, lease = bench.kit.running()
        async with AsyncClient(bench.client.settings) as client:
            assert [one async for one in client.follow(since="0", wait=False)] == read(bench)
            seen = []
            async for item in client.follow(since="0", tasks=[task_id]):
                assert isinstance(item, Event)
                seen.append(item.kind)
                if item.kind == "TaskStarted":
                    await asyncio.to_thread(bench.kit.finish, lease, FinishTo.COMPLETED, summary="Done.")
                if item.kind == "TaskCompleted":
                    break
            assert seen == ["TaskCreated", "TaskStarted", "TaskCompleted"]
            with pytest.raises(BadInput):
                await anext(client.follow(since="never"))

    asyncio.run(asyncio.wait_for(work(), PATIENCE_S))


def test_the_command_shows_all_tasks_one_task_and_some_kinds(bench: Bench, cli: CommandLine) -> None:
    """With the task of each line; resumable by the id that it shows."""
    failed, done = bench.kit.put(Status.FAILED), bench.kit.put(Status.COMPLETED)
    lines = cli("events").out.splitlines()
    assert sum("failed: No." in line for line in lines) == 1
    assert len(lines) == 6
    assert cli("events", "--since", lines[3].split()[0]).out.splitlines() == lines[4:]
    assert len(cli("events", "--kind", "TaskFailed", "--kind", "TaskCompleted").out.splitlines()) == 2
    assert len(cli("events", "--task", done, "--task", failed).out.splitlines()) == 6
    assert [line.split()[-1] for line in cli("events", done, "--kind", "TaskCompleted").out.splitlines()] == ["Done."]
    shown = cli("events", "--json", "--kind", "TaskFailed").json
    assert (shown["task_id"], shown["group"], shown["cause"], shown["fence"]) == (failed, "lifecycle", "worker", 1)


def test_the_command_tells_of_a_gap(bench: Bench, cli: CommandLine) -> None:
    """People on standard error, programs in the stream."""
    for _ in range(300):
        bench.kit.create()
    first = read(bench)[0].event_id or ""
    bench.kit.client.xtrim(bench.kit.keys.all_events, maxlen=10, approximate=False)
    ran = cli("events", "--since", first)
    assert f"events after {first} are not kept any more" in ran.err
    assert len(ran.out.splitlines()) == 10
    assert '"gap": "trimmed"' in cli("events", "--since", first, "--json").out.splitlines()[0]


@pytest.mark.parametrize(
    "asked",
    [["--since", "never"], ["--kind", "Nothing"], ["--task", "zzz"], ["TASK", "--task", "TASK"], ["--since", ""]],
)
def test_bad_input_ends_with_2(bench: Bench, cli: CommandLine, asked: list[str]) -> None:
    """With a sentence, and no trace."""
    task_id = bench.kit.create()
    ran = cli("events", *(task_id if one == "TASK" else one for one in asked))
    assert ran.code == 2
    assert "Traceback" not in ran.err


def test_nothing_yet(bench: Bench, cli: CommandLine) -> None:
    """Of a namespace without events, and behind the last one."""
    assert cli("events").code == 0
    assert read(bench) == []
    found: Iterator[Any] = bench.client.follow(since="1-1", wait=False)
    assert [type(one) for one in found] == [EventGap]

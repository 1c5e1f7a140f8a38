"""The server comes back without its last writes: a power cut on a careless disk, a backup, a failover."""

from __future__ import annotations

from collections import Counter

import pytest
from fault_server import FaultServer
from fault_world import World

from stackkit.scripts import Turn, command, task_prompt, turn
from turnkit import until

pytestmark = pytest.mark.real_redis


def lines(world: World) -> list[str]:
    """What commands have written."""
    path = world.folder / "log.txt"
    return path.read_text(encoding="utf-8").split() if path.exists() else []


def waits(name: str, go: str) -> tuple[str, dict[str, object]]:
    """A command that writes its name and then waits for a file."""
    return command(f"echo {name} >> log.txt; while [ ! -e {go} ]; do sleep 0.02; done")


def two_commands() -> Turn:
    """A reply that calls two commands, each of which waits for its file."""
    return turn("two", waits("first", "go-1"), waits("second", "go-2"))


def test_a_lost_commit_is_noticed_by_its_own_claim(
    world: World, server: FaultServer, caplog: pytest.LogCaptureFixture
) -> None:
    """The marker of the second command is lost: its holder stops by LOST, its successor finds both commands."""
    task = world.submit(task_prompt(two_commands(), turn("done")))
    world.start()
    until(lambda: lines(world) == ["first"])
    with server.set_back():
        (world.folder / "go-1").touch()
        until(lambda: lines(world) == ["first", "second"])
    (world.folder / "go-2").touch()
    world.finished([task])
    assert "commit answered LOST" in caplog.text or "finish answered LOST" in caplog.text
    assert lines(world) == ["first", "second"]
    world.check([task], recoveries=1)


def test_a_lost_claim_is_noticed(world: World, server: FaultServer, caplog: pytest.LogCaptureFixture) -> None:
    """The claim itself is lost, and the reply with it: the holder is STALE, the same call is found in the spool."""
    task = world.submit(task_prompt(two_commands(), turn("done")), publish=False)
    with server.set_back():
        world.start()
        world.dispatcher.publish_turn(task, 0, 1)
        until(lambda: lines(world) == ["first"])
    until(lambda: "answered STALE" in caplog.text)
    (world.folder / "go-1").touch()
    (world.folder / "go-2").touch()
    world.finished([task])
    assert lines(world) == ["first", "second"]
    world.check([task], calls_doubled=1)


def test_two_owners_of_one_fence(world: World, server: FaultServer) -> None:
    """Time travel: before and after, two claims get the same fence number; only the one that is stored may write."""
    task = world.submit(task_prompt(two_commands(), turn("done")), publish=False)
    with server.set_back():
        lost = world.store.claim(task, 1, "before", "claim-before")
    held = world.store.claim(task, 1, "after", "claim-after")
    assert lost.lease is not None
    assert held.lease is not None
    assert lost.lease.fence == held.lease.fence
    assert [renewal.held for renewal in world.store.renew([lost.lease, held.lease])[1]] == [False, True]


@pytest.mark.parametrize("cut_bytes", [1, 700, 5_000])
def test_a_torn_file_runs_no_command_twice(world: World, server: FaultServer, cut_bytes: int) -> None:
    """Kill -9 under load and the last bytes are gone: what ran is found again, and everything ends."""
    tasks = []
    for number in range(3):
        turns = [turn("", command(f"echo {number}-{step} >> log.txt")) for step in range(4)]
        tasks.append(world.submit(task_prompt(*turns, turn("done"))))
    world.start()
    until(lambda: len(lines(world)) > 3)
    server.torn(cut_bytes)
    world.finished(tasks)
    assert Counter(lines(world)) == Counter(f"{number}-{step}" for number in range(3) for step in range(4))
    world.check(tasks, recoveries=None, calls_doubled=None)

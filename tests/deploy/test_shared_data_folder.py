"""Containers of one machine that share a data folder: each sees to its own processes, and harms no other's."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from neuraphage.model.detached import DetachedState
from neuraphage.ports import ProcessRow, SpoolCommand
from neuraphage.runtime.clock import SystemClock
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.health import HealthReporter, read_health
from neuraphage.runtime.host import ProcessIdentity, this_process
from neuraphage.runtime.sweep import Sweep
from neuraphage.runtime.watcher import Watcher
from neuraphage.spool.command_spool import CommandSpool
from storekit import StoreKit, new_kit

HERE, THERE = "boot-1", "boot-2"
"""Two containers: one boot id, two process namespaces."""
EFFECT = "e" * 32


class NoQueue:
    """Nothing is published."""

    def publish_turn(self, task_id: str, iteration: int, seq: int, after: str = "") -> bool:
        return True

    def queue_length(self) -> int | None:
        return None


@pytest.fixture
def kit() -> StoreKit:
    return new_kit()


@pytest.fixture
def spool(tmp_path: Path) -> Iterator[CommandSpool]:
    """The folder that both containers have mounted, with one running command."""
    spool = CommandSpool(tmp_path / "spool", 1_000_000)
    yield spool
    spool.cancel(EFFECT)


def start_command(spool: CommandSpool, task_id: str, folder: Path) -> None:
    command = SpoolCommand(
        effect_id=EFFECT,
        task_id=task_id,
        argv=("/bin/sleep", "60"),
        cwd=str(folder),
        env={"PATH": os.environ["PATH"]},
        timeout_s=60.0,
    )
    assert spool.start(command) is DetachedState.RUNNING


def watcher_of(kit: StoreKit, host: str, spool: CommandSpool, folder: Path) -> Watcher:
    settings, clock = kit.store.context.settings, SystemClock()
    sweep = Sweep(kit.store, NoQueue(), clock, settings)
    return Watcher(kit.store, sweep, clock, settings, host, HostElection(folder, host), spool)


@pytest.mark.parametrize(("theirs", "ended"), [("same", 0), ("", 0), ("another", 1)])
def test_a_command_goes_on_while_its_holder_shares_the_spool(
    kit: StoreKit, spool: CommandSpool, tmp_path: Path, theirs: str, ended: int
) -> None:
    """The watcher of one container ends no command that a worker of another one can read and wait for."""
    task_id = kit.create()
    kit.claim(task_id, process="p2")
    start_command(spool, task_id, tmp_path)
    folder = spool.identity if theirs == "same" else theirs
    kit.store.register(ProcessRow("p2", THERE, 7, 1.0, 0, folder))
    assert watcher_of(kit, HERE, spool, tmp_path).see_to_spool() == ended
    assert spool.running() == [(EFFECT, task_id)] or ended


def test_a_command_ends_when_its_task_is_over_wherever_that_was(
    kit: StoreKit, spool: CommandSpool, tmp_path: Path
) -> None:
    """Nobody waits for it any more."""
    start_command(spool, "task-00000000-0000-0000-0000-00000000dead", tmp_path)
    assert watcher_of(kit, HERE, spool, tmp_path).see_to_spool() == 1


def test_each_container_has_its_watcher(tmp_path: Path) -> None:
    """Only a watcher of the same process namespace sees a death at once, so there is one for each."""
    here, again, there = HostElection(tmp_path, HERE), HostElection(tmp_path, HERE), HostElection(tmp_path, THERE)
    assert (here.won(), again.won(), there.won()) == (True, False, True)
    here.resign()
    assert again.won()
    again.resign()
    there.resign()


def reporter_of(kit: StoreKit, folder: Path, host: str, name: str) -> HealthReporter:
    identity = ProcessIdentity(os.getpid(), this_process().start_time)
    folder.mkdir(exist_ok=True)
    return HealthReporter(folder, kit.store, SystemClock(), identity, name, 1.0, lambda: True, host)


def test_health_of_equal_process_numbers_is_kept_apart(kit: StoreKit, tmp_path: Path) -> None:
    """The first process of every container has the same number; neither hides the other, nor takes its file away."""
    folder = tmp_path / "health"
    here, there = reporter_of(kit, folder, HERE, "here"), reporter_of(kit, folder, THERE, "there")
    here.write()
    there.write()
    assert [one.name for one in read_health(folder, SystemClock(), HERE)] == ["here"]
    assert [one.name for one in read_health(folder, SystemClock(), THERE)] == ["there"]
    there.stop()
    assert [one.name for one in read_health(folder, SystemClock(), HERE)] == ["here"]


def test_files_of_containers_that_are_gone_do_not_pile_up(kit: StoreKit, tmp_path: Path) -> None:
    """Nobody else can tell that their processes are gone, so age decides."""
    folder = tmp_path / "health"
    reporter_of(kit, folder, THERE, "gone").write()
    reporter_of(kit, folder, "boot-3", "lives").write()
    (gone,) = [path for path in folder.iterdir() if "gone" in path.read_text(encoding="utf-8")]
    os.utime(gone, (1.0, 1.0))
    read_health(folder, SystemClock(), HERE)
    assert ["lives" in path.read_text(encoding="utf-8") for path in folder.iterdir()] == [True]

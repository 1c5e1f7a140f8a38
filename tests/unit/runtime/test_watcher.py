"""The watcher: which process counts as dead, which only as absent, and when it sweeps itself."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from neuraphage.errors import SpoolError, StoreUnavailable
from neuraphage.model.detached import DetachedState
from neuraphage.model.prompt import Prompt
from neuraphage.model.task import TaskRecord
from neuraphage.runtime.host import ProcessIdentity
from watchkit import ALIVE, HERE, REUSED, THERE, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def watched_for_a_lease(bench: Bench) -> None:
    """The holder is there, on another host, and the watcher has been connected for long enough."""
    bench.enter(THERE)
    assert bench.watcher.look() == 0
    assert bench.look_after(bench.settings.lease_s) == 0


def test_a_process_of_another_host_counts_as_gone_after_its_absence(bench: Bench) -> None:
    """Not at once; then its task is recovered as of one that may still act, and it is forgotten."""
    watched_for_a_lease(bench)
    bench.vanish()
    assert bench.watcher.look() == 0
    assert bench.look_after(bench.settings.absent_host_s - 0.1) == 0
    assert bench.kit.place(bench.task_id) == "leases"
    assert bench.look_after(0.2) == 1
    assert bench.kit.place(bench.task_id) == "outbox"
    assert bench.kit.store.get(bench.task_id).unsafe_until_ms > 0
    assert bench.kit.store.registered() == []


def test_a_connection_that_comes_back_ends_the_absence(bench: Bench) -> None:
    """Two short absences are not one long one."""
    watched_for_a_lease(bench)
    for _ in range(3):
        bench.vanish()
        assert bench.watcher.look() == 0
        assert bench.look_after(bench.settings.absent_host_s - 0.1) == 0
        bench.present = lambda: frozenset({"p1"})
        assert bench.look_after(0.1) == 0
    assert bench.kit.place(bench.task_id) == "leases"


def test_a_watcher_that_was_just_connected_trusts_no_absence(bench: Bench) -> None:
    """After a restart of the server nobody is connected yet: absence counts only after one lease."""
    bench.enter(THERE)
    bench.vanish()
    assert bench.watcher.look() == 0
    assert bench.look_after(bench.settings.lease_s - 0.1) == 0
    assert bench.look_after(0.2) == 1


def test_a_server_that_was_away_begins_the_wait_anew(bench: Bench) -> None:
    """What was seen before an outage says nothing about the time after it."""
    watched_for_a_lease(bench)

    def away() -> frozenset[str]:
        raise StoreUnavailable("away")

    bench.present = away
    bench.watcher._round(told=False)
    bench.vanish()
    assert bench.look_after(bench.settings.absent_host_s + 0.1) == 0
    assert bench.look_after(bench.settings.lease_s - 0.1) == 0
    assert bench.look_after(0.2) == 1


def test_what_was_absent_before_an_outage_is_absent_anew(tmp_path: Path) -> None:
    """However long an absence has to be: the time in which nobody could look is no part of it."""
    bench = Bench(tmp_path, absent_host_s=100.0)
    watched_for_a_lease(bench)
    bench.vanish()
    assert bench.look_after(0.0) == 0

    def away() -> frozenset[str]:
        raise StoreUnavailable("away")

    bench.present = away
    bench.watcher._round(told=False)
    bench.vanish()
    assert bench.look_after(99.0) == 0
    assert bench.look_after(99.0) == 0
    assert bench.look_after(2.0) == 1


def test_a_process_of_this_host_is_looked_for_and_never_judged_by_absence(bench: Bench) -> None:
    """It lost its connection and lives: however long that lasts, it keeps its tasks."""
    bench.enter(HERE)
    bench.vanish()
    assert [bench.look_after(1_000.0) for _ in range(3)] == [0, 0, 0]
    assert bench.kit.place(bench.task_id) == "leases"


def test_a_process_of_this_host_that_is_gone_is_recovered_at_once(bench: Bench) -> None:
    """No wait, for the watcher's own connection neither; and its successor has nobody to wait for."""
    bench.enter(HERE, REUSED)
    bench.vanish()
    assert bench.watcher.look() == 1
    assert bench.kit.place(bench.task_id) == "outbox"
    assert bench.kit.store.get(bench.task_id).unsafe_until_ms == 0


def test_a_dead_process_whose_connection_stands_is_left_to_the_kernel(bench: Bench) -> None:
    """A forked child may still hold it; only who looks here for its own child does not wait for that."""
    bench.enter(HERE, REUSED)
    assert bench.watcher.look() == 0
    assert bench.watcher.look_here() == 1


class BrokenSpool:
    """A spool of two stray commands: the first cannot be ended, and the folder may be unreadable."""

    identity = "folder-1"

    def __init__(self, *, readable: bool) -> None:
        self.readable = readable
        self.ended: list[str] = []

    def expire(self, older_than_s: float) -> int:
        """Nothing is old."""
        return 0

    def running(self) -> list[tuple[str, str]]:
        """Both, of tasks that are over."""
        if not self.readable:
            raise SpoolError("input/output error")
        return [("bad", "task-gone"), ("good", "task-gone")]

    def revoke(self, effect_id: str) -> DetachedState:
        """End one of them."""
        if effect_id == "bad":
            raise SpoolError("input/output error")
        self.ended.append(effect_id)
        return DetachedState.RUNNING


def test_a_broken_spool_hides_no_death(bench: Bench) -> None:
    """Looks at other hosts and the sweep go on: what was seen of them is not forgotten with each failed look."""
    bench.watcher._spool = BrokenSpool(readable=False)
    bench.enter(THERE)
    assert bench.watcher._election.leads()
    for _ in range(3):
        bench.watcher._round(told=False)
        bench.clock.advance(bench.settings.lease_s)
    bench.vanish()
    bench.watcher._round(told=False)
    bench.clock.advance(bench.settings.absent_host_s + 0.1)
    bench.watcher._round(told=False)
    assert bench.kit.place(bench.task_id) == "outbox"
    assert bench.kit.store.last_sweep_ms() > 0


def test_one_command_that_cannot_be_ended_keeps_no_other(bench: Bench) -> None:
    """The others are ended at the same visit."""
    spool = BrokenSpool(readable=True)
    bench.watcher._spool = spool
    bench.watcher.see_to_spool()
    assert spool.ended == ["good"]


def test_it_sweeps_when_nobody_else_does(bench: Bench) -> None:
    """Without a sweep for three intervals it runs one; while there are sweeps it runs none."""
    store = bench.kit.store
    bench.watcher._see_to_sweep()
    assert store.last_sweep_ms() > 0
    bench.clock.advance(bench.settings.sweep_s)
    bench.kit.client.delete(bench.kit.keys.sweep_guard)  # which alone would keep a second sweep away
    bench.watcher._see_to_sweep()
    assert not bench.kit.client.exists(bench.kit.keys.sweep_guard)


@pytest.mark.parametrize("identity", [REUSED, ALIVE], ids=["no such process here", "a process here has its number"])
def test_a_process_of_another_host_is_not_judged_by_local_pids(bench: Bench, identity: ProcessIdentity) -> None:
    """Its number means nothing here: that none, or another process, has it here is no evidence, however it is asked."""
    bench.enter(THERE, identity)
    bench.vanish()
    assert bench.watcher.look() == 0
    assert bench.watcher.look_here() == 0
    assert bench.kit.place(bench.task_id) == "leases"
    assert [row.process_id for row in bench.kit.store.registered()] == ["p1"]


class Looks:
    """Implements ports.PromptNotices: counts the looks."""

    def __init__(self) -> None:
        self.count = 0

    def opened(self, record: TaskRecord, prompts: Sequence[Prompt]) -> None:
        raise AssertionError("a watcher opens nothing")

    def look(self) -> None:
        self.count += 1


@pytest.mark.parametrize("leads", [True, False])
def test_notices_are_looked_for_wherever_somebody_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, *, leads: bool
) -> None:
    """At each heartbeat, in every process: the one that leads may have settings that tell nobody."""
    looks = Looks()
    bench.watcher._notices = looks
    monkeypatch.setattr(bench.watcher._election, "leads", lambda: leads)
    for _ in range(3):
        bench.watcher._round(told=False)
    assert looks.count == 1
    bench.clock.advance(bench.settings.heartbeat_s)
    bench.watcher._round(told=False)
    assert looks.count == 2

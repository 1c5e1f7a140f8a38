"""What a watcher does in each round, beside the judgement of processes: whose turn it is, and what else is due."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuraphage.ports import ProcessRow, SignalKind, SuspendTo
from neuraphage.runtime.election import HostElection
from neuraphage.runtime.watcher import SPOOL_EXPIRY_INTERVAL_S
from stackkit.waiting import wait_for
from watchkit import ALIVE, HERE, REUSED, THERE, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(autouse=True)
def _no_leader_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has shown itself once in a test counts as at work, however slow the machine is."""
    monkeypatch.setattr("neuraphage.runtime.election.SILENT_S", 3_600.0)


def dies(bench: Bench) -> None:
    """The holder, of this host, is gone, and its connection with it."""
    bench.enter(HERE, REUSED)
    bench.vanish()


class Spool:
    """A spool of running commands, each of a task of its own."""

    identity = "folder-1"

    def __init__(self, *task_ids: str) -> None:
        self.task_ids = list(task_ids)
        self.revoked: list[str] = []
        self.looked_through = 0

    def expire(self, older_than_s: float) -> int:
        self.looked_through += 1
        return 0

    def running(self) -> list[tuple[str, str]]:
        return [(f"command of {task_id}", task_id) for task_id in self.task_ids]

    def revoke(self, effect_id: str) -> None:
        self.revoked.append(effect_id.removeprefix("command of "))


def test_a_look_moves_what_is_due(bench: Bench) -> None:
    """A timer goes off, and a lease that ran out is suspected, without waiting for a sweep."""
    kit = bench.kit
    bench.enter(HERE)
    waits, lease = kit.running()
    kit.suspend(lease, SuspendTo.TIMER, due_ms=kit.store.now_ms() + 60_000)
    assert bench.watcher.look() == 0
    assert (kit.place(waits), kit.client.hlen(kit.keys.suspects)) == ("timers", 0)
    kit.due("timers", waits)
    kit.expire_lease(bench.task_id)
    assert bench.watcher.look() == 0
    assert kit.place(waits) == "outbox"
    assert [task_id for task_id, _ in bench.dispatcher.messages] == [waits]
    assert kit.client.hexists(kit.keys.suspects, bench.task_id)


def test_with_a_death_messages_that_it_took_along_are_sent_again(bench: Bench) -> None:
    """A process may die with a message in hand that it had not claimed yet; nobody else was told of that task."""
    queued = bench.kit.create()
    bench.kit.due("outbox", queued)
    dies(bench)
    assert bench.watcher.look() == 1
    assert [task_id for task_id, _ in bench.dispatcher.messages] == [bench.task_id, queued]


@pytest.mark.parametrize("kind", [SignalKind.PAUSE, SignalKind.CANCEL])
def test_who_does_not_go_on_gets_no_message(bench: Bench, kind: SignalKind) -> None:
    """A person had stopped the task: nobody is to be woken for it."""
    bench.kit.send(bench.task_id, kind)
    dies(bench)
    assert bench.watcher.look() == 1
    assert bench.kit.place(bench.task_id) == ("waits" if kind is SignalKind.PAUSE else "")
    assert bench.dispatcher.messages == []


def test_a_death_is_handled_once(bench: Bench) -> None:
    """Whoever comes back under the same id begins a new absence, and leases of others are not touched."""
    other = bench.kit.create()
    bench.kit.claim(other, process="p2")
    dies(bench)
    assert bench.watcher.look() == 1
    assert bench.kit.place(other) == "leases"
    assert "p1" not in bench.watcher._absent_since_s
    assert bench.watcher.look() == 0


@pytest.mark.parametrize("told", [False, True])
def test_who_does_not_lead_sees_to_its_own_children_alone(bench: Bench, told: bool) -> None:
    """A parent that lost a child looks at once; otherwise the host's watcher does, as long as it is at work."""
    leader = HostElection(bench.folder, HERE)
    assert leader.leads()
    dies(bench)
    bench.watcher._round(told)
    assert bench.kit.place(bench.task_id) == ("outbox" if told else "leases")
    leader.resign()
    bench.watcher._round(told=False)
    assert bench.kit.place(bench.task_id) == "outbox"


def test_a_lost_child_is_looked_for_among_the_dead_only(bench: Bench) -> None:
    """Neighbours that live keep what they hold, connected or not; and a look that nobody asked for is not made."""
    bench.enter(HERE, ALIVE)
    bench.vanish()
    assert bench.watcher.look_here() == 0
    assert HostElection(bench.folder, HERE).leads()
    bench.enter(HERE, REUSED)
    assert bench.watcher.look_here() == 1
    assert bench.kit.place(bench.task_id) == "outbox"
    assert bench.kit.store.registered() == []


@pytest.mark.parametrize("told", [False, True])
def test_without_recovery_nobody_is_judged(tmp_path: Path, told: bool) -> None:
    """`recovery_policy=off`: people recover; commands and sweeps are seen to all the same."""
    bench = Bench(tmp_path, recovery_policy="off")
    dies(bench)
    bench.watcher._round(told)
    assert bench.kit.place(bench.task_id) == "leases"
    assert bench.kit.store.last_sweep_ms() > 0


def test_commands_that_nobody_can_wait_for_are_ended(bench: Bench) -> None:
    """Of a task that is over, or whose holder cannot reach this folder. Not those of a holder that can, nor of nobody:
    between two holders a command goes on."""
    kit = bench.kit
    kit.store.register(ProcessRow("near", HERE, 1, 1, 0, Spool.identity))
    kit.store.register(ProcessRow("far", THERE, 1, 1, 0, "folder-2"))
    near, far, between, over = (kit.create() for _ in range(4))
    kit.claim(near, process="near")
    kit.claim(far, process="far")
    kit.client.delete(kit.keys.task(over))
    kit.client.zrem(kit.keys.outbox, over)
    kit.broken_on_purpose = True
    spool = Spool(near, far, between, over)
    bench.watcher._spool = spool
    assert bench.watcher.see_to_spool() == 2
    assert spool.revoked == [far, over]


def test_records_of_ended_commands_are_looked_through_now_and_then(bench: Bench) -> None:
    """Once an hour; the commands themselves once a heartbeat, and where there is no spool, nothing."""
    assert bench.watcher.see_to_spool() == 0
    spool = Spool()
    bench.watcher._spool = spool
    for _ in range(2):
        bench.watcher.see_to_spool()
    assert spool.looked_through == 1
    bench.clock.advance(SPOOL_EXPIRY_INTERVAL_S)
    bench.watcher._round(told=False)
    assert spool.looked_through == 2


def test_commands_are_looked_at_once_a_heartbeat(bench: Bench) -> None:
    """Ten looks at processes a second need no ten looks at the disk."""
    spool = Spool("task-gone")
    bench.watcher._spool = spool
    for seconds_s in (0.0, 0.1, bench.settings.heartbeat_s):
        bench.clock.advance(seconds_s)
        bench.watcher._round(told=False)
    assert len(spool.revoked) == 2


def test_the_last_sweep_is_asked_for_once_an_interval(bench: Bench) -> None:
    """Not at each of ten looks a second; a server without any sweep gets one from each interval on."""
    store, asked = bench.kit.store, []
    last = store.last_sweep_ms
    store.last_sweep_ms = lambda: asked.append(1) or last()  # type: ignore[method-assign,func-returns-value]  # counts
    for _ in range(3):
        bench.watcher._round(told=False)
    bench.clock.advance(bench.settings.sweep_s)
    bench.watcher._round(told=False)
    assert len(asked) == 2


def test_the_thread_looks_until_it_is_stopped(bench: Bench) -> None:
    """It hears at once of a lost child, although another process is the host's watcher, and leaves at once."""
    leader = HostElection(bench.folder, HERE)
    assert leader.leads()
    bench.enter(HERE, ALIVE)
    bench.watcher._settings = bench.settings.model_copy(update={"watcher_interval_s": 3_600.0})
    asked, leads = [], bench.watcher._election.leads
    bench.watcher._election.leads = lambda: (leads(), asked.append(1))[0]  # type: ignore[method-assign,func-returns-value]
    bench.watcher.start()
    wait_for(lambda: asked, "the first round")
    bench.enter(HERE, REUSED)
    bench.watcher.child_lost()
    wait_for(lambda: bench.kit.place(bench.task_id) == "outbox", "the recovery of what the child held")
    leader.resign()
    bench.watcher.child_lost()
    wait_for(lambda: bench.watcher._election._fd is not None, "the watch to be taken over")
    bench.watcher.stop()
    bench.watcher._thread.join(timeout=60)
    assert not bench.watcher._thread.is_alive()
    assert leader.won(), "the watch was given back"
    leader.resign()


def test_a_forked_child_gives_an_inherited_watch_back(bench: Bench) -> None:
    """Without ending the rest of it: the lock of a killed parent must not live on in its child."""
    bench.watcher._round(told=False)
    other = HostElection(bench.folder, HERE)
    assert not other.won()
    bench.watcher.resign()
    assert other.won()
    other.resign()

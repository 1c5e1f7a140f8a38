"""All leases of a process: what a renewal tells of each, and who else is told of what is held."""

from __future__ import annotations

import queue
from collections.abc import Iterator, Sequence

import pytest

from neuraphage.errors import CancelRequested, LeaseLost, StoreUnavailable
from neuraphage.ports import HeldRow, Lease, Renewal, SignalKind
from neuraphage.runtime.lease_keeper import LeaseKeeper
from neuraphage.testing import ManualClock
from storekit import StoreKit, new_kit
from turnkit import SilentPresence, until


class Nudges(SilentPresence):
    """ports.Presence that hears a nudge when the test gives one."""

    def __init__(self) -> None:
        super().__init__()
        self.given: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def wait(self, timeout_s: float) -> bool:
        return self.given.get(timeout=60)

    def close(self) -> None:
        super().close()
        self.given.put(False)

    @property
    def closed(self) -> bool:
        return self._closed.is_set()


class Neighbour:
    """ports.Standby that remembers what it is told."""

    def __init__(self) -> None:
        self.rows: list[HeldRow] = []
        self.renewals: list[float] = []
        self.life: list[str] = []

    def start(self) -> None:
        self.life.append("start")

    def stop(self) -> None:
        self.life.append("stop")

    def hold(self, row: HeldRow) -> None:
        self.let_go(row.claim_id)
        self.rows.append(row)

    def let_go(self, claim_id: str) -> None:
        self.rows = [row for row in self.rows if row.claim_id != claim_id]

    def renewed(self, boottime_s: float) -> None:
        self.renewals.append(boottime_s)


class Bench:
    """A keeper on a store of its own."""

    def __init__(self, **settings: float) -> None:
        self.kit: StoreKit = new_kit(**settings)
        self.clock, self.presence, self.neighbour = ManualClock(100.0), Nudges(), Neighbour()
        self.beats: list[int] = []
        self.overdue: list[str] = []
        self.parent_drains = False
        self.keeper = LeaseKeeper(
            self.kit.store,
            self.presence,
            self.clock,
            self.kit.store.context.settings,
            self.overdue.append,
            lambda: self.parent_drains,
            lambda: self.beats.append(1),
            self.neighbour,
        )


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench()
    yield made
    made.keeper.stop()


def test_a_renewal_tells_each_lease_what_became_of_it(bench: Bench) -> None:
    """Cancelled, paused, lost or as it was: each by itself, and who was lost may start nothing more."""
    leases = [bench.kit.running()[1] for _ in range(4)]
    cancelled, paused, lost, plain = (bench.keeper.hold(lease, 100.0) for lease in leases)
    with cancelled as a, paused as b, lost as c, plain as d:
        bench.kit.send(leases[0].task_id, SignalKind.CANCEL)
        bench.kit.send(leases[1].task_id, SignalKind.PAUSE)
        bench.kit.recover(leases[2].task_id)
        bench.keeper.renew_now()
        assert [(held.cancel, held.pause, held.lost) for held in (a, b, c, d)] == [
            (True, False, False),
            (False, True, False),
            (False, False, True),
            (False, False, False),
        ]
        assert [held.may_start() for held in (a, b, c, d)] == [True, True, False, True]
        with pytest.raises(CancelRequested):
            a.check()
        with pytest.raises(LeaseLost):
            c.check()
        d.check()
        bench.kit.send(leases[1].task_id, SignalKind.RESUME)
        bench.keeper.renew_now()
        assert not b.pause, "taken back"


def test_a_confirmed_lease_may_start_effects_until_it_is_over_by_this_clock(bench: Bench) -> None:
    """It runs from the time at which the renewal was sent; one that fails lengthens nothing."""
    lease = bench.kit.running()[1]
    lease_s = bench.kit.store.context.settings.lease_s
    with bench.keeper.hold(lease, 100.0) as held:
        bench.clock.advance(lease_s - 1)
        assert held.may_start()
        bench.clock.advance(1)
        assert not held.may_start()
        held.renewed(bench.clock.boottime_s())
        bench.clock.advance(lease_s - 1)
        held.renewed(100.0)
        assert held.may_start(), "an older confirmation shortens nothing"


def test_a_renewal_lengthens_what_may_start(bench: Bench) -> None:
    """The heartbeat is what keeps the lease standing by this machine's own clock, from when it asked."""
    lease = bench.kit.running()[1]
    lease_s = bench.kit.store.context.settings.lease_s
    with bench.keeper.hold(lease, 100.0) as held:
        renew = bench.kit.store.renew

        def slowly(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
            _, answers = renew(leases)
            sent_at_s = bench.clock.boottime_s()
            bench.clock.advance(2)  # the answer takes its time
            return sent_at_s, answers

        bench.kit.store.renew = slowly  # type: ignore[method-assign]  # a slow server
        bench.clock.advance(lease_s - 1)
        bench.keeper.renew_now()
        bench.clock.advance(lease_s - 3)
        assert held.may_start()
        bench.clock.advance(1)
        assert not held.may_start()


@pytest.mark.parametrize("leaves", ["settling", "gone"])
def test_a_lease_that_its_own_turn_gives_back_is_not_lost(bench: Bench, leaves: str) -> None:
    """A renewal that was under way finds it gone; nobody has taken it."""
    lease = bench.kit.running()[1]
    renew = bench.kit.store.renew
    with bench.keeper.hold(lease, 100.0) as held:

        def meanwhile(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
            bench.kit.recover(lease.task_id)
            if leaves == "gone":
                bench.keeper._held.pop(lease.claim_id)
            held.settling = leaves == "settling"
            return renew(leases)

        bench.kit.store.renew = meanwhile  # type: ignore[method-assign]  # what happens while it is under way
        bench.keeper.renew_now()
        assert not held.lost


def test_who_stands_in_is_told_of_everything_held(bench: Bench) -> None:
    """Of a claim whose answer is awaited, of the lease, of its effect, of each renewal, and of the end."""
    task_id, lease = bench.kit.running()
    with bench.keeper.claiming(task_id, lease.claim_id):
        assert bench.neighbour.rows == [HeldRow(task_id, 0, lease.claim_id)]
        with bench.keeper.hold(lease, 100.0) as held:
            assert bench.neighbour.rows == [HeldRow(task_id, lease.fence, lease.claim_id)]
            assert bench.keeper.held_count() == 1
            with held.in_foreign_code():
                assert bench.neighbour.rows == [HeldRow(task_id, lease.fence, lease.claim_id, 100.0)]
            assert bench.neighbour.rows[0].effect_since_s is None
    assert bench.neighbour.rows == []
    assert bench.keeper.held_count() == 0
    bench.keeper.renew_now()
    assert bench.neighbour.renewals == [100.0], "that nothing is held is a renewal of everything"


def test_an_overdue_effect_leaves_the_count_and_who_stands_in(bench: Bench) -> None:
    """Its lease is let go by all; told once, and forgotten when the effect ends after all."""
    lease = bench.kit.running()[1]
    with bench.keeper.hold(lease, 100.0) as held, held.in_foreign_code():
        bench.clock.advance(bench.kit.store.context.settings.effect_max_s)
        for _ in range(2):
            bench.keeper.renew_now()
        assert bench.overdue == [lease.task_id]
        assert (bench.neighbour.rows, bench.keeper.held_count()) == ([], 0)
    with bench.keeper.hold(lease, bench.clock.boottime_s()):
        assert bench.keeper.held_count() == 1


def test_a_nudge_is_a_beat_of_its_own(bench: Bench) -> None:
    """A cancel is heard at once, not at the next heartbeat; a beat that fails is tried again, and told as none."""
    lease = bench.kit.running()[1]
    renew, failures = bench.kit.store.renew, [StoreUnavailable("away"), RuntimeError("a bug")]

    def fails_first(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        if failures:
            raise failures.pop()
        return renew(leases)

    bench.kit.store.renew = fails_first  # type: ignore[method-assign]  # a server that is away, and a bug
    with bench.keeper.hold(lease, 100.0) as held:
        bench.keeper.start()
        bench.kit.send(lease.task_id, SignalKind.CANCEL)
        for _ in range(3):
            assert bench.beats == []
            bench.presence.given.put(True)
        until(lambda: held.cancel)
        until(lambda: bench.beats == [1])
        bench.keeper.stop()
        bench.keeper._thread.join(60)
        assert not bench.keeper._thread.is_alive()
    assert bench.presence.closed
    assert bench.neighbour.life == ["start", "stop"]


@pytest.mark.parametrize("period_s", [5.0, 0.125])
def test_beats_come_a_period_after_the_last_one_that_worked(period_s: float) -> None:
    """Neither sooner nor in a flood; one that failed is due again after a short rest, and no wait is too long."""
    bench = Bench(heartbeat_s=period_s)
    renew, works = bench.kit.store.renew, [True]
    rests: list[float | None] = []
    waits: list[tuple[float, int]] = []
    steps = iter(
        [
            (period_s / 2, False, True),  # how long the wait takes, whether by a nudge, whether the server answers
            (period_s / 2, False, True),
            (period_s / 4, True, True),
            (period_s * 3, False, False),
            (1 / 64, False, True),
            (period_s - 1 / 64, False, True),
        ]
    )

    def wait(timeout_s: float) -> bool:
        waits.append((timeout_s, len(bench.beats)))
        took_s, nudged, works[0] = next(steps, (0.0, False, True))
        bench.clock.advance(took_s)
        if len(waits) == 7:
            bench.keeper._stop.set()
        return nudged

    def answers(leases: Sequence[Lease]) -> tuple[float, list[Renewal]]:
        if not works[0]:
            raise StoreUnavailable("away")
        return renew(leases)

    bench.kit.store.renew = answers  # type: ignore[method-assign]  # a server that is away for a while
    bench.presence.wait = wait  # type: ignore[method-assign]
    bench.keeper._stop.wait = lambda timeout=None: bool(rests.append(timeout))  # type: ignore[method-assign,func-returns-value]
    with bench.keeper.hold(bench.kit.running()[1], 100.0):
        bench.keeper._run()
    assert waits == [
        (period_s, 0),
        (period_s / 2, 0),
        (period_s, 1),
        (period_s, 2),
        (0.01, 2),
        (period_s, 3),
        (1 / 64, 3),
    ]
    assert rests == [min(0.25, period_s)]


def test_a_process_drains_by_itself_and_with_its_parent(bench: Bench) -> None:
    """A forked child is not told to leave: its parent is."""
    assert not bench.keeper.draining()
    bench.parent_drains = True
    assert bench.keeper.draining()
    bench.parent_drains = False
    bench.keeper.drain()
    assert bench.keeper.draining()


@pytest.mark.parametrize("flag", ["cancel", "lost"])
def test_what_must_stop_is_woken_once(bench: Bench, flag: str) -> None:
    """A blocked effect hears of a cancel or a loss, also when it begins to wait too late; a pause wakes nobody."""
    lease = bench.kit.running()[1]
    with bench.keeper.hold(lease, 100.0) as held:
        woken: list[str] = []
        held.subscribe(lambda: woken.append("first"))
        forget = held.subscribe(lambda: woken.append("forgotten"))
        forget()
        held.flag(pause=True)
        assert woken == []
        held.flag(cancel=flag == "cancel", lost=flag == "lost")
        held.subscribe(lambda: woken.append("late"))
        held.flag(cancel=True, lost=True)
        assert woken == ["first", "late"]
        held.flag(pause=False)
        assert (held.cancel, held.pause, held.lost) == (True, False, True), "only a pause is taken back"


def test_only_what_goes_on_without_it_is_left_by_a_process_that_drains(bench: Bench) -> None:
    """A spooled command is; a reply that streams is finished first."""
    lease = bench.kit.running()[1]
    with bench.keeper.hold(lease, 100.0) as held:
        held.detachable = True
        held.check()
        bench.keeper.drain()
        with pytest.raises(LeaseLost):
            held.check()
        held.detachable = False
        held.check()

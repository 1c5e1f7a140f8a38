"""The events of the protocol as rules of a state machine; hypothesis chooses their order."""

from __future__ import annotations

import sys

from deadline_world import World
from driver import ALWAYS, PROMPTS, TIMED, TIMEOUT_S, Worker
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from neuraphage.model.task import Status
from neuraphage.ports import FinishTo, SignalKind, SuspendTo
from storekit import StoreKit, new_kit

WORKERS = st.integers(0, 1)
SMALL = st.integers(0, 99)
ENDING = 8
"""Percent of draws that may end a task: what ends it also ends most of what an example can find."""
SIGNALS = (
    SignalKind.PAUSE,
    SignalKind.RESUME,
    SignalKind.INPUT,
    SignalKind.LIMIT,
    SignalKind.MODEL,
    SignalKind.RETRY_REPLY,
)
TURN_ENDS = (FinishTo.WAIT, FinishTo.NEXT, FinishTo.NEXT, FinishTo.LIMITED)
"""No limit is reached here, as if a person had raised it since the claim: LIMITED begins the turn again."""
GOING_ON = (FinishTo.NEXT, FinishTo.NEXT, FinishTo.NEXT, FinishTo.LIMITED)
DAY_S = 86_400
CLOCK = (TIMEOUT_S // 2, TIMEOUT_S + 1, TIMEOUT_S + 1, 3 * DAY_S)
"""By how much the server's clock goes on at once: what is due by then is found by the next sweep."""
WAITING = st.lists(
    st.sampled_from(["deadline", "deadline", "yes", ALWAYS, SignalKind.INPUT, SignalKind.PAUSE, SignalKind.RESUME]),
    max_size=4,
)
"""What happens to a task that waits for a person."""
OPENED = st.sampled_from([None, *TIMED, *TIMED, PROMPTS[0]])
SUSPENDS = (SuspendTo.WAIT, SuspendTo.WAIT, SuspendTo.TIMER, SuspendTo.PAUSE, SuspendTo.SHUTDOWN, SuspendTo.BLOCKED)


class Protocol(RuleBasedStateMachine):
    """One task under everything that can happen to it."""

    world: World

    def new_kit(self, policy: str) -> StoreKit:
        """The store under test."""
        return new_kit(max_recoveries=5, recovery_policy=policy)

    @initialize(policy=st.sampled_from(["auto", "auto", "confirm"]))
    def begin(self, policy: str) -> None:
        self.world = World(self.new_kit(policy))

    def holder(self, index: int) -> Worker | None:
        """A worker that believes it holds the task, this one before the other."""
        workers = self.world.workers
        return next((w for w in (workers[index], workers[1 - index]) if w.lease is not None), None)

    # --- what happens by itself ---

    def _advance(self, index: int, dice: int, take: bool) -> None:
        """Whatever brings the task on: a worker's write, a claim, a timer, a person."""
        world, holder = self.world, self.holder(index)
        place, status = world.kit.place(world.task_id), world.kit.status(world.task_id)
        if holder is not None:
            self._work(holder, dice, take)
        elif place == "outbox":
            world.republish()
            world.claim(world.workers[index], world.messages[-1])
        elif place == "leases":
            world.recover("gone")
        elif status is Status.FAILED:
            world.signal(SignalKind.RETRY if take else SignalKind.RESET)
        elif status is Status.PAUSED:
            world.signal(SignalKind.RESUME)
        elif status is Status.WAITING_FOR_USER and dice % 3 == 0 and world.memory.asked.timed():
            world.time_passes(CLOCK[dice % len(CLOCK)])
            world.sweep_deadlines()
        elif status is Status.WAITING_FOR_USER:
            always = ALWAYS if dice % 2 else ""
            world.signal(*((SignalKind.INPUT,) if take else (SignalKind.ANSWER, world.open_prompts()[0], always)))
        else:
            world.fire()

    def _work(self, worker: Worker, dice: int, take: bool) -> None:
        if dice < ENDING:
            self.world.finish(worker, FinishTo.COMPLETED if dice % 2 else FinishTo.FAILED, take=take)
        elif dice < 50:
            opened = (*PROMPTS, *TIMED, None, None)[dice % 7]
            self.world.commit(worker, take=take, opened=opened)
        elif dice < 66:
            self.world.finish(worker, TURN_ENDS[dice % len(TURN_ENDS)], take=take)
        elif dice < 78:
            self.world.go_on(worker, GOING_ON[dice % len(GOING_ON)], take=take)
        else:
            self.world.suspend(worker, SUSPENDS[dice % len(SUSPENDS)], take=take)

    @rule(index=WORKERS, dice=SMALL, take=st.booleans())
    def advance(self, index: int, dice: int, take: bool) -> None:
        self._advance(index, dice, take)

    @rule(index=WORKERS, dice=SMALL, take=st.booleans())
    def advance_more(self, index: int, dice: int, take: bool) -> None:
        self._advance(index, dice, take)

    @rule(index=WORKERS, rolls=st.lists(st.tuples(SMALL, st.booleans()), min_size=2, max_size=5))
    def advance_a_stretch(self, index: int, rolls: list[tuple[int, bool]]) -> None:
        for dice, take in rolls:
            self._advance(index, dice, take)
            self.world.check()
            if dice % 4 == 0 and self.world.calls:
                self.world.repeat(self.world.calls[-1])
                self.world.check()

    # --- the broker, repeated calls, workers ---

    @rule(index=WORKERS, age=st.integers(0, 3))
    def message_comes_again(self, index: int, age: int) -> None:
        world = self.world
        if world.workers[index].lease is None:
            world.claim(world.workers[index], world.messages[-1 - min(age, len(world.messages) - 1)])

    @precondition(lambda self: bool(self.world.calls))
    @rule(back=st.sampled_from([1, 1, 1, 2, 3, 5]))
    def call_is_repeated(self, back: int) -> None:
        self.world.repeat(self.world.calls[-min(back, len(self.world.calls))])

    @precondition(lambda self: self.holder(0) is not None)
    @rule(index=WORKERS, dies=st.booleans())
    def worker_beats_or_dies(self, index: int, dies: bool) -> None:
        worker = self.holder(index)
        assert worker is not None
        if dies:
            worker.lease = None
        else:
            self.world.renew(worker)

    # --- people ---

    @rule(kind=st.sampled_from(SIGNALS))
    def person_signals(self, kind: SignalKind) -> None:
        self.world.signal(kind)

    @rule(dice=SMALL, late=st.booleans(), always=st.booleans())
    def person_answers(self, dice: int, late: bool, always: bool) -> None:
        answered = [*self.world.memory.asked.answered] if dice > ENDING else []
        prompts = (not late and self.world.open_prompts()) or answered or PROMPTS
        self.world.signal(SignalKind.ANSWER, prompts[dice % len(prompts)], ALWAYS if always else "")

    @precondition(lambda self: self.may_wait())
    @rule(index=WORKERS, opened=OPENED, steps=WAITING)
    def task_waits_and_goes_on(self, index: int, opened: str | None, steps: list[str]) -> None:
        self._wait(index, opened, steps)

    @precondition(lambda self: self.may_wait())
    @rule(index=WORKERS, opened=OPENED, steps=WAITING)
    def task_waits_more(self, index: int, opened: str | None, steps: list[str]) -> None:
        self._wait(index, opened, steps)

    def may_wait(self) -> bool:
        """Whether a worker has the task, or may claim it."""
        return self.holder(0) is not None or self.world.kit.place(self.world.task_id) == "outbox"

    def _wait(self, index: int, opened: str | None, steps: list[str]) -> None:
        """A turn waits for a person, this and that happens meanwhile, and a worker takes what came of it."""
        world, worker = self.world, self.holder(index) or self.world.workers[index]
        if worker.lease is None:
            world.claim(worker, world.kit.number(world.task_id, "seq"))
        if worker.lease is not None:
            world.commit(worker, take=False, opened=opened)
        if worker.lease is not None:
            world.suspend(worker, SuspendTo.WAIT, take=True)
        world.check()
        for step in steps:
            if step == "deadline":
                world.time_passes(TIMEOUT_S + 1)
                world.sweep_deadlines()
            elif step in SIGNALS:
                world.signal(SignalKind(step))
            else:
                world.signal(SignalKind.ANSWER, (world.open_prompts() or PROMPTS)[0], step)
            world.check()
        if world.kit.place(world.task_id) == "outbox":
            world.claim(worker, world.kit.number(world.task_id, "seq"))
        if worker.lease is not None:
            world.commit(worker, take=True, opened=None)

    @rule(dice=SMALL)
    def person_cancels(self, dice: int) -> None:
        if dice < 3 * ENDING:
            self.world.signal(SignalKind.CANCEL)

    # --- the watcher, the sweep, the server ---

    @precondition(lambda self: self.world.leased())
    @rule(evidence=st.sampled_from(["gone", "absent"]))
    def watcher_recovers(self, evidence: str) -> None:
        self.world.recover(evidence)

    @precondition(lambda self: self.world.leased())
    @rule(ends=st.booleans(), aged=st.booleans())
    def sweep_visits(self, ends: bool, aged: bool) -> None:
        world = self.world
        if ends:
            world.kit.expire_lease(world.task_id)
        if aged and world.kit.client.hexists(world.kit.keys.suspects, world.task_id):
            world.age_mark()
        world.recover("expired")

    # --- the clock ---

    @rule(by_s=st.sampled_from(CLOCK), sweeps=st.booleans())
    def clock_goes_on(self, by_s: int, sweeps: bool) -> None:
        self.world.time_passes(by_s)
        if sweeps:
            self.world.sweep_deadlines()

    @rule()
    def sweep_reads_deadlines(self) -> None:
        self.world.read_deadlines()

    @precondition(lambda self: bool(self.world.read))
    @rule()
    def slow_sweep_goes_on(self) -> None:
        self.world.sweep_deadlines(self.world.read)

    # --- a server that loses its last writes ---

    @precondition(lambda self: bool(self.world.snapshots))
    @rule(steps=st.integers(1, 4), often=st.booleans())
    def server_loses_its_tail(self, steps: int, often: bool) -> None:
        if often:
            self.world.lose_tail(steps)

    @precondition(lambda self: self.world.leased() and self.holder(0) is not None)
    @rule(count=st.integers(1, 3))
    def server_loses_commits(self, count: int) -> None:
        worker = self.holder(0)
        assert worker is not None
        self.world.lose_commits(worker, count)

    @precondition(lambda self: self.world.kit.place(self.world.task_id) == "outbox")
    @rule()
    def server_loses_a_claim(self) -> None:
        world = self.world
        world.lose_claim(world.kit.number(world.task_id, "seq"))

    @precondition(lambda self: len(self.world.granted) > 1)
    @rule()
    def every_lease_is_tried(self) -> None:
        self.world.probe()

    @invariant()
    def rules_hold(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        failing = sys.exc_info()[0] is not None  # a drain after a failure would hide it behind another one
        if hasattr(self, "world") and not failing:
            self.world.drain()

"""The events of the protocol as rules of a state machine; hypothesis chooses their order."""

from __future__ import annotations

from driver import PROMPTS, Worker, World
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from neuraphage.ports import FinishTo, SignalKind, SuspendTo
from storekit import StoreKit, new_kit

WORKERS = st.integers(0, 1)
SIGNALS = (SignalKind.PAUSE, SignalKind.RESUME, SignalKind.INPUT, SignalKind.CANCEL, SignalKind.RETRY)
# cancel, poison and failure end an example early, so they are drawn less often than the rest
SUSPENDS = (*[t for t in SuspendTo if t is not SuspendTo.POISONED] * 3, SuspendTo.POISONED)
FINISHES = (
    FinishTo.NEXT,
    FinishTo.NEXT,
    FinishTo.NEXT,
    FinishTo.WAIT,
    FinishTo.WAIT,
    FinishTo.COMPLETED,
    FinishTo.FAILED,
)


class Protocol(RuleBasedStateMachine):
    """One task under everything that can happen to it."""

    world: World

    def new_kit(self, policy: str) -> StoreKit:
        """The store under test."""
        return new_kit(max_recoveries=5, recovery_policy=policy)

    @initialize(policy=st.sampled_from(["auto", "auto", "confirm"]))
    def begin(self, policy: str) -> None:
        self.world = World(self.new_kit(policy))

    def holds(self, index: int) -> Worker | None:
        worker = self.world.workers[index]
        return worker if worker.lease is not None else None

    @rule(index=WORKERS, age=st.sampled_from([0, 0, 0, 0, 1, 2]))
    def message_arrives(self, index: int, age: int) -> None:
        world = self.world
        world.claim(world.workers[index], world.messages[-1 - min(age, len(world.messages) - 1)])

    @precondition(lambda self: any(w.lease for w in self.world.workers))
    @rule(index=WORKERS, take=st.booleans(), opened=st.sampled_from([None, None, *PROMPTS]))
    def commits(self, index: int, take: bool, opened: str | None) -> None:
        if worker := self.holds(index):
            self.world.commit(worker, take=take, opened=opened)

    @precondition(lambda self: any(w.lease for w in self.world.workers))
    @rule(index=WORKERS, to=st.sampled_from(SUSPENDS), take=st.booleans())
    def suspends(self, index: int, to: SuspendTo, take: bool) -> None:
        if worker := self.holds(index):
            self.world.suspend(worker, to, take=take)

    @precondition(lambda self: any(w.lease for w in self.world.workers))
    @rule(index=WORKERS, to=st.sampled_from(FINISHES), take=st.booleans())
    def finishes(self, index: int, to: FinishTo, take: bool) -> None:
        if worker := self.holds(index):
            self.world.finish(worker, to, take=take)

    @precondition(lambda self: any(w.lease for w in self.world.workers))
    @rule(index=WORKERS)
    def heartbeat(self, index: int) -> None:
        if worker := self.holds(index):
            self.world.renew(worker)

    @rule(index=WORKERS)
    def worker_dies(self, index: int) -> None:
        self.world.workers[index].lease = None

    @precondition(lambda self: bool(self.world.calls))
    @rule(back=st.integers(1, 6))
    def call_is_repeated(self, back: int) -> None:
        self.world.repeat(self.world.calls[-min(back, len(self.world.calls))])

    @rule(kind=st.sampled_from(SIGNALS))
    def person_signals(self, kind: SignalKind) -> None:
        self.world.signal(kind)

    @rule(prompt=st.sampled_from(PROMPTS))
    def person_answers(self, prompt: str) -> None:
        self.world.signal(SignalKind.ANSWER, prompt)

    @precondition(lambda self: self.world.leased())
    @rule(evidence=st.sampled_from(["gone", "absent"]))
    def watcher_recovers(self, evidence: str) -> None:
        self.world.recover(evidence)

    @precondition(lambda self: self.world.leased())
    @rule()
    def lease_runs_out(self) -> None:
        self.world.kit.expire_lease(self.world.task_id)

    @precondition(lambda self: self.world.leased())
    @rule(aged=st.booleans())
    def sweep_visits(self, aged: bool) -> None:
        if aged and self.world.kit.client.hexists(self.world.kit.keys.suspects, self.world.task_id):
            self.world.age_mark()
        self.world.recover("expired")

    @rule()
    def sweep_fires_and_publishes(self) -> None:
        self.world.fire()
        self.world.republish()

    @precondition(lambda self: bool(self.world.snapshots))
    @rule(steps=st.integers(1, 4))
    def server_loses_its_tail(self, steps: int) -> None:
        self.world.lose_tail(steps)

    @precondition(lambda self: len(self.world.granted) > 1)
    @rule()
    def every_lease_is_tried(self) -> None:
        self.world.probe()

    @invariant()
    def rules_hold(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.world.drain()

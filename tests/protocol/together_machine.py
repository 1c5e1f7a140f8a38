"""Tasks with slots, locks, edges, children and money together, under all that can happen, in any order."""

from __future__ import annotations

import sys

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from together_world import World

from neuraphage.model.dependency import OnFailure
from neuraphage.model.lock import LockMode
from neuraphage.model.subtask import ChildWait, OnParentEnd
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import FinishTo, SignalKind, SuspendTo
from storekit import StoreKit, new_kit

TASKS_MAX = 9
PICK = st.integers(0, 20)
RESOURCES = ("file:a", "file:b", "file:c")
NEEDS = st.sets(st.sampled_from(RESOURCES), min_size=1, max_size=2)
LABELS = st.sampled_from(["", "repo=a", "repo=a", "repo=b", "team=x"])
MOST = st.sampled_from([1, 1, 2, 3])
OF_LABELS = st.sampled_from([{}, {"repo=a": 1}, {"repo=a": 1, "repo=b": 1}, {"repo=a": 2, "team=x": 1}])
PEOPLE = st.sampled_from(
    [SignalKind.PAUSE, SignalKind.RESUME, SignalKind.RETRY, SignalKind.RESET, SignalKind.ANSWER, SignalKind.INPUT]
)
TURN_ENDS = st.sampled_from([FinishTo.NEXT, FinishTo.NEXT, FinishTo.COMPLETED, FinishTo.FAILED])
SUSPENDS = st.sampled_from([SuspendTo.WAIT, SuspendTo.TIMER, SuspendTo.SHUTDOWN, SuspendTo.PAUSE])


IN_OUTBOX = precondition(lambda self: self.world.at("outbox"))
HELD = precondition(lambda self: self.world.known.leases)
IDLE = precondition(lambda self: self.world.known.idle())


def one_of(tasks: list[str], number: int) -> str | None:
    """One that may be meant: most steps are to do something."""
    return tasks[number % len(tasks)] if tasks else None


class Together(RuleBasedStateMachine):
    """A few tasks that come and go. Oracle: together_oracle.py, beside the product's own check and repair's look."""

    world: World

    def new_kit(self) -> StoreKit:
        """The store under test."""
        return new_kit(max_recoveries=4)

    @initialize(most=MOST, labels=OF_LABELS, number=st.integers(2, 4), label=LABELS)
    def begin(self, most: int, labels: dict[str, int], number: int, label: str) -> None:
        self.world = World(self.new_kit())
        self.world.limit(most, labels)
        for at in range(number):
            self.world.make(label if at else "", 2, (), OnFailure.BLOCK, "")

    # --- new tasks, limits ---

    @precondition(lambda self: len(self.world.tasks) < TASKS_MAX)
    @rule(
        label=LABELS,
        priority=st.integers(1, 3),
        awaited=st.lists(PICK, max_size=2),
        rules=st.sampled_from(OnFailure),
        parent=st.none() | PICK,
        dice=st.integers(0, 5),
    )
    def a_task_is_made(
        self, label: str, priority: int, awaited: list[int], rules: OnFailure, parent: int | None, dice: int
    ) -> None:
        world = self.world
        live = [task for task in world.tasks if world.kit.status(task) not in TERMINAL]
        above = one_of(live, parent) or "" if parent is not None else ""
        others = {one for number in awaited if (one := one_of(world.tasks, number))}
        world.make(label, priority, others, rules, above, later=dice == 0)

    @rule(most=st.none() | MOST, labels=OF_LABELS)
    def limits_change(self, most: int | None, labels: dict[str, int]) -> None:
        self.world.limit(most, labels)

    # --- what workers do ---

    @IN_OUTBOX
    @rule(number=PICK)
    def a_worker_claims(self, number: int) -> None:
        if task := one_of(self.world.at("outbox"), number):
            self.world.claim(task)

    @IN_OUTBOX
    @rule(number=PICK, needs=NEEDS)
    def a_worker_claims_and_begins_a_call(self, number: int, needs: set[str]) -> None:
        if task := one_of(self.world.at("outbox"), number):
            self.world.claim(task)
            if task in self.world.known.idle():
                self.world.begin_call(task, needs, LockMode.EXCLUSIVE, twice=False)

    @IDLE
    @rule(number=PICK, needs=NEEDS, mode=st.sampled_from(LockMode), twice=st.booleans())
    def a_call_begins(self, number: int, needs: set[str], mode: LockMode, twice: bool) -> None:
        if task := one_of(self.world.known.idle(), number):
            self.world.begin_call(task, needs, mode, twice=twice)

    @precondition(lambda self: self.world.known.at_a_call())
    @rule(number=PICK)
    def a_call_ends(self, number: int) -> None:
        if task := one_of(self.world.known.at_a_call(), number):
            self.world.end_call(task)

    @HELD
    @rule(number=PICK)
    def the_model_is_called(self, number: int) -> None:
        if task := one_of([*self.world.known.leases], number):
            self.world.call_model(task)

    @IDLE
    @rule(number=PICK, to=TURN_ENDS, goes_on=st.booleans())
    def a_turn_ends(self, number: int, to: FinishTo, goes_on: bool) -> None:
        if task := one_of(self.world.known.idle(), number):
            self.world.finish(task, to, goes_on=goes_on)

    @HELD
    @rule(number=PICK, to=SUSPENDS)
    def a_turn_is_broken_off(self, number: int, to: SuspendTo) -> None:
        if task := one_of([*self.world.known.leases], number):
            self.world.suspend(task, to)

    @IDLE
    @rule(
        number=PICK,
        children=st.integers(0, 2),
        wait=st.sampled_from(ChildWait),
        how=st.sampled_from(OnParentEnd),
        label=LABELS,
    )
    def a_turn_spawns(self, number: int, children: int, wait: ChildWait, how: OnParentEnd, label: str) -> None:
        if task := one_of(self.world.known.idle(), number):
            room = max(0, TASKS_MAX + 1 - len(self.world.tasks))
            self.world.spawn(task, min(children, room), wait, how, label)

    @HELD
    @rule(number=PICK, is_seen=st.booleans())
    def a_worker_dies(self, number: int, is_seen: bool) -> None:
        if task := one_of([*self.world.known.leases], number):
            self.world.die(task)
            if is_seen:
                self.world.recover(task)

    @precondition(lambda self: self.world.known.dead)
    @rule(number=PICK)
    def a_death_is_seen(self, number: int) -> None:
        if task := one_of(sorted(self.world.known.dead), number):
            self.world.recover(task)

    # --- what people, the sweep and the server do ---

    @rule(number=PICK, kind=PEOPLE)
    def a_person_says(self, number: int, kind: SignalKind) -> None:
        if task := one_of(self.world.tasks, number):
            self.world.say(task, kind)

    @rule(number=PICK, dice=st.integers(0, 3))
    def a_person_cancels_or_deletes(self, number: int, dice: int) -> None:
        if dice == 0 and (task := one_of(self.world.tasks, number)):
            self.world.say(task, SignalKind.CANCEL)
        elif dice and (task := one_of(self.world.with_status(*TERMINAL), number)):
            self.world.delete(task)

    @rule(number=PICK, on=PICK, on_failure=st.sampled_from(OnFailure), holds=st.booleans())
    def an_edge_changes(self, number: int, on: int, on_failure: OnFailure, holds: bool) -> None:
        task, other = one_of(self.world.tasks, number), one_of(self.world.tasks, on)
        if task and other and task != other:
            kit = self.world.kit
            self.world.told((kit.depend(task, other, on_failure) if holds else kit.undepend(task, other)).woken)

    @rule(number=PICK, resource=st.sampled_from(RESOURCES))
    def a_lock_is_broken(self, number: int, resource: str) -> None:
        if task := one_of(self.world.tasks, number):
            self.world.unlock(task, resource)

    @rule(number=PICK, waited=st.booleans())
    def the_sweep_polls(self, number: int, waited: bool) -> None:
        if task := one_of(self.world.at("timers", "waits"), number):
            self.world.poll(task, waited=waited)

    @precondition(lambda self: len(self.world.saved) > 1)
    @rule(steps=st.integers(1, 4), often=st.integers(0, 2))
    def the_server_loses_its_tail(self, steps: int, often: int) -> None:
        if often == 0:
            self.world.lose_tail(steps)

    # --- what holds ---

    @invariant()
    def rules_hold(self) -> None:
        if hasattr(self, "world"):
            self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world") and sys.exc_info()[0] is None:
            self._drain()

    def _drain(self) -> None:
        """Once nothing fails any more every task comes to its end; no slot, lock, edge or reservation is left."""
        world, kit = self.world, self.world.kit
        for task in sorted(world.known.dead):
            world.recover(task)
        world.check()
        for _ in range(12 * TASKS_MAX):
            if not (left := [task for task in world.tasks if kit.status(task) not in TERMINAL]):
                break
            for task in left:
                self._step(task)
        stuck = {task: (kit.status(task), kit.place(task)) for task in world.tasks if kit.status(task) not in TERMINAL}
        assert not stuck, f"stuck: {stuck}"
        world.check()
        keys, client = kit.keys, kit.client
        assert client.hgetall(keys.locks) == {}
        assert client.zcard(keys.line) == client.zcard(keys.edges) == client.zcard(keys.lanes) == 0
        assert {
            name: raw for name, raw in client.hgetall(keys.pools).items() if b"reserved" in name and raw != b"0"
        } == {}

    def _step(self, task: str) -> None:
        world, kit = self.world, self.world.kit
        status, place = kit.status(task), kit.place(task)
        if task in world.known.leases:
            if task in world.known.open:
                world.end_call(task)
            world.finish(task, FinishTo.COMPLETED, goes_on=False)
        elif place == "outbox":
            world.claim(task)
        elif place == "timers":
            world.poll(task, waited=True)
        elif status is Status.PAUSED:
            world.raise_limits(task)
            world.say(task, SignalKind.RESUME)
        elif status is Status.WAITING_FOR_USER:
            world.say(task, SignalKind.ANSWER)
        elif status is Status.BLOCKED:
            for edge in kit.store.get(task).dependencies:
                gone = kit.field(edge.task_id, "status") is None
                if edge.holds_up and (gone or kit.status(edge.task_id) in TERMINAL):
                    world.told(kit.undepend(task, edge.task_id).woken)

"""Several tasks that lock the same resources, under all that ends, stops, kills and wakes tasks, in any order."""

from __future__ import annotations

import sys
from dataclasses import replace
from itertools import combinations, count

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from lockkit import EXCLUSIVE, announced, effect, has_waited
from neuraphage.model.effect import EffectState
from neuraphage.model.lock import LockMode, LockState
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import TERMINAL, Status
from neuraphage.ports import Changes, ClaimVerdict, CommitVerdict, FinishTo, Lease, SignalKind, SuspendTo
from neuraphage.store.repair import examine
from storekit import ASK, MODEL_CALL, StoreKit, new_kit, question

TASKS, RESOURCES = 5, ("file:a", "file:b", "file:c")
PICK = st.integers(0, TASKS - 1)
NEEDS = st.sets(st.sampled_from(RESOURCES), min_size=1, max_size=3)
MODES = st.sampled_from(LockMode)
Call = tuple[str, frozenset[str], LockMode]
_calls = count(1)


class Locked(RuleBasedStateMachine):
    """A few tasks. Oracle: which calls are under way by what was answered, apart from what is stored of locks."""

    kit: StoreKit

    def new_kit(self) -> StoreKit:
        """The store under test."""
        return new_kit(max_recoveries=4)

    @initialize()
    def begin(self) -> None:
        self.kit = self.new_kit()
        self.tasks = [self.kit.create() for _ in range(TASKS)]
        self.leases: dict[str, Lease] = {}
        self.read: dict[str, Changes] = {}
        """What a turn takes in by its end: the inbox as its claim had it, and the questions answered there."""
        self.open: dict[str, Call] = {}
        """Calls that were announced, and whose outcome nobody has stored."""
        self.broken: set[tuple[str, str]] = set()

    def task(self, number: int) -> str:
        return self.tasks[number]

    # --- what workers do ---

    @rule(number=PICK)
    def a_worker_claims(self, number: int) -> None:
        task = self.task(number)
        claimed = self.kit.try_claim(task)
        if claimed.lease is not None:
            assert claimed.verdict is ClaimVerdict.GRANTED
            self.leases[task] = claimed.lease
            answered = tuple(item.prompt_id for _, item in claimed.inbox if item.prompt_id is not None)
            taken = tuple(raw for raw, _ in claimed.inbox)
            self.read[task] = Changes(add=MODEL_CALL, consumed=taken, prompts_closed=answered)

    @rule(number=PICK, needs=NEEDS, mode=MODES, twice=st.booleans())
    def a_call_begins(self, number: int, needs: set[str], mode: LockMode, twice: bool) -> None:
        task = self.task(number)
        if task not in self.leases or task in self.open:
            return
        lease, call = self.leases[task], f"call-{next(_calls)}"
        changes = announced(lease, tuple(needs), mode, call)
        answer = self.kit.store.commit(lease, changes)
        if twice:
            again = self.kit.store.commit(lease, changes)
            assert (again.verdict, again.settled) == (answer.verdict, answer.settled)
        if answer.verdict is CommitVerdict.COMMITTED:
            self.open[task] = (call, frozenset(needs), mode)
            self._advance(task)
        else:
            assert answer.verdict is CommitVerdict.BLOCKED
            del self.leases[task]
            self._woken(answer.settled.woken if answer.settled else ())

    @rule(number=PICK)
    def a_call_ends(self, number: int) -> None:
        task = self.task(number)
        if task in self.leases and task in self.open:
            done = effect(self.open[task][0], self.leases[task].fence, EffectState.COMPLETED)
            assert self.kit.store.commit(self.leases[task], Changes(journal=(done,))).verdict is CommitVerdict.COMMITTED
            self._advance(task)
            self._settled(task)

    @rule(number=PICK, to=st.sampled_from([FinishTo.NEXT, FinishTo.NEXT, FinishTo.COMPLETED, FinishTo.FAILED]))
    def a_turn_ends(self, number: int, to: FinishTo) -> None:
        task = self.task(number)
        if task in self.leases and task not in self.open:
            detail = {"error": "No.", "recoverable": True, "summary": "Done."}
            self._woken(self.kit.finish(self.leases.pop(task), to, self.read[task], **detail).woken)
            self._settled(task)

    @rule(number=PICK, to=st.sampled_from([SuspendTo.WAIT, SuspendTo.TIMER, SuspendTo.SHUTDOWN, SuspendTo.PAUSE]))
    def a_turn_is_broken_off(self, number: int, to: SuspendTo) -> None:
        task = self.task(number)
        if task in self.leases:
            opened = Changes(prompts_opened=(question(),) if to is SuspendTo.WAIT else ())
            self._woken(self.kit.suspend(self.leases.pop(task), to, opened, due_ms=1).woken)
            self._if_over(task)

    @rule(number=PICK)
    def a_worker_dies(self, number: int) -> None:
        task = self.task(number)
        if task in self.leases:
            del self.leases[task]
            self._woken(self.kit.recover(task).woken)
            self._if_over(task)

    # --- what people and the sweep do ---

    @rule(
        number=PICK,
        kind=st.sampled_from(
            [SignalKind.PAUSE, SignalKind.RESUME, SignalKind.CANCEL, SignalKind.RETRY, SignalKind.ANSWER]
        ),
    )
    def a_person_says(self, number: int, kind: SignalKind) -> None:
        task = self.task(number)
        sent = self.kit.send(task, kind, text="y", prompt_id=ASK if kind is SignalKind.ANSWER else None)
        self._woken(sent.woken)
        self._if_over(task)

    @rule(number=PICK, resource=st.sampled_from(RESOURCES))
    def a_lock_is_broken(self, number: int, resource: str) -> None:
        task = self.task(number)
        if self.kit.send(task, SignalKind.UNLOCK, text=resource).verdict.value == "ACCEPTED":
            self.broken.add((task, resource))

    @rule(number=PICK, on=PICK)
    def an_edge_is_made(self, number: int, on: int) -> None:
        if number > on:
            self.kit.depend(self.task(number), self.task(on))

    @rule(number=PICK, is_over=st.booleans())
    def the_sweep_polls(self, number: int, is_over: bool) -> None:
        task = self.task(number)
        self.kit.store.fire(task, "timers")
        record = self.kit.store.get(task)
        waits = record.locks is not None and record.locks.state is LockState.WAITING
        if waits and is_over:
            has_waited(self.kit, task)
        moved = self.kit.store.fire(task, "blocked")
        if waits:
            assert (moved is not None) is is_over, (
                "nothing but its time wakes one that waits and was not handed its locks"
            )

    # --- what holds ---

    def _advance(self, task: str) -> None:
        self.leases[task] = replace(self.leases[task], token=self.leases[task].token + 1)

    def _settled(self, task: str) -> None:
        self.open.pop(task, None)
        self.broken = {row for row in self.broken if row[0] != task}

    def _if_over(self, task: str) -> None:
        if self.kit.status(task) in TERMINAL:
            self._settled(task)
            self.leases.pop(task, None)

    def _woken(self, woken: object) -> None:
        for turn in woken:  # type: ignore[attr-defined] # a tuple of messages
            assert self.kit.place(turn.task_id) == "outbox", "told to go on, and not in the outbox"

    @invariant()
    def rules_hold(self) -> None:
        if not hasattr(self, "kit"):
            return
        self.kit.check()
        told = examine(self.kit.store.context, self.tasks, RepairMode.LOOK)
        assert [row.findings for row in told if row.findings] == []
        for (one, (_, some, mode)), (other, (_, more, other_mode)) in combinations(self.open.items(), 2):
            common = {name for name in some & more if not {(one, name), (other, name)} & self.broken}
            assert not common or EXCLUSIVE not in (mode, other_mode), f"{one} and {other} are both at {common}"

    def teardown(self) -> None:
        if hasattr(self, "kit") and sys.exc_info()[0] is None:
            self._drain()

    def _drain(self) -> None:
        """Once nothing fails any more every task comes to its end, in turns, and no lock is left."""
        for _ in range(6 * TASKS):
            for number, task in enumerate(self.tasks):
                self.a_call_ends(number)
                self.a_turn_ends(number, FinishTo.COMPLETED)
                status = self.kit.status(task)
                if status is Status.PAUSED:
                    self.kit.send(task, SignalKind.RESUME)
                elif status is Status.WAITING_FOR_USER:
                    self.kit.send(task, SignalKind.ANSWER, text="y", prompt_id=ASK)
                elif status is Status.BLOCKED:
                    self._undepend(task)
                self.kit.store.fire(task, "timers")
                self.a_worker_claims(number)
        left = {self.kit.status(task) for task in self.tasks} - TERMINAL
        assert not left, f"stuck: {left}"
        assert self.kit.client.hgetall(self.kit.keys.locks) == {}
        self.kit.check()

    def _undepend(self, task: str) -> None:
        for edge in self.kit.store.get(task).dependencies:
            if edge.holds_up and self.kit.status(edge.task_id) in TERMINAL:
                self.kit.undepend(task, edge.task_id)

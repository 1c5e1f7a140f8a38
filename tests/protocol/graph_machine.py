"""Several tasks that wait for each other, under all that ends, stops and connects tasks, in any order."""

from __future__ import annotations

import sys

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from neuraphage.model.dependency import DependencyState, OnFailure
from neuraphage.model.repairing import RepairMode
from neuraphage.model.task import TERMINAL, Status, TaskRecord
from neuraphage.ports import Changes, ClaimVerdict, FinishTo, SignalKind, SignalVerdict
from neuraphage.store.repair import examine
from storekit import MODEL_CALL, StoreKit, new_kit

TASKS_MAX = 7
RULES = st.sampled_from(OnFailure)
PICK = st.integers(0, TASKS_MAX - 1)
ENDS = (Status.COMPLETED, Status.COMPLETED, Status.FAILED, Status.CANCELLED)


class Graph(RuleBasedStateMachine):
    """A few tasks and their edges. Oracle: what an edge means is told by the records of both of its ends."""

    kit: StoreKit

    def new_kit(self) -> StoreKit:
        """The store under test."""
        return new_kit(max_recoveries=1)

    @initialize()
    def begin(self) -> None:
        self.kit, self.tasks, self.before = self.new_kit(), [], {}
        self.saved: list[dict[bytes, tuple[bytes, int]]] = []
        self.tasks.append(self.kit.create())

    def task(self, number: int) -> str:
        return self.tasks[number % len(self.tasks)]

    # --- what happens ---

    @precondition(lambda self: len(self.tasks) < TASKS_MAX)
    @rule(awaited=st.lists(PICK, max_size=3), on_failure=RULES)
    def a_task_is_made(self, awaited: list[int], on_failure: OnFailure) -> None:
        self.tasks.append(self.kit.after(*{self.task(one) for one in awaited}, on_failure=on_failure))

    @rule(number=PICK, to=st.sampled_from(ENDS))
    def a_task_ends(self, number: int, to: Status) -> None:
        task = self.task(number)
        if to is Status.CANCELLED:
            self.kit.send(task, SignalKind.CANCEL)
        elif self.kit.place(task) == "outbox":
            ended = self.kit.end(task, to)
            assert all(self.kit.place(turn.task_id) == "outbox" for turn in ended.woken)

    @rule(number=PICK, on=PICK, on_failure=RULES, holds=st.booleans())
    def an_edge_changes(self, number: int, on: int, on_failure: OnFailure, holds: bool) -> None:
        task, other = self.task(number), self.task(on)
        reaches = self._reaches(other, task)
        sent = self.kit.depend(task, other, on_failure) if holds else self.kit.undepend(task, other)
        if sent.verdict is SignalVerdict.CYCLE:
            assert reaches, "a circle was seen where there is none"
            assert (sent.cycle[0], sent.cycle[-1]) == (other, task)
        elif holds and sent.verdict is SignalVerdict.ACCEPTED:
            assert not reaches, "a circle was closed"

    @rule(number=PICK, kind=st.sampled_from([SignalKind.PAUSE, SignalKind.RESUME, SignalKind.RETRY, SignalKind.INPUT]))
    def a_person_says(self, number: int, kind: SignalKind) -> None:
        self.kit.send(self.task(number), kind, text="go")

    @rule(number=PICK)
    def a_worker_dies(self, number: int) -> None:
        task = self.task(number)
        if self.kit.place(task) == "outbox":
            self.kit.claim(task)
            self.kit.recover(task)

    @rule(number=PICK)
    def the_sweep_polls(self, number: int) -> None:
        self.kit.store.fire(self.task(number), "blocked")

    @precondition(lambda self: bool(self.saved))
    @rule(steps=st.integers(1, 3))
    def the_server_loses_its_tail(self, steps: int) -> None:
        self.kit.restore(self.saved[-min(steps, len(self.saved))])
        self.saved = []
        self.tasks = [task for task in self.tasks if self.kit.client.exists(self.kit.keys.task(task))]

    # --- what holds ---

    def records(self) -> dict[str, TaskRecord]:
        return {task: self.kit.store.get(task) for task in self.tasks}

    def _reaches(self, start: str, goal: str) -> bool:
        """Whether one task waits for another by way of edges that hold."""
        records, seen, left = self.records(), set[str](), [start]
        while left:
            task = left.pop()
            if task not in seen:
                seen.add(task)
                is_over = records[task].status in TERMINAL
                left += [edge.task_id for edge in records[task].dependencies if edge.holds_up and not is_over]
        return goal in seen

    @invariant()
    def rules_hold(self) -> None:
        if not hasattr(self, "kit"):
            return
        self.kit.check()
        told = examine(self.kit.store.context, self.tasks, RepairMode.LOOK)
        assert [row.findings for row in told if row.findings] == []
        records = self.records()
        for task, record in records.items():
            holding = [edge for edge in record.dependencies if edge.holds_up]
            assert (record.status is Status.BLOCKED) <= bool(holding), f"{task} is blocked by nothing"
            for edge in record.dependencies if record.status not in TERMINAL else ():
                now = records[edge.task_id].status
                assert edge.state is not DependencyState.OPEN or now not in TERMINAL, "not told of an end"
            assert record.status in TERMINAL or not any(self._reaches(edge.task_id, task) for edge in holding)
        self.saved = [*self.saved, self.kit.snapshot()][-4:]

    def teardown(self) -> None:
        if hasattr(self, "kit") and sys.exc_info()[0] is None:
            self._drain()

    def _drain(self) -> None:
        """Once nothing fails any more, every task that may still go on comes to its end."""
        for _ in range(4 * TASKS_MAX):
            records = self.records()
            if all(record.status in TERMINAL for record in records.values()):
                break
            for task, record in records.items():
                self._step(task, record)
        left = {record.status for record in self.records().values()} - TERMINAL
        assert not left, f"stuck: {left}"
        self.kit.check()

    def _step(self, task: str, record: TaskRecord) -> None:
        status = self.kit.status(task)
        if status is Status.PAUSED:
            self.kit.send(task, SignalKind.RESUME)
        elif self.kit.place(task) == "outbox":
            claimed = self.kit.try_claim(task)
            assert claimed.verdict is ClaimVerdict.GRANTED
            assert claimed.lease is not None
            read = Changes(add=MODEL_CALL, consumed=tuple(raw for raw, _ in claimed.inbox))
            self.kit.finish(claimed.lease, FinishTo.COMPLETED, read, summary="Done.")
        elif status is Status.BLOCKED:
            for edge in record.dependencies:
                if edge.holds_up and self.kit.status(edge.task_id) in TERMINAL:
                    self.kit.undepend(task, edge.task_id)

"""Tasks with slots, locks, edges, children and money: what workers, people and the sweep do to one of them."""

from __future__ import annotations

from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from together_oracle import Known, View, faults, look

from lockkit import announced, effect, has_waited
from neuraphage.decide.children import child_id
from neuraphage.errors import CircularDependency
from neuraphage.model.dependency import OnFailure
from neuraphage.model.effect import EffectState
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.lock import LockMode
from neuraphage.model.repairing import RepairMode
from neuraphage.model.subtask import ChildWait, OnParentEnd
from neuraphage.model.task import TERMINAL, Status, TaskSpec
from neuraphage.ports import (
    Changes,
    ChildChanges,
    ClaimVerdict,
    CommitVerdict,
    FinishTo,
    NextTurn,
    SignalKind,
    SignalVerdict,
    SuspendTo,
)
from neuraphage.store import invariant
from neuraphage.store.repair import examine
from storekit import ASK, MODEL_CALL, StoreKit, question

CALL_MICROUSD, TREE_MICROUSD = 20, 90
SNAPSHOTS = 4
FAR_MS = 4_000_000_000_000
"""A time that does not come by itself."""
_numbers = count(1)
Saved = tuple[dict[bytes, tuple[bytes, int]], Known]


@dataclass
class World:
    """Some tasks, and what is known of them by what was answered.

    Args:
        kit: the store, made anew under each set of limits.
        known: what the oracle goes by.
        read: task -> what its turn takes in by its end.
    """

    kit: StoreKit
    known: Known = field(default_factory=Known)
    read: dict[str, Changes] = field(default_factory=dict)
    saved: list[Saved] = field(default_factory=list)
    view: View = field(default_factory=View)
    """As of the last check."""

    @property
    def tasks(self) -> list[str]:
        return list(self.known.labels)

    def at(self, *places: str) -> list[str]:
        """The tasks in these places."""
        return [task for task in self.tasks if any(task in self.view.places[place] for place in places)]

    def with_status(self, *statuses: Status) -> list[str]:
        return [task for task in self.tasks if self.view.status(task) in statuses]

    # --- new tasks, limits ---

    def make(
        self,
        label: str,
        priority: int,
        awaited: Iterable[str],
        on_failure: OnFailure,
        parent: str,
        *,
        later: bool = False,
    ) -> None:
        """A new task; `later`: it begins at a time, which comes when the sweep is told so."""
        labels = dict([label.split("=")]) if label else {}
        task = child_id(parent or "root", f"{next(_numbers)}")
        spec = TaskSpec(
            task_id=task, name="n", prompt="p", model="m", labels=labels, priority=priority,
            blocked_by=tuple({"task_id": one, "on_failure": on_failure} for one in awaited),
            limits=Limits(max_turns=1_000, max_cost_microusd=TREE_MICROUSD),
            parent_id=parent or None, depth=int(bool(parent)), starts_at_ms=FAR_MS if later else None,
        )  # fmt: skip
        try:
            self.kit.store.create(spec, task)
        except CircularDependency:
            return
        self.known.labels[task] = (label,) if label else ()
        if parent:
            self.known.parents[task] = parent

    def limit(self, most: int | None, label_most: dict[str, int]) -> None:
        """Other limits of tasks at work, by way of the settings."""
        known = self.known
        pools = {**({"*": most} if most else {}), **label_most}
        at_work = self.at("outbox", "leases", "timers")
        known.above = {pool: sum(pool in ("*", *known.labels[task]) for task in at_work) for pool in pools}
        queued = [task for task in self.at("outbox") if self.view.status(task) == Status.QUEUED]
        known.early |= {task for task in queued if not known.pools(task)}
        known.most = pools
        self.kit = self.kit.under(
            max_running=most or "none", label_max_running=[f"{name} {number}" for name, number in label_most.items()],
            max_recoveries=4,
        )  # fmt: skip
        self.told(self.kit.store.adjust())

    # --- what workers do ---

    def claim(self, task: str) -> None:
        claimed = self.kit.try_claim(task)
        if claimed.lease is None:
            assert claimed.verdict is ClaimVerdict.NOT_RUNNABLE
            return
        self.known.leases[task] = claimed.lease
        self.known.dead.discard(task)
        answered = tuple(item.prompt_id for _, item in claimed.inbox if item.prompt_id is not None)
        self.read[task] = Changes(
            add=MODEL_CALL, consumed=tuple(raw for raw, _ in claimed.inbox), prompts_closed=answered
        )

    def begin_call(self, task: str, needs: set[str], mode: LockMode, *, twice: bool) -> None:
        lease, call = self.known.leases[task], f"call-{next(_numbers)}"
        changes = announced(lease, tuple(needs), mode, call)
        answer = self.kit.store.commit(lease, changes)
        if twice:
            again = self.kit.store.commit(lease, changes)
            assert again.verdict is answer.verdict
        if answer.verdict is CommitVerdict.COMMITTED:
            self.known.open[task] = (call, frozenset(needs), mode)
            self.advance(task)
        else:
            assert answer.verdict is CommitVerdict.BLOCKED
            assert answer.settled is not None
            del self.known.leases[task]
            self.told(answer.settled.woken)

    def end_call(self, task: str) -> None:
        lease, call = self.known.leases[task], self.known.open.pop(task)[0]
        done = Changes(journal=(effect(call, lease.fence, EffectState.COMPLETED),))
        assert self.kit.store.commit(lease, done).verdict is CommitVerdict.COMMITTED
        self.advance(task)
        self.known.broken = {row for row in self.known.broken if row[0] != task}

    def call_model(self, task: str) -> None:
        """Announce a call of the model, or note what it has cost."""
        known, lease = self.known, self.known.leases[task]
        if task not in known.calling:
            asked = self.kit.store.commit(lease, Changes(reserve_microusd=CALL_MICROUSD))
            assert asked.verdict in (CommitVerdict.COMMITTED, CommitVerdict.NO_MONEY)
            if asked.verdict is CommitVerdict.COMMITTED:
                known.calling.add(task)
                self.advance(task)
            return
        cost = Changes(add={**MODEL_CALL, "cost_microusd": CALL_MICROUSD}, reserve_microusd=0)
        assert self.kit.store.commit(lease, cost).verdict is CommitVerdict.COMMITTED
        self.advance(task)
        known.calling.discard(task)
        for one in known.up(task):
            known.spent[one] = known.spent.get(one, 0) + CALL_MICROUSD

    def finish(self, task: str, to: FinishTo, *, goes_on: bool) -> None:
        lease = self.known.leases.pop(task)
        detail = {"error": "No.", "recoverable": True, "summary": "Done."}
        if goes_on:
            gone = self.kit.go_on(lease, to, self.read[task], **detail)
            settled, claimed = gone.settled, gone.claimed
            if claimed is not None and not isinstance(claimed, Exception) and claimed.lease is not None:
                self.known.leases[task] = claimed.lease
                self.read[task] = Changes(add=MODEL_CALL, consumed=tuple(raw for raw, _ in claimed.inbox))
        else:
            settled = self.kit.finish(lease, to, self.read[task], **detail)
        assert settled.verdict in (CommitVerdict.COMMITTED, CommitVerdict.CANCELLED)
        self.told(settled.woken)

    def suspend(self, task: str, to: SuspendTo) -> None:
        opened = Changes(prompts_opened=(question(),) if to is SuspendTo.WAIT else ())
        self.told(self.kit.suspend(self.known.leases.pop(task), to, opened, due_ms=1).woken)

    def spawn(self, task: str, number: int, wait: ChildWait, how: OnParentEnd, label: str) -> None:
        """Make children, and wait for them and for all others that there are; a repeat of the write changes nothing."""
        labels = dict([label.split("=")]) if label else {}
        names = [f"{next(_numbers)}" for _ in range(number)]
        new = [
            TaskSpec(
                task_id=child_id(task, name), name=name, prompt="p", model="m", parent_id=task, depth=1,
                on_parent_end=how, labels=labels, limits=Limits(max_turns=1_000, max_cost_microusd=TREE_MICROUSD),
            )
            for name in names
        ]  # fmt: skip
        there = [child for child, parent in self.known.parents.items() if parent == task]
        family = ChildChanges(tuple((spec, wait) for spec in new), tuple((child, wait) for child in there))
        lease, changes = self.known.leases.pop(task), Changes(children=family)
        was_cancelled = self.kit.field(task, "cancel") is not None
        settled = self.kit.suspend(lease, SuspendTo.SUBTASKS, changes, detail={"resource": "them"})
        before = self.kit.state()
        self.kit.suspend(lease, SuspendTo.SUBTASKS, changes, detail={"resource": "them"})
        assert self.kit.state() == before, "a repeat of a suspend changed something"
        for spec in () if was_cancelled else new:
            self.known.labels[spec.task_id] = (label,) if label else ()
            self.known.parents[spec.task_id] = task
        self.told(settled.woken)

    def die(self, task: str) -> None:
        del self.known.leases[task]
        self.known.dead.add(task)

    def recover(self, task: str) -> None:
        self.known.dead.discard(task)
        self.told(self.kit.recover(task).woken)

    # --- what people, the sweep and the server do ---

    def say(self, task: str, kind: SignalKind, **more: Any) -> SignalVerdict:
        more = {"prompt_id": ASK} | more if kind is SignalKind.ANSWER else more
        sent = self.kit.send(task, kind, **{"text": "y", **more})
        self.told(sent.woken)
        return sent.verdict

    def unlock(self, task: str, resource: str) -> None:
        if self.say(task, SignalKind.UNLOCK, text=resource) is SignalVerdict.ACCEPTED:
            self.known.broken.add((task, resource))

    def poll(self, task: str, *, waited: bool) -> None:
        if waited and '"state":"waiting"' in (self.kit.field(task, "locks") or ""):
            has_waited(self.kit, task)
        if waited and self.kit.field(task, "starts_at") and self.kit.place(task) == "timers":
            self.kit.client.hset(self.kit.keys.task(task), "starts_at", 1)
            self.kit.client.zadd(self.kit.keys.timers, {task: 1})
        self.kit.store.fire(task, "timers")
        self.kit.store.fire(task, "blocked")

    def delete(self, task: str) -> None:
        if self.kit.store.delete(task, force=True):
            del self.known.labels[task]

    def lose_tail(self, steps: int) -> None:
        """The server comes back without its last writes: whoever had a lease by then is taken for dead."""
        stored, known = self.saved[-min(steps, len(self.saved))]
        self.kit.restore(stored)
        self.known, self.saved = deepcopy(known), []
        self.known.dead |= {*self.known.leases}
        self.known.leases = {}
        self.view = look(self.kit, self.known)
        self.limit(self.known.most.get("*"), {name: most for name, most in self.known.most.items() if name != "*"})

    # --- what holds ---

    def advance(self, task: str) -> None:
        self.known.leases[task] = replace(self.known.leases[task], token=self.known.leases[task].token + 1)

    def told(self, woken: Iterable[NextTurn]) -> None:
        for (
            turn
        ) in woken:  # a child may have got the slot of the parent that is stopped, and be stopped in the same write
            stopped = self.kit.status(turn.task_id) in (*TERMINAL, Status.PAUSED)
            assert stopped or self.kit.place(turn.task_id) == "outbox", "told to go on, and not in the outbox"

    def settle(self) -> None:
        """Take notice of what has ended by a script about another task."""
        known = self.known
        for task in self.tasks:
            status = self.kit.status(task)
            if status in TERMINAL or status is Status.PAUSED:
                known.calling.discard(task)
            if status in TERMINAL:
                known.open.pop(task, None)
                known.leases.pop(task, None)
                known.dead.discard(task)
        for child in list(known.parents):
            if child in known.labels and self.kit.field(child, "parent") is None:
                del known.parents[child]  # an orphan

    def check(self) -> None:
        self.settle()
        breaches = invariant.violations(self.kit.store.context)
        assert not breaches, breaches
        self.kit.check()
        told = examine(self.kit.store.context, self.tasks, RepairMode.LOOK)
        findings = [row.findings for row in told if row.findings]
        self.view = look(self.kit, self.known)
        found = faults(self.view, self.known)
        assert not findings, findings
        assert not found, found
        self.saved = [*self.saved, (self.kit.snapshot(), deepcopy(self.known))][-SNAPSHOTS:]

    def raise_limits(self, task: str) -> None:
        self.say(task, SignalKind.LIMIT, limits=LimitChange(max_turns=None, max_cost_microusd=10**9))

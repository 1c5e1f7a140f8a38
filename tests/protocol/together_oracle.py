"""What must hold between tasks, slots, locks, edges and children, by raw keys and by what workers were answered.

It shares no code with the product's own check (store/invariant.py), which runs beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from neuraphage.model.lock import LockMode
from neuraphage.ports import Lease
from storekit import StoreKit

OVER = {"Completed", "Failed", "Cancelled"}
PLACES = ("outbox", "leases", "timers", "waits")
ALL = "*"
Call = tuple[str, frozenset[str], LockMode]


@dataclass
class Known:
    """What was answered to workers and people; it goes back with the server when that loses its tail.

    Args:
        labels: task -> its labels, of all tasks that are there.
        leases: of workers that live.
        dead: tasks whose holder is dead, and which nobody has recovered yet.
        open: calls of tools that were announced, and whose outcome nobody has stored.
        broken: (task, resource) of locks that a person has taken away.
        parents: child -> parent.
        most: pool -> most tasks at work; empty for no limits.
        above: pool -> how many are at work beyond a limit that was lowered.
        early: tasks that were put to work before there were limits.
        spent: task -> what it has cost with all that is below it.
        calling: calls of a model that are under way.
    """

    labels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    leases: dict[str, Lease] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    open: dict[str, Call] = field(default_factory=dict)
    broken: set[tuple[str, str]] = field(default_factory=set)
    parents: dict[str, str] = field(default_factory=dict)
    most: dict[str, int] = field(default_factory=dict)
    above: dict[str, int] = field(default_factory=dict)
    early: set[str] = field(default_factory=set)
    spent: dict[str, int] = field(default_factory=dict)
    calling: set[str] = field(default_factory=set)

    def pools(self, task: str) -> list[str]:
        """The pools that a task needs a slot of."""
        named = [label for label in self.labels.get(task, ()) if label in self.most]
        return [*([ALL] if ALL in self.most else []), *named]

    def idle(self) -> list[str]:
        """Tasks that a living worker has, and that have no call of a tool under way."""
        return [task for task in self.leases if task not in self.open]

    def at_a_call(self) -> list[str]:
        """Tasks that a living worker has, with a call of a tool under way."""
        return [task for task in self.leases if task in self.open]

    def up(self, task: str) -> list[str]:
        """The task and those above it."""
        found = [task]
        while (parent := self.parents.get(found[-1], "")) in self.labels:
            found.append(parent)
        return found


@dataclass
class View:
    """One reading of everything."""

    records: dict[str, dict[str, str]] = field(default_factory=dict)
    places: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in PLACES})
    line: list[str] = field(default_factory=list)
    edges: set[str] = field(default_factory=set)
    locks: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)

    def status(self, task: str) -> str:
        return self.records.get(task, {}).get("status", "")

    def is_live(self, task: str) -> bool:
        return self.status(task) not in OVER | {""}

    def edges_of(self, task: str, name: str) -> list[tuple[str, str, str]]:
        """Rows of `after` or `children`: the other task, the rule, the state."""
        rows = self.records[task].get(name, "").splitlines()
        return [(row.split(" ")[0], row.split(" ")[1], row.split(" ")[2]) for row in rows]


def look(kit: StoreKit, known: Known) -> View:
    """Read it all."""
    client, keys = kit.client, kit.keys

    def members(key: str) -> list[str]:
        return [raw.decode() for raw in client.zrange(key, 0, -1)]

    locks = {}
    for name, raw in client.hgetall(keys.locks).items():
        rows = [row.split(" ") for row in raw.decode().splitlines()]
        locks[name.decode()] = [(state, mode, task) for state, mode, task, _ in rows]
    records = {}
    for task in known.labels:
        raws = client.hgetall(keys.task(task))
        records[task] = {name.decode(): value.decode() for name, value in raws.items()}
    places = {name: set(members(getattr(keys, name))) for name in PLACES}
    return View(records, places, members(keys.line), set(members(keys.edges)), locks)


def faults(view: View, known: Known) -> list[str]:
    """Every breach found, one sentence each."""
    found = []
    for task in known.labels:
        found += [f"{task} ({view.status(task)}): {text}" for text in _of_task(task, view, known)]
    found += [*_of_slots(view, known), *_of_locks(view, known), *_of_trees(view, known)]
    held = view.places["leases"]
    owned = {*known.leases, *known.dead}
    return [*found, *(f"{task}: a lease that no worker has" for task in held - owned)]


def _of_task(task: str, view: View, known: Known) -> Iterator[str]:
    """No task without a place, a wake-up or an owner."""
    inside = [name for name, members in view.places.items() if task in members]
    if not view.is_live(task):
        yield from (f"over, and in {name}" for name in inside)
        return
    if len(inside) != 1:
        yield f"in {inside}"
    elif inside == ["leases"] and task not in {*known.leases, *known.dead}:
        yield "held by nobody"
    elif inside == ["waits"]:
        yield from _of_waiting(task, view, known)


def _of_waiting(task: str, view: View, known: Known) -> Iterator[str]:
    record, status = view.records[task], view.status(task)
    if status == "Queued":
        yield from _of_line(task, view, known)
    elif status == "Blocked":
        causes = [*_awaited(task, view), *_children(task, view), *_locks(task, view)]
        yield from (text for text in causes if text)
        if not causes:
            yield "blocked by nothing"
    elif status == "WaitingForUser":
        if not any(name.startswith("p:") for name in record):
            yield "waits for no answer"
    elif status != "Paused":
        yield "rests"


def _of_line(task: str, view: View, known: Known) -> Iterator[str]:
    """Who is first of its lane stands there because a pool is full."""
    member = view.records[task].get("admission", "")
    if member not in view.line:
        yield "in no line"
        return
    lane = member.split(" ")[:3]
    first = min(row for row in view.line if row[0] == "w" and row.split(" ")[:3] == lane)
    if first == member and not any(_held(pool, view) >= known.most[pool] for pool in known.pools(task)):
        yield "first of its lane, and there is room for it"


def _awaited(task: str, view: View) -> Iterator[str]:
    """Of each task that holds it up what is wrong, empty where nothing is."""
    for other, rule, state in view.edges_of(task, "after"):
        holds = state == "open" or (rule == "block" and state != "Completed")
        if holds:
            told = state == "open" or view.status(other) != "Completed"
            is_missed = (state == "open" and not view.is_live(other)) or not told
            yield f"was not told of the end of {other}" if is_missed else ""
            if f"{other} {task}" not in view.edges:
                yield f"would not be told of the end of {other}"


def _children(task: str, view: View) -> Iterator[str]:
    rows = view.edges_of(task, "children")
    of_any = [state for _, rule, state in rows if rule == "any"]
    waits = any(rule == "all" and state == "open" for _, rule, state in rows) or set(of_any) == {"open"}
    for child, rule, state in rows if waits else ():
        if rule != "later" and state == "open":
            yield "" if view.is_live(child) else f"was not told of the end of its child {child}"


def _locks(task: str, view: View) -> Iterator[str]:
    own = json.loads(view.records[task].get("locks", "{}"))
    if own.get("state") != "waiting":
        return
    before = []
    for need in own["needs"]:
        rows = view.locks.get(need["resource"], [])
        if task not in {row[2] for row in rows}:
            yield f"not in the line of {need['resource']}"
            return
        at = [row[2] for row in rows].index(task)
        before += [row for row in rows[:at] if "exclusive" in (row[1], need["mode"])]
    yield "" if before else "waits for locks that nobody has"


def _held(pool: str, view: View) -> int:
    return sum(row.startswith(f"s{pool} ") for row in view.line)


def _of_slots(view: View, known: Known) -> Iterator[str]:
    """No slot without a task at work, no task at work without one, and no more than there are."""
    known.early = {task for task in known.early if view.status(task) == "Queued" and task in view.places["outbox"]}
    expected = set()
    for task in known.labels:
        rests = task in view.places["waits"] or (view.status(task) == "Queued" and task in view.places["timers"])
        at_work = view.status(task) in ("Queued", "Running") and not rests
        if at_work and task not in known.early:
            expected |= {f"s{pool} {task}" for pool in known.pools(task)}
    stored = {row for row in view.line if row.startswith("s")}
    yield from (f"{row[1:]}: a slot that nobody has" for row in stored - expected)
    yield from (f"{row[1:]}: at work without a slot" for row in expected - stored)
    for pool, most in known.most.items():
        allowed = max(most, known.above.get(pool, 0))
        if _held(pool, view) > allowed:
            yield f"{_held(pool, view)} slots of {pool}, where there are {allowed}"
        known.above[pool] = min(allowed, _held(pool, view))


def _of_locks(view: View, known: Known) -> Iterator[str]:
    """No lock without a live holder: one that a worker has, that has a call under way, or that is about to begin."""
    for resource, rows in view.locks.items():
        holders = [row for row in rows if row[0] == "holds"]
        if len(holders) > 1 and "exclusive" in {mode for _, mode, _ in holders}:
            yield f"{resource}: held by {len(holders)}, and alone"
        for _, _, task in holders:
            begins = view.status(task) == "Queued"
            if not (task in view.places["leases"] or task in known.open or begins):
                yield f"{resource}: held by {task} ({view.status(task) or 'gone'}), which is not at work"
    for task, (_, resources, mode) in known.open.items():
        for name in resources:
            held = any(row == ("holds", mode.value, task) or row == ("holds", "exclusive", task) for row in
                       view.locks.get(name, ()))  # fmt: skip
            if not held and view.is_live(task) and (task, name) not in known.broken:
                yield f"{task}: its call is under way, and {name} is not its own"


def _of_trees(view: View, known: Known) -> Iterator[str]:
    """Each child once and known to its parent; what it costs is known above."""
    for child, parent in known.parents.items():
        if parent in known.labels and view.is_live(parent):
            count = sum(row[0] == child for row in view.edges_of(parent, "children"))
            if count != 1:
                yield f"{child}: {count} times among the children of {parent}"
    for task in known.labels:
        record = view.records[task]
        total = int(record.get("cost_microusd", 0)) + int(record.get("below", 0))
        if record and total != known.spent.get(task, 0):
            yield f"{task}: {total} is told to be spent with its children, {known.spent.get(task, 0)} was"

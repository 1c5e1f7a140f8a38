"""The invariant, as a check: a task that is not over sits in exactly one of the four places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from neuraphage.errors import CorruptRecord
from neuraphage.model.money import Pool
from neuraphage.model.place import PLACES_OF, Place
from neuraphage.model.task import TERMINAL, Status
from neuraphage.store.child_rules import child_violations
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.edge_rules import edge_violations
from neuraphage.store.encode import loads
from neuraphage.store.line_rules import line_violations
from neuraphage.store.lock_rules import lock_violations
from neuraphage.store.queries import PLACES
from neuraphage.store.schedules import schedule_violations

NUMBERS = ("seq", "fence", "iteration", "token", "recoveries", "recoveries_total", "saved_at")
"""Fields that scripts count with: none of them can move a task whose number is broken."""
READ_ATTEMPTS = 10
"""Reads until no task is made between the listing of ids and the reading; two are enough in practice."""


@dataclass(frozen=True, slots=True)
class _Picture:
    """Everything the check looks at, read at one instant."""

    places: dict[str, set[str]]
    by_status: dict[Status, set[str]]
    retention: set[str]
    deadlines: list[str]
    ids: set[str]
    records: dict[str, dict[bytes, bytes]]
    edges: set[tuple[str, str]]
    reserved: dict[str, int]
    schedules: dict[bytes, bytes]
    schedule_states: dict[bytes, bytes]
    locks: dict[bytes, bytes]
    line: set[str]
    lanes: set[str]
    slot_rules: dict[str, Any]

    @property
    def placed(self) -> set[str]:
        """Ids that stand in some place."""
        return set().union(*self.places.values())


def violations(context: StoreContext) -> list[str]:
    """Every breach found, one sentence each; empty when all holds.

    Reads everything at one instant (one MULTI), so it may run beside live workers.
    """
    with translated("check the invariant"):
        picture = _picture(context)
    found: list[str] = []
    for task_id, raw in picture.records.items():
        if raw:
            found += _task_violations(task_id, raw, picture)
    for name, members in picture.places.items():
        found += [f"{m}: in {name}, but there is no such task" for m in members if not picture.records.get(m)]
    found += [f"{d}: a deadline of a prompt that is not open" for d in picture.deadlines if not _open(d, picture)]
    found += line_violations(picture.records, picture.line, picture.lanes, picture.places, picture.slot_rules)
    found += _money_violations(picture) + edge_violations(picture.records, picture.edges)
    found += child_violations(picture.records) + schedule_violations(picture.schedules, picture.schedule_states)
    return found + lock_violations(picture.records, picture.locks)


def _money_violations(picture: _Picture) -> list[str]:
    """What pools hold for calls under way is what the tasks hold of them, and no task that stands holds anything."""
    held: dict[str, int] = {}
    found = []
    at_rest = {status.value.encode() for status in (*TERMINAL, Status.PAUSED)}
    holders = {task_id: raw for task_id, raw in picture.records.items() if raw.get(b"reserved", b"").isdigit()}
    for task_id, raw in holders.items():
        for pool in (Pool.DAY.value, *raw.get(b"labels", b"").decode().split()):
            held[pool] = held.get(pool, 0) + int(raw[b"reserved"])
        if raw.get(b"status") in at_rest:
            found.append(f"{task_id}: {raw[b'status'].decode()}, and holds money of its pools")
    for pool in sorted(held.keys() | picture.reserved.keys()):
        if held.get(pool, 0) != picture.reserved.get(pool, 0):
            found.append(f"pool {pool}: {picture.reserved.get(pool, 0)} is reserved, tasks hold {held.get(pool, 0)}")
    return found


def _picture(context: StoreContext) -> _Picture:
    pattern = _escaped(f"{context.keys.prefix}task:task-*")
    start = len(context.keys.prefix + "task:")
    names = context.client.scan_iter(match=pattern, count=1000)
    ids = {name.decode()[start:].split(":")[0] for name in names}
    for _ in range(READ_ATTEMPTS):
        picture = _read(context, sorted(ids))
        if picture.placed <= ids:
            break
        ids |= picture.placed  # made since the ids were listed, or not there at all
    return picture


def _read(context: StoreContext, ids: Iterable[str]) -> _Picture:
    keys = context.keys
    ids = list(ids)
    zsets = [*(getattr(keys, place) for place in PLACES), *map(keys.status, Status), keys.retention]
    zsets += [keys.line, keys.lanes, keys.ids, keys.deadlines]
    with context.client.pipeline(transaction=True) as pipe:
        for zset in zsets:
            pipe.zrange(zset, 0, -1)
        for task_id in ids:
            pipe.hgetall(keys.task(task_id))
        pipe.hgetall(keys.pools)
        pipe.zrange(keys.edges, 0, -1)
        pipe.hgetall(keys.locks)
        pipe.hget(keys.admission, "rules")
        pipe.hgetall(keys.schedules)
        pipe.hgetall(keys.schedule_states)
        *replies, pools, edges, locks, rules, definitions, states = pipe.execute()
    members = [[raw.decode() for raw in reply] for reply in replies[: len(zsets)]]
    statuses = members[len(PLACES) : len(PLACES) + len(Status)]
    return _Picture(
        places={name: set(members[i]) for i, name in enumerate(PLACES)},
        by_status={status: set(statuses[i]) for i, status in enumerate(Status)},
        retention=set(members[-5]),
        line=set(members[-4]),
        lanes=set(members[-3]),
        ids=set(members[-2]),
        deadlines=members[-1],
        records=dict(zip(ids, replies[len(zsets) :], strict=True)),
        edges={(awaited, waiting) for awaited, _, waiting in (raw.decode().partition(" ") for raw in edges)},
        reserved={
            name.removeprefix(b"reserved ").decode(): int(value)
            for name, value in pools.items()
            if name.startswith(b"reserved ")
        },
        locks=locks,
        slot_rules=loads(rules or b"{}", "limits of tasks at work"),
        schedules=definitions,
        schedule_states=states,
    )


def _escaped(pattern: str) -> str:
    return pattern.replace("[", "\\[").replace("]", "\\]")


def _open(deadline: str, picture: _Picture) -> bool:
    task_id, _, prompt = deadline.partition("|")
    return f"p:{prompt}".encode() in picture.records.get(task_id, {})


def _task_violations(task_id: str, raw: Mapping[bytes, bytes], picture: _Picture) -> list[str]:
    if b"status" not in raw:
        return [f"{task_id}: record without a status"]
    try:
        status = Status(raw[b"status"].decode())
    except ValueError:
        return [f"{task_id}: unknown status {raw[b'status']!r}"]
    found = _place_violations(task_id, status, picture)
    listed = [s for s, members in picture.by_status.items() if task_id in members]
    if listed != [status]:
        found.append(f"{task_id}: status {status}, listed under {[s.value for s in listed]}")
    if status is Status.WAITING_FOR_USER and not any(name.startswith(b"p:") for name in raw):
        found.append(f"{task_id}: WaitingForUser without an open prompt")
    # a call that has to wait leaves a flag that came before it to the next claim (commit.lua)
    is_seen = Place.LEASES if status is not Status.RUNNING else Place.OUTBOX
    if task_id not in picture.places[Place.LEASES] | picture.places[is_seen] and (b"pause" in raw or b"cancel" in raw):
        found.append(f"{task_id}: a pause or cancel flag, but no lease whose holder could see it")
    if task_id not in picture.ids:
        found.append(f"{task_id}: not in the index of all ids")
    if not _has_marker(raw):
        found.append(f"{task_id}: no marker")
    if b"starts_at" in raw and not _waits_for_its_time(task_id, status, picture):
        found.append(f"{task_id}: {status}, and has a time to begin at that nothing waits for")
    if status not in TERMINAL:
        broken = [name for name in NUMBERS if not raw.get(name.encode(), b"0").isdigit()]
        found += [f"{task_id}: its {name} is no number" for name in broken]
        found += [f"{task_id}: no {name}" for name in ("seq", "fence") if name.encode() not in raw]
    return found


def _place_violations(task_id: str, status: Status, picture: _Picture) -> list[str]:
    inside = [name for name, members in picture.places.items() if task_id in members]
    found = []
    if status in TERMINAL:
        if inside:
            found.append(f"{task_id}: {status} but still in {'+'.join(inside)}")
        if task_id not in picture.retention:
            found.append(f"{task_id}: {status} but in no retention, so its index entries would never go")
        return found
    if len(inside) != 1:
        found.append(f"{task_id}: {status} sits in {'+'.join(inside) or 'no place'}, must sit in exactly one")
    elif inside[0] not in PLACES_OF[status]:
        found.append(f"{task_id}: {status} in {inside[0]}")
    if task_id in picture.retention:
        found.append(f"{task_id}: {status} but in retention")
    return found


def _waits_for_its_time(task_id: str, status: Status, picture: _Picture) -> bool:
    """In timers; blocked and paused tasks are put there as soon as they are neither."""
    if status in {Status.BLOCKED, Status.PAUSED}:
        return True
    return status is Status.QUEUED and task_id in picture.places[Place.TIMERS]


def _has_marker(raw: Mapping[bytes, bytes]) -> bool:
    try:
        return isinstance(loads(raw.get(b"marker", b"null"), "marker"), dict)
    except CorruptRecord:
        return False

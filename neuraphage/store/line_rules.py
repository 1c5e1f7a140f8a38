"""What must hold of slots and of the line of those that wait for one, as a check; see slots.lua."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from neuraphage.model.admission import ALL_TASKS
from neuraphage.model.place import Place
from neuraphage.model.task import Status
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext

Records = Mapping[str, Mapping[bytes, bytes]]
SLOT, WAITING, PARKED = "s", "w", "p"
"""How the members of the line begin."""
_AT_WORK = {status.value.encode() for status in (Status.QUEUED, Status.RUNNING)}


def members_of(task_id: str, held: str) -> set[str]:
    """What the line has of a task whose field `admission` is this."""
    if held.startswith(SLOT):
        return {f"{SLOT}{pool} {task_id}" for pool in held[1:].split()}
    return {held} if held else set()


def lane_of(member: str) -> str:
    """The lane of one that waits: `<priority> <key> <pools>`."""
    return " ".join(member[1:].split(" ")[:3])


def most_of(rules: Mapping[str, Any], pool: str) -> int | None:
    """How many slots a pool has by the limits that the scripts were told; None for no limit."""
    labels = rules.get("labels", {})
    value = rules.get("most") if pool == ALL_TASKS else labels.get(pool, labels.get(pool.partition("=")[0] + "=*"))
    return None if value is None else int(value)


def line_violations(
    records: Records, line: Set[str], lanes: Set[str], places: Mapping[str, Set[str]], rules: Mapping[str, Any]
) -> list[str]:
    """Every breach found, one sentence each.

    Args:
        records: task hashes by their ids; one that is gone is empty.
        line, lanes: members of the two keys.
        places: members of each place.
        rules: the limits, as the scripts were told.
    """
    found, expected = [], set()
    for task_id, raw in records.items():
        held = raw.get(b"admission", b"").decode()
        expected |= members_of(task_id, held)
        at_rest = task_id in places[Place.WAITS]
        if held.startswith(SLOT) and (raw.get(b"status") not in _AT_WORK or at_rest):
            found.append(f"{task_id}: {raw.get(b'status', b'').decode()}, and holds a slot")
        in_line = raw.get(b"status") == Status.QUEUED.value.encode() and at_rest
        if in_line != held.startswith(WAITING):
            found.append(f"{task_id}: stands in line and is not Queued, or waits in no line")
    awaited = [member[1:].partition(" ") for member in line if member.startswith(PARKED)]
    parked = {lane for _, _, lane in awaited}
    found += [
        f"lane {lane!r}: waits for {pool}, which has room" for pool, _, lane in awaited if _has_room(pool, line, rules)
    ]
    standing = {member for member in line if not member.startswith(PARKED)}
    found += [f"{member}: in the line of admission, and no task has it" for member in standing - expected]
    found += [f"{member}: a task has it, and the line of admission has not" for member in expected - standing]
    waiting = {lane_of(member) for member in line if member.startswith(WAITING)}
    found += [f"lane {lane!r}: nobody is to look at it" for lane in waiting - lanes - parked]
    return found + [f"lane {lane!r}: nobody is in it" for lane in (lanes | parked) - waiting]


def _has_room(pool: str, line: Set[str], rules: Mapping[str, Any]) -> bool:
    most = most_of(rules, pool)
    return most is None or sum(member.startswith(f"{SLOT}{pool} ") for member in line) < most


def scan_line(context: StoreContext, cursor: int, batch: int) -> tuple[int, list[str]]:
    """The next part of the line: where the one after it begins (0 at the end), and members no record stands behind."""
    with translated("look through the line of admission"):
        cursor, rows = context.client.zscan(context.keys.line, cursor, count=batch)
        return cursor, _questioned(context, [member.decode(errors="replace") for member, _ in rows])


def line_in_question(context: StoreContext, task_ids: Sequence[str], batch: int) -> list[str]:
    """The same of the whole line, of those that belong to some tasks."""
    found = []
    with translated("look through the line of admission"):
        for task_id in task_ids:
            rows = context.client.zscan_iter(context.keys.line, match=f"* {task_id}", count=batch)
            found += [member.decode(errors="replace") for member, _ in rows]
        return _questioned(context, found)


def _questioned(context: StoreContext, members: Sequence[str]) -> list[str]:
    mine = [member for member in members if not member.startswith(PARKED)]
    with context.client.pipeline(transaction=False) as pipe:
        for member in mine:
            pipe.hget(context.keys.task(member.rpartition(" ")[2]), "admission")
        rows = pipe.execute(raise_on_error=False) if mine else []
    return [member for member, raw in zip(mine, rows, strict=True) if not _stands(member, raw)]


def _stands(member: str, raw: object) -> bool:
    if raw is not None and not isinstance(raw, bytes):
        return True  # its record is damaged, which is told of it
    return member in members_of(member.rpartition(" ")[2], (raw or b"").decode(errors="replace"))

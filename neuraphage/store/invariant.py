"""The invariant, as a check: a task that is not over sits in exactly one of the four places."""

from __future__ import annotations

from neuraphage.model.task import TERMINAL, Status
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import loads
from neuraphage.store.reading import PLACES


def violations(context: StoreContext) -> list[str]:
    """Every breach found, one sentence each; empty when all holds.

    Reads everything at one instant (one MULTI), so it may run beside live workers.
    """
    keys = context.keys
    with translated("check the invariant"):
        pattern = f"{keys.prefix}task:task-*"
        names = {key.decode() for key in context.client.scan_iter(match=_escaped(pattern), count=1000)}
        ids = sorted({name.removeprefix(keys.prefix + "task:").split(":")[0] for name in names})
        with context.client.pipeline(transaction=True) as pipe:
            for place in PLACES:
                pipe.zrange(getattr(keys, place), 0, -1)
            for status in Status:
                pipe.zrange(keys.status(status), 0, -1)
            pipe.zrange(keys.deadlines, 0, -1)
            for task_id in ids:
                pipe.hgetall(keys.task(task_id))
            replies = pipe.execute()
    places = {name: {m.decode() for m in replies[i]} for i, name in enumerate(PLACES)}
    offset = len(PLACES)
    by_status = {status: {m.decode() for m in replies[offset + i]} for i, status in enumerate(Status)}
    offset += len(Status)
    deadlines = [member.decode() for member in replies[offset]]
    hashes = dict(zip(ids, replies[offset + 1 :], strict=True))
    found: list[str] = []
    for task_id, raw in hashes.items():
        if raw:
            found += _task_violations(task_id, raw, places, by_status)
    for name, members in places.items():
        found += [f"{m}: in {name}, but there is no such task" for m in members if not hashes.get(m)]
    found += [f"{d}: a deadline of a prompt that is not open" for d in deadlines if not _open(d, hashes)]
    return found


def _escaped(pattern: str) -> str:
    return pattern.replace("[", "\\[").replace("]", "\\]")


def _open(deadline: str, hashes: dict[str, dict[bytes, bytes]]) -> bool:
    task_id, _, prompt = deadline.partition("|")
    return f"p:{prompt}".encode() in hashes.get(task_id, {})


def _task_violations(
    task_id: str, raw: dict[bytes, bytes], places: dict[str, set[str]], by_status: dict[Status, set[str]]
) -> list[str]:
    if b"status" not in raw:
        return [f"{task_id}: record without a status"]
    status = Status(raw[b"status"].decode())
    inside = [name for name, members in places.items() if task_id in members]
    found = []
    if status in TERMINAL and inside:
        found.append(f"{task_id}: {status} but still in {'+'.join(inside)}")
    if status not in TERMINAL and len(inside) != 1:
        found.append(f"{task_id}: {status} sits in {'+'.join(inside) or 'no place'}, must sit in exactly one")
    allowed = {
        Status.QUEUED: {"outbox", "timers"},
        Status.RUNNING: {"outbox", "leases", "timers"},
        Status.WAITING_FOR_USER: {"waits"},
        Status.BLOCKED: {"waits"},
        Status.PAUSED: {"waits"},
    }
    if status in allowed and inside and not set(inside) <= allowed[status]:
        found.append(f"{task_id}: {status} in {inside[0]}")
    listed = [s for s, members in by_status.items() if task_id in members]
    if listed != [status]:
        found.append(f"{task_id}: status {status}, listed under {[s.value for s in listed]}")
    if status is Status.WAITING_FOR_USER and not any(name.startswith(b"p:") for name in raw):
        found.append(f"{task_id}: WaitingForUser without an open prompt")
    marker = loads(raw.get(b"marker", b"null"), "marker")
    if not isinstance(marker, dict):
        found.append(f"{task_id}: no marker")
    return found

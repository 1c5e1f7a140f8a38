"""What must hold of locks in stored records and in the hash of all locks, as a check; see locks.lua."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neuraphage.errors import CorruptRecord
from neuraphage.model.lock import HeldResource, LockLine, LockMode, LockNeed, LockState, TaskLocks
from neuraphage.model.task import TERMINAL, Status
from neuraphage.store.lock_text import held_resource, locks_of

_OVER = {status.value.encode() for status in TERMINAL}
_BLOCKED = Status.BLOCKED.value.encode()
Held = Mapping[str, HeldResource]


def lock_violations(records: Mapping[str, Mapping[bytes, bytes]], stored: Mapping[bytes, bytes]) -> list[str]:
    """Every breach found, one sentence each.

    Args:
        records: task hashes by their ids; one that is gone is empty.
        stored: the hash of all locks.
    """
    names = ((name.decode(errors="replace"), raw) for name, raw in stored.items())
    held = {name: held_resource(name, raw) for name, raw in names}
    found, named = [], set()
    for task_id, raw in records.items():
        try:
            own = locks_of(raw, b"locks")
        except CorruptRecord:
            found.append(f"{task_id}: its locks cannot be read")
            continue
        if own is not None:
            found += _of_task(task_id, raw, own, held)
            if own.state is not LockState.LATE:
                named |= {(need.resource, task_id) for need in own.needs}
    for resource in held.values():
        found += _of_resource(resource)
        found += [
            f"{line.task_id}: {line.state} {resource.resource}, and its record does not say so"
            for line in resource.lines
            if (resource.resource, line.task_id) not in named
        ]
    return found


def _of_task(task_id: str, raw: Mapping[bytes, bytes], own: TaskLocks, held: Held) -> Iterator[str]:
    status = raw.get(b"status", b"")
    if status in _OVER:
        yield f"{task_id}: {status.decode()}, and {own.state} locks"
    if own.state is LockState.WAITING and status != _BLOCKED:
        yield f"{task_id}: {status.decode()}, and {own.state} locks"
    if own.state is LockState.LATE:
        return
    missing = [need.resource for need in own.needs if not _has(task_id, own.state, need, held)]
    yield from (f"{task_id}: {own.state} {name}, which does not know of it" for name in missing)
    if own.state is LockState.WAITING and not missing and not any(_is_kept_from(task_id, n, held) for n in own.needs):
        yield f"{task_id}: waits for locks that nobody keeps it from"


def _has(task_id: str, state: LockState, need: LockNeed, held: Held) -> bool:
    lines = held[need.resource].lines if need.resource in held else ()
    return any((line.task_id, line.state, line.mode) == (task_id, state, need.mode) for line in lines)


def _is_kept_from(task_id: str, need: LockNeed, held: Held) -> bool:
    for line in held[need.resource].lines:
        if line.task_id == task_id:
            return False
        if LockMode.EXCLUSIVE in (line.mode, need.mode):
            return True
    return False


def _of_resource(resource: HeldResource) -> Iterator[str]:
    lines: tuple[LockLine, ...] = resource.lines
    holders = [line for line in lines if line.state is LockState.HOLDS]
    if len(holders) > 1 and any(line.mode is LockMode.EXCLUSIVE for line in holders):
        yield f"{resource.resource}: held by {len(holders)} tasks, by one of them alone"
    if list(lines[: len(holders)]) != holders:
        yield f"{resource.resource}: one that waits stands before one that holds it"
    if len({line.task_id for line in lines}) < len(lines):
        yield f"{resource.resource}: one task stands there twice"

"""Lines in the hash of all locks that no record stands behind: for repair, which takes them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuraphage.errors import CorruptRecord
from neuraphage.model.lock import LockLine, TaskLocks
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.lock_text import held_resource, locks_of

Named = tuple[str, str]
"""A task, and a resource that it has a line at."""


def scan_locks(context: StoreContext, cursor: int, batch: int) -> tuple[int, list[Named]]:
    """The next part of the hash: where the one after it begins (0 at the end), and lines in question."""
    with translated("look through the locks"):
        cursor, fields = context.client.hscan(context.keys.locks, cursor, count=batch)
    return cursor, questioned(context, fields.items())


def locks_in_question(context: StoreContext, task_ids: Iterable[str], batch: int) -> list[Named]:
    """The same of the whole hash, of some tasks."""
    wanted = set(task_ids)
    with translated("look through the locks"):
        fields = list(context.client.hscan_iter(context.keys.locks, count=batch))
    return [row for row in questioned(context, fields) if row[0] in wanted]


def questioned(context: StoreContext, fields: Iterable[tuple[bytes, bytes]]) -> list[Named]:
    """Those whose record does not say so."""
    resources = [held_resource(name.decode(errors="replace"), raw) for name, raw in fields]
    rows = [(line, resource.resource) for resource in resources for line in resource.lines]
    with translated("look at tasks that hold locks"), context.client.pipeline(transaction=False) as pipe:
        for line, _ in rows:
            pipe.hget(context.keys.task(line.task_id), "locks")
        found: Sequence[object] = pipe.execute(raise_on_error=False) if rows else []
    return [
        (line.task_id, resource)
        for (line, resource), raw in zip(rows, found, strict=True)
        if not _stands(line, resource, raw)
    ]


def _stands(line: LockLine, resource: str, raw: object) -> bool:
    if isinstance(raw, Exception):
        return True  # its record is damaged, which is told of it
    try:
        own: TaskLocks | None = locks_of({"locks": raw} if isinstance(raw, bytes) else {})
    except CorruptRecord:
        return False
    return own is not None and own.state is line.state and any(need.resource == resource for need in own.needs)

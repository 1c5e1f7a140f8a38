"""Members of the index of edges that no record stands behind: for repair, which takes them out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from neuraphage.errors import CorruptRecord
from neuraphage.model.task import TERMINAL
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.edge_text import awaited_of

_OVER = {status.value.encode() for status in TERMINAL}


def scan_edges(context: StoreContext, cursor: int, batch: int) -> tuple[int, list[str]]:
    """The next part of the index: where the one after it begins (0 at the end), and members in question."""
    with translated("look through the index of edges"):
        cursor, rows = context.client.zscan(context.keys.edges, cursor, count=batch)
    return cursor, questioned(context, [member.decode(errors="replace") for member, _ in rows])


def edges_in_question(context: StoreContext, task_ids: Iterable[str], batch: int) -> list[str]:
    """The same of the whole index, of those that belong to some waiting tasks."""
    found = []
    with translated("look through the index of edges"):
        for task_id in task_ids:
            rows = context.client.zscan_iter(context.keys.edges, match=f"* {task_id}", count=batch)
            found += [member.decode(errors="replace") for member, _ in rows]
    return questioned(context, found)


def waiting_of(member: str) -> str:
    """The waiting task of a member."""
    return member.partition(" ")[2]


def questioned(context: StoreContext, members: Sequence[str]) -> list[str]:
    """Those that no waiting task's record has."""
    with translated("look at waiting tasks"), context.client.pipeline(transaction=False) as pipe:
        for member in members:
            pipe.hmget(context.keys.task(waiting_of(member)), "status", "after")
        rows = pipe.execute(raise_on_error=False) if members else []
    return [member for member, row in zip(members, rows, strict=True) if not _stands(member, row)]


def _stands(member: str, row: object) -> bool:
    if not isinstance(row, list):
        return True  # its record is damaged, which is told of it
    status, after = row
    try:
        edges = awaited_of(after or b"")
    except (CorruptRecord, ValueError):
        return True
    awaited = member.partition(" ")[0]
    return status not in _OVER and any(edge.task_id == awaited and edge.holds_up for edge in edges)

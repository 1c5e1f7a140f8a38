"""What must hold of the graph in stored records, as a check; see edges.lua."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

from neuraphage.errors import CorruptRecord
from neuraphage.model.dependency import Awaited, DependencyState, OnFailure
from neuraphage.model.task import TERMINAL, Status
from neuraphage.store.edge_text import awaited_of

Records = Mapping[str, Mapping[bytes, bytes]]
_OVER = {status.value.encode() for status in TERMINAL}
_MAY_WAIT = {status.value.encode() for status in (Status.BLOCKED, Status.PAUSED)}


def edge_violations(records: Records, index: Set[tuple[str, str]]) -> list[str]:
    """Every breach found, one sentence each.

    Args:
        records: task hashes by their ids; one that is gone is empty.
        index: (awaited, waiting) of the index of edges.
    """
    found, expected = [], set()
    for task_id, raw in records.items():
        try:
            edges = awaited_of(raw.get(b"after", b""))
        except (CorruptRecord, ValueError):
            found.append(f"{task_id}: its dependencies cannot be read")
            continue
        if raw.get(b"status") in _OVER:
            continue
        expected |= {(edge.task_id, task_id) for edge in edges if edge.holds_up}
        found += _of_task(task_id, raw, edges, records)
    found += [f"{waiting}: waits for {awaited}, which does not know of it" for awaited, waiting in expected - index]
    found += [f"{awaited} {waiting}: an edge that no task has" for awaited, waiting in index - expected]
    return found


def _of_task(task_id: str, raw: Mapping[bytes, bytes], edges: tuple[Awaited, ...], records: Records) -> Iterator[str]:
    if any(edge.holds_up for edge in edges) and raw.get(b"status") not in _MAY_WAIT:
        yield f"{task_id}: {raw.get(b'status', b'').decode()} and waits for other tasks"
    for edge in edges:
        awaited = records.get(edge.task_id, {})
        if edge.state is DependencyState.OPEN and awaited.get(b"status") in _OVER:
            yield f"{task_id}: waits for {edge.task_id}, which is over"
        if edge.on_failure is OnFailure.SKIP and edge.state not in (DependencyState.OPEN, DependencyState.COMPLETED):
            yield f"{task_id}: was to be skipped with {edge.task_id}"

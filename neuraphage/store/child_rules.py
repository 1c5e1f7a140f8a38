"""What must hold between tasks and their children in stored records, as a check; see children.lua."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from neuraphage.errors import CorruptRecord
from neuraphage.model.dependency import DependencyState
from neuraphage.model.subtask import Child, holds_parent
from neuraphage.model.task import TERMINAL, Status
from neuraphage.store.child_text import children_of

Records = Mapping[str, Mapping[bytes, bytes]]
_OVER = {status.value.encode() for status in TERMINAL}
_MAY_WAIT = {status.value.encode() for status in (Status.BLOCKED, Status.PAUSED)}


def child_violations(records: Records) -> list[str]:
    """Every breach found, one sentence each.

    Args:
        records: task hashes by their ids; one that is gone is empty.
    """
    found: list[str] = []
    for task_id, raw in records.items():
        try:
            children = children_of(raw.get(b"children", b""))
        except (CorruptRecord, ValueError):
            found.append(f"{task_id}: its children cannot be read")
            continue
        if raw.get(b"status") not in _OVER:
            found += _of_parent(task_id, raw, children, records)
        parent = raw.get(b"parent", b"").decode()
        if parent and raw.get(b"status") not in _OVER:
            found += _of_child(task_id, records.get(parent, {}), parent)
    return [*found, *_held(records), *_turns(records)]


def _turns(records: Records) -> Iterator[str]:
    """No turn below a task is missing in what it counts; those of tasks that are gone or go on by themselves stay."""
    below: dict[str, int] = {}
    for raw in records.values():
        taken, above = int(raw.get(b"tree", b"0").split()[0]), raw.get(b"parent", b"").decode()
        while above and records.get(above):
            below[above] = below.get(above, 0) + taken
            above = records[above].get(b"parent", b"").decode()
    for task_id, turns in below.items():
        noted = int(records[task_id].get(b"turns_below", b"0"))
        if noted < turns:
            yield f"{task_id}: {noted} turns are noted below it, tasks have taken {turns}"


def _held(records: Records) -> Iterator[str]:
    """What stands above a call that is under way knows what it may cost."""
    held: dict[str, int] = {}
    for raw in records.values():
        amount, above = int(raw.get(b"reserved", b"0")), raw.get(b"parent", b"").decode()
        while above and records.get(above):
            held[above] = held.get(above, 0) + amount
            above = records[above].get(b"parent", b"").decode()
    for task_id, raw in records.items():
        noted = int(raw.get(b"held_below", b"0"))
        if raw and noted != held.get(task_id, 0):
            yield f"{task_id}: {noted} is reserved below it, tasks hold {held.get(task_id, 0)}"


def _of_parent(
    task_id: str, raw: Mapping[bytes, bytes], children: tuple[Child, ...], records: Records
) -> Iterator[str]:
    if holds_parent(children) and raw.get(b"status") not in _MAY_WAIT:
        yield f"{task_id}: {raw.get(b'status', b'').decode()} and waits for its children"
    for child in children:
        record = records.get(child.task_id, {})
        if child.state is not DependencyState.OPEN:
            continue
        if record.get(b"status") in _OVER:
            yield f"{task_id}: was not told of {child.task_id}, which is over"
        if record.get(b"parent", b"").decode() != task_id:
            yield f"{task_id}: has {child.task_id} as a child, which knows nothing of it"


def _of_child(task_id: str, parent: Mapping[bytes, bytes], parent_id: str) -> Iterator[str]:
    if parent.get(b"status") in _OVER:
        return  # it was told to stop, and has not done so yet
    try:
        children = children_of(parent.get(b"children", b""))
    except (CorruptRecord, ValueError):
        return
    if parent and task_id not in {child.task_id for child in children}:
        yield f"{task_id}: its parent {parent_id} knows nothing of it"

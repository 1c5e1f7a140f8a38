"""Between the children of a task and what its record holds of them (children.lua)."""

from __future__ import annotations

from neuraphage.model.dependency import DependencyState
from neuraphage.model.subtask import Child, ChildOutcome
from neuraphage.store.client import corrupt
from neuraphage.store.encode import loads

_WORDS = {DependencyState.FAILED: "error", DependencyState.CANCELLED: "reason"}
"""Of the detail of a task that has ended so."""


def children_of(raw: bytes) -> tuple[Child, ...]:
    """The children of a stored field `children`.

    Raises:
        CorruptRecord: it cannot be read.
    """
    rows = [line.split() for line in raw.decode().splitlines()]
    if any(len(row) != 3 for row in rows):
        raise corrupt("task record", "its children cannot be read")
    return tuple(
        Child.model_validate({"task_id": task_id, "wait": wait, "state": state}) for task_id, wait, state in rows
    )


def outcome_of(raw: bytes) -> ChildOutcome:
    """What came of a child, from the field that the end of it has written.

    Raises:
        CorruptRecord: it cannot be read.
    """
    stored = loads(raw, "outcome of a child")
    state = DependencyState(stored["state"])
    detail = loads(stored.get("detail") or "{}", "detail of a child")
    return ChildOutcome(
        state=state,
        text=str(detail.get(_WORDS.get(state, "summary")) or ""),
        files=tuple(detail.get("files") or ()),
        turns=int(stored["turns"]),
        cost_microusd=int(stored["cost_microusd"]),
    )

"""Between dependencies and the field of a record that holds them (edges.lua)."""

from __future__ import annotations

from collections.abc import Iterable

from neuraphage.model.dependency import Awaited, Dependency, DependencyState
from neuraphage.store.client import corrupt


def after_text(dependencies: Iterable[Dependency]) -> str:
    """The field `after` of a task that is to wait for others; of several edges to one task the last holds."""
    rules = {one.task_id: one.on_failure for one in dependencies}
    return "\n".join(f"{task_id} {rule.value} {DependencyState.OPEN.value}" for task_id, rule in rules.items())


def awaited_of(raw: bytes) -> tuple[Awaited, ...]:
    """The dependencies of a stored field `after`.

    Raises:
        CorruptRecord: it cannot be read.
    """
    rows = [line.split() for line in raw.decode().splitlines()]
    if any(len(row) != 3 for row in rows):
        raise corrupt("task record", "its dependencies cannot be read")
    return tuple(
        Awaited.model_validate({"task_id": task_id, "on_failure": rule, "state": state})
        for task_id, rule, state in rows
    )

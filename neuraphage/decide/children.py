"""Tasks that a task makes: when a call waits for them, what the model is told of them, what they are given. Pure."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.decide.child_actions import AwaitChildren, TakeChildren
from neuraphage.decide.limits import dollars
from neuraphage.model.dependency import DependencyState
from neuraphage.model.effect import ToolEffect
from neuraphage.model.subtask import Child, ChildOutcome
from neuraphage.model.task import TaskRecord
from neuraphage.model.tool import FileSight, SightKind, ToolCall, ToolResult

MOST_FILES = 200
"""Files that are told of one child."""
_GONE = "Subtask {task_id} goes on by itself: what comes of it is not told here."
_TAKEN = "Subtask {task_id} is over ({state}); its result was told before."
_OPEN = "Subtask {task_id} is not over."


def child_id(parent_id: str, call: str) -> str:
    """The id of the task that a call makes: always the same, so that no repeat makes another one."""
    digest = hashlib.sha256("\0".join((parent_id, "child", call)).encode("utf-8", "replace")).digest()
    return f"task-{uuid.UUID(bytes=digest[:16], version=4)}"


def is_open(record: TaskRecord, children: Sequence[str], *, awaits_any: bool) -> bool:
    """Whether a call that waits for children is to wait on; one that is not known is not waited for."""
    states = [child.state for child in record.children if child.task_id in children]
    still = [state is DependencyState.OPEN for state in states]
    return bool(still) and (all(still) if awaits_any else any(still))


def of_entry(record: TaskRecord, call: ToolCall, entry: ToolEffect) -> AwaitChildren | TakeChildren:
    """What a call does next that has made children, or waits for some."""
    if is_open(record, entry.children, awaits_any=entry.awaits_any):
        return AwaitChildren(call, entry.children, entry.awaits_any)
    return taking(record, call, entry.children)


def taking(record: TaskRecord, call: ToolCall, children: Sequence[str]) -> TakeChildren:
    """The result of a call that waits no more."""
    known = {child.task_id: child for child in record.children}
    told = [_told(known.get(task_id), task_id, record.outcomes.get(task_id)) for task_id in children]
    failed = any(
        task_id in known and known[task_id].state not in (DependencyState.OPEN, DependencyState.COMPLETED)
        for task_id in children
    )
    taken = tuple(task_id for task_id in children if task_id in record.outcomes)
    return TakeChildren(call, ToolResult(text="\n\n".join(told), is_error=failed), taken)


def _told(child: Child | None, task_id: str, outcome: ChildOutcome | None) -> str:
    if child is None or child.state is DependencyState.OPEN:
        return _OPEN.format(task_id=task_id)
    if outcome is None:
        form = _GONE if child.state is DependencyState.GONE else _TAKEN
        return form.format(task_id=task_id, state=child.state.value)
    turns = f"{outcome.turns} turn{'' if outcome.turns == 1 else 's'}"
    how = outcome.state.value.lower()
    lines = [f"Subtask {task_id} {how} after {turns}, cost ${dollars(outcome.cost_microusd)}."]
    if outcome.text:
        lines.append(outcome.text)
    if outcome.files:
        lines.append(f"Files written: {', '.join(outcome.files)}")
    return "\n".join(lines)


def files_written(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Paths that the tools of a conversation have written; what commands wrote is not known."""
    found: dict[str, None] = {}
    for entry in entries:
        if entry.get("file"):
            sight = FileSight.model_validate(entry["file"])
            if sight.kind is not SightKind.READ:
                found[sight.path] = None
    return tuple(found)[:MOST_FILES]

"""Why a task is Blocked, and what lets it go on: plain sentences from facts."""

from __future__ import annotations

from neuraphage.decide.duration import duration
from neuraphage.model.dependency import Awaited, DependencyState
from neuraphage.model.explanation import Forecast, TaskFacts
from neuraphage.model.lock import LockState, TaskLocks
from neuraphage.model.subtask import ChildWait
from neuraphage.model.task import BlockedDetail, Status

SHOWN = 5
"""Tasks that are named of those that are waited for."""


def why_blocked(facts: TaskFacts, wait_poll_ms: int) -> tuple[list[str], list[Forecast]]:
    """Sentences about one blocked task, and what happens next.

    Args:
        facts: what was read.
        wait_poll_ms: the setting wait_poll_s, milliseconds.
    """
    record = facts.record
    if facts.children:
        return _for_children(facts)
    held_up = [edge for edge in record.dependencies if edge.holds_up]
    if held_up:
        return _for_tasks(facts, held_up)
    if record.locks is not None and record.locks.state is LockState.WAITING:
        return _for_locks(facts, record.locks)
    detail = record.detail
    if not isinstance(detail, BlockedDetail):
        return ["It waits for something else."], []
    left_ms = max(0, detail.waiting_since_ms + wait_poll_ms - facts.now_ms)
    ago = duration(facts.now_ms - detail.waiting_since_ms)
    text = f"The sweep wakes it in {duration(left_ms)}, if nothing does before."
    return [f"It has waited {ago} for {detail.resource or 'something else'}."], [Forecast(text=text, in_ms=left_ms)]


def _for_locks(facts: TaskFacts, locks: TaskLocks) -> tuple[list[str], list[Forecast]]:
    left_ms, holder = max(0, locks.due_ms - facts.now_ms), locks.holder_task.rpartition("-")[2]
    because = [
        f"It has waited {duration(facts.now_ms - locks.since_ms)} for {locks.resource}, and holds no worker.",
        f"{holder} has that, or waits for it since longer; `neuraphage locks` shows who has what.",
    ]
    text = (
        f"It goes on when the turn of {holder} is over that holds it. In {duration(left_ms)} its call gets an error"
        f" instead that names {holder}, and the model decides what to do."
    )
    return because, [Forecast(text=text, in_ms=left_ms)]


def _for_children(facts: TaskFacts) -> tuple[list[str], list[Forecast]]:
    """It waits for subtasks: how each of them stands, those that need a person first."""
    detail, stood = facts.record.detail, facts.children
    since = f" {duration(facts.now_ms - detail.waiting_since_ms)}" if isinstance(detail, BlockedDetail) else ""
    asks = [task_id for task_id, status in stood.items() if status == Status.WAITING_FOR_USER]
    stands = [task_id for task_id, status in stood.items() if status == Status.PAUSED]
    number = "a subtask" if len(stood) == 1 else f"{len(stood)} subtasks"
    because = [f"It has waited{since} for {number} to end, and holds no worker."]
    for task_id in sorted(stood, key=lambda one: (one not in asks, one not in stands))[:SHOWN]:
        short = task_id.rpartition("-")[2]
        if task_id in asks:
            because.append(f"{short} waits for a person: `neuraphage inbox` shows what it asks.")
        elif task_id in stands:
            because.append(f"{short} is paused: `neuraphage why {short}` says why.")
        else:
            because.append(f"{short} is {stood[task_id]}.")
    until = "the first one that it waits for" if _waits_for_any(facts) else "the last one"
    return because, [Forecast(text=f"It goes on with the end of {until}.")]


def _waits_for_any(facts: TaskFacts) -> bool:
    return any(one.wait is ChildWait.ANY for one in facts.record.children)


def _for_tasks(facts: TaskFacts, held_up: list[Awaited]) -> tuple[list[str], list[Forecast]]:
    detail, short = facts.record.detail, facts.record.short_id
    since = f" {duration(facts.now_ms - detail.waiting_since_ms)}" if isinstance(detail, BlockedDetail) else ""
    because = [f"It has waited{since} for {_count(len(held_up))} to end, and holds no worker."]
    because += [_of(edge) for edge in held_up[:SHOWN]]
    if len(held_up) > SHOWN:
        because.append(f"`neuraphage tree {short}` shows the others.")
    remove = f"`neuraphage deps remove {short} {_short(held_up[0])}` lets it wait for that one no more"
    if any(edge.state is DependencyState.OPEN for edge in held_up):
        text = f"It begins with the end of the last one; {remove}."
    else:
        text = f"Nothing by itself; {remove}."
    return because, [Forecast(text=text)]


def _of(edge: Awaited) -> str:
    if edge.state is DependencyState.OPEN:
        return f"{_short(edge)} is not over."
    if edge.state is DependencyState.FAILED:
        return f"{_short(edge)} has failed: retry it, or take the dependency away."
    if edge.state is DependencyState.CANCELLED:
        return f"{_short(edge)} was cancelled, so it never completes: take the dependency away."
    return f"{_short(edge)} is deleted, so it never completes: take the dependency away."


def _short(edge: Awaited) -> str:
    return edge.task_id.rpartition("-")[2]


def _count(number: int) -> str:
    return "a task" if number == 1 else f"{number} tasks"

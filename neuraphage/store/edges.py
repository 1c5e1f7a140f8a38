"""What the scripts about dependencies are given and answer (edges.lua), and the errors of those that are refused."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.errors import BadInput, CircularDependency, IllegalMove, NeuraphageError, TaskNotFound
from neuraphage.ports import NextTurn, Signal
from neuraphage.settings import Settings
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext


def woken_of(rest: Sequence[bytes]) -> tuple[NextTurn, ...]:
    """Messages of other tasks that a script has put to work, from what follows its own answer."""
    rows = (line.split() for part in rest[:1] for line in part.decode().splitlines())
    return tuple(NextTurn(task_id, int(seq), int(iteration)) for task_id, seq, iteration in rows)


def depend_given(context: StoreContext, sent: Signal) -> dict[str, object]:
    """What the script depend is given beyond other signals.

    Raises:
        ValueError: the signal names no dependency.
    """
    if sent.dependency is None:
        raise ValueError(f"a signal {sent.kind.value} names a dependency")
    settings = context.settings
    return {
        "kind": sent.kind.value,
        "on": sent.dependency.task_id,
        "rule": sent.dependency.on_failure.value,
        "dependencies_max": settings.dependencies_max,
        "dependants_max": settings.dependants_max,
        "walk_max": settings.graph_walk_max,
    }


def refused_dependency(verdict: str, task_id: str, settings: Settings) -> NeuraphageError:
    """Why a new task cannot wait for another one."""
    if verdict == "NO_SUCH_TASK":
        return TaskNotFound(f"no task {task_id!r} to wait for; list them with `neuraphage list`")
    if verdict == "CYCLE":
        return CircularDependency(
            f"a subtask cannot wait for {task_id}, which waits for the parent: the parent may wait for it, and none of"
            " them would ever begin; leave that dependency out, or submit a task without a parent"
        )
    return BadInput(
        f"{settings.dependants_max} tasks wait for {task_id} already, the most that dependants_max allows, or it waits"
        f" by way of more than graph_walk_max ({settings.graph_walk_max}); wait for another one instead"
    )


def refused_parent(verdict: str, parent_id: str, settings: Settings) -> NeuraphageError:
    """Why a new task cannot be the child of another one."""
    if verdict == "NO_SUCH_TASK":
        return TaskNotFound(f"no task {parent_id!r} to be the parent; list them with `neuraphage list`")
    if verdict == "PARENT_OVER":
        return IllegalMove(f"{parent_id} is over and can have no further subtask; submit a task of its own instead")
    return BadInput(
        f"{parent_id} has {settings.max_children} subtasks already, the most that max_children allows; submit a task"
        " of its own instead"
    )


def dependants(context: StoreContext, task_id: str, limit: int) -> list[str]:
    """Tasks that wait for this one, and that its end may still concern.

    Args:
        context: the store.
        task_id: the task.
        limit: at most so many.
    """
    with translated("read who waits for a task"):
        rows = context.client.zrangebylex(context.keys.edges, f"[{task_id} ", f"({task_id}!", 0, limit)
    return [row.decode().partition(" ")[2] for row in rows]

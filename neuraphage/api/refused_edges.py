"""What a person is told of a dependency that was not accepted, and what they can do instead."""

from __future__ import annotations

from collections.abc import Sequence

from neuraphage.errors import BadInput, CircularDependency, IllegalMove, NeuraphageError, TaskNotFound
from neuraphage.model.task import TERMINAL
from neuraphage.ports import Signal, SignalKind, Signalled, SignalVerdict


def refused_edge(task_id: str, sent: Signal, answer: Signalled) -> NeuraphageError | None:
    """The error of a dependency that was refused for what the graph is; None for what is refused otherwise.

    Args:
        task_id: the task that was to wait.
        sent: the request.
        answer: of the store.
    """
    if sent.dependency is None:
        return None
    on = sent.dependency.task_id
    match answer.verdict:
        case SignalVerdict.ILLEGAL if sent.kind is SignalKind.DEPEND and answer.status not in TERMINAL:
            return IllegalMove(
                f"{task_id} is {answer.status} and has begun: `neuraphage pause {task_id}` it, add the dependency, then"
                " resume it: it waits before it goes on"
            )
        case SignalVerdict.CYCLE:
            return CircularDependency(f"{task_id} cannot wait for {on}: {_circle(answer.cycle)}")
        case SignalVerdict.NO_SUCH_TASK:
            return TaskNotFound(f"no task {on!r} to wait for; list them with `neuraphage list`")
        case SignalVerdict.NO_DEPENDENCY:
            return BadInput(f"{task_id} does not wait for {on}; `neuraphage tree {task_id}` shows what it waits for")
        case SignalVerdict.TOO_MANY:
            return BadInput(
                f"{task_id} cannot wait for {on} too: a bound of the graph is reached (dependencies_max,"
                " dependants_max, graph_walk_max); wait for a task that waits for several of them"
            )
        case _:
            return None


def _circle(path: Sequence[str]) -> str:
    """A circle of dependencies in words; one task alone stands for itself."""
    if len(path) == 1:
        return "a task that waits for itself never begins"
    return f"none of them would ever begin, since {' waits for '.join(path)}"

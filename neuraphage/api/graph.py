"""Tasks that wait for tasks: dependencies, and what stands around one task."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from neuraphage.api.base import ApiBase
from neuraphage.errors import CorruptRecord, SchemaTooNew, TaskNotFound
from neuraphage.model.dependency import Awaited, Dependency, OnFailure
from neuraphage.model.task_tree import TaskTree, TreeNode

if TYPE_CHECKING:
    from neuraphage.model.task import TaskRecord
    from neuraphage.ports import ReadStore, Signalled

NODES_MAX = 1_000
"""Most tasks of a tree, in each direction."""


class Graph(ApiBase):
    """Dependencies of tasks (docs/graph.md). Args and errors of requests as of `Tasks`."""

    def add_dependency(
        self, task_id: str, on: str, *, on_failure: OnFailure = OnFailure.BLOCK, key: str | None = None
    ) -> Signalled:
        """Have a task wait until another one has ended. One that works already must be paused first.

        Args:
            task_id: the task that is to wait; by id or any unique part of it.
            on: the task that it is to wait for, likewise.
            on_failure: what happens when that one fails or is cancelled; for the same two tasks the last word holds.
            key: idempotency key.

        Raises:
            CircularDependency: the other one waits for it already, perhaps by way of others; the message shows how.
            TaskNotFound: there is no such task.
            IllegalMove: a worker has the task, it waits for a person, or it is over.
            BadInput: a bound of the graph is reached, or several tasks fit.
            StoreUnavailable, StoreError: it is not known whether it was stored; repeat it under the same key.
        """
        dependency = Dependency(task_id=self.find(on), on_failure=OnFailure(on_failure))
        return self._service.depend(self.find(task_id), dependency, holds=True, key=key)

    def remove_dependency(self, task_id: str, on: str, *, key: str | None = None) -> Signalled:
        """Have a task wait for another one no more; the last one of several lets it begin.

        Raises:
            BadInput: it does not wait for that task, or several fit.
            TaskNotFound, IllegalMove, StoreUnavailable, StoreError: as `add_dependency`.
        """
        return self._service.depend(self.find(task_id), Dependency(task_id=self.find(on)), holds=False, key=key)

    def tree(self, task_id: str) -> TaskTree:
        """What a task waits for, what waits for it, and what it has made, over all between.

        Records are read one by one.

        Raises:
            TaskNotFound, BadInput, CorruptRecord, SchemaTooNew, StoreUnavailable, StoreError: as `get`.
        """
        reads = self._ports.reads
        record = reads.get(self.find(task_id))
        up, down, made = _Walk(reads), _Walk(reads), _Walk(reads)
        waits_for = tuple(up.awaited(edge) for edge in record.dependencies if up.has_room())
        awaited_by = down.waiting(record.task_id)
        return TaskTree(
            task_id=record.task_id,
            name=record.spec.name,
            status=record.status,
            waits_for=waits_for,
            awaited_by=awaited_by,
            made_by=record.spec.parent_id,
            subtasks=made.made(record),
            is_cut=up.is_cut or down.is_cut or made.is_cut,
        )


class _Walk:
    """Reads the tasks around one; each is looked at once."""

    def __init__(self, reads: ReadStore) -> None:
        self._reads = reads
        self._seen: set[str] = set()
        self.is_cut = False

    def has_room(self) -> bool:
        self.is_cut = self.is_cut or len(self._seen) >= NODES_MAX
        return not self.is_cut

    def awaited(self, edge: Awaited) -> TreeNode:
        """A task that another one waits for, with those that it waits for itself."""
        return self._node(
            edge.task_id,
            edge,
            lambda record: tuple(self.awaited(one) for one in record.dependencies if self.has_room()),
        )

    def waiting(self, task_id: str) -> tuple[TreeNode, ...]:
        """Tasks that wait for one, each with those that wait for it."""
        found = []
        for one in self._reads.dependants(task_id, NODES_MAX):
            if self.has_room():
                found.append(self._node(one, task_id, lambda record: self.waiting(record.task_id)))
        return tuple(found)

    def made(self, record: TaskRecord) -> tuple[TreeNode, ...]:
        """Tasks that one has made, each with those that it has made itself."""
        return tuple(self._node(one.task_id, record.task_id, self.made) for one in record.children if self.has_room())

    def _node(self, task_id: str, edge: Awaited | str, below: Callable[[TaskRecord], tuple[TreeNode, ...]]) -> TreeNode:
        is_repeated = task_id in self._seen
        self._seen.add(task_id)
        record = self._read(task_id)
        if record is None:
            return TreeNode(task_id=task_id)
        if isinstance(edge, str):  # the edge is the record's own
            found = next((one for one in record.dependencies if one.task_id == edge), None)
        else:
            found = edge
        return TreeNode(
            task_id=task_id,
            name=record.spec.name,
            status=record.status,
            on_failure=None if found is None else found.on_failure,
            holds_up=found is not None and found.holds_up,
            is_repeated=is_repeated,
            below=() if is_repeated else below(record),
        )

    def _read(self, task_id: str) -> TaskRecord | None:
        try:
            return self._reads.get(task_id)
        except (TaskNotFound, CorruptRecord, SchemaTooNew):
            return None

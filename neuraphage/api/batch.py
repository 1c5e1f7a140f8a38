"""Batches: many tasks made together, each once, however often it is tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from neuraphage.api.base import ApiPorts
from neuraphage.api.tasks import Tasks
from neuraphage.decide.batches import awaited, in_order, read_rows, row_id
from neuraphage.errors import BadInput
from neuraphage.model.batch import BatchReport, BatchRow, RefusedRow
from neuraphage.model.dependency import Dependency, read_dependency

if TYPE_CHECKING:
    from neuraphage.model.attachment import Attachment
    from neuraphage.model.task import TaskSpec


def untold(done: int, every: int) -> None:
    """Tells nobody how far a batch is."""


class Batches(Tasks):
    """Making many tasks."""

    def map(
        self,
        rows: Iterable[str | Mapping[str, Any] | BatchRow],
        *,
        batch: str,
        progress: Callable[[int, int], None] = untold,
        **fields: Any,
    ) -> BatchReport:
        """Submit many tasks. Repeated after a failure in its midst, it makes those that are missing and none twice.

        All rows are looked at before the first task is made.

        Args:
            rows: what is to be done, each as a prompt or as the fields of a BatchRow (docs/graph.md).
            batch: its name: a row's task is known by it and by the row's key, for as long as the task or its tombstone
                is kept.
            progress: called with how many rows are done, and how many there are.
            fields: keywords of `submit` for all rows that do not say otherwise.

        Returns:
            What was made, what was there, and which rows were refused; those that wait for a refused one are too.

        Raises:
            BadInput: a row cannot be read, two have one key, or a circle waits for itself (CircularDependency).
            StoreUnavailable, StoreError: it was broken off; repeat it with the same rows and name.
        """
        if not batch.strip():
            raise BadInput("batch is empty; give the batch a name, by which a repeat knows its tasks")
        known = read_rows(rows)
        ids = {key: row_id(self.settings.namespace, batch, key) for key in known}
        order, made, refused = in_order(known), dict[str, bool](), dict[str, str]()
        for done, key in enumerate(order, start=1):
            row = known[key]
            try:
                made[key] = self._made(ids[key], row, [self._edge(text, ids, refused) for text in row.after], fields)
            except BadInput as error:
                refused[key] = str(error)
            progress(done, len(order))
        return BatchReport(
            batch=batch,
            created=sum(made.values()),
            found=len(made) - sum(made.values()),
            refused=tuple(RefusedRow(key=key, error=refused[key]) for key in known if key in refused),
            task_ids={key: ids[key] for key in known if key in made},
        )

    def _made(self, task_id: str, row: BatchRow, edges: list[Dependency], fields: Mapping[str, Any]) -> bool:
        one = _OneRow(replace(self._ports, new_task_id=lambda: task_id))
        one.submit(**{**fields, **row.given()}, key=task_id, blocked_by=edges)
        return one.is_new

    @staticmethod
    def _edge(text: str, ids: Mapping[str, str], refused: Mapping[str, str]) -> Dependency:
        """An `after` of a row, with the id of the row that it names."""
        name = awaited(text)
        if name in refused:
            raise BadInput(f"it waits for row {name!r}, which was refused")
        return read_dependency(ids.get(name, name) + text[len(name) :])


class _OneRow(Tasks):
    """Submits the task of one row, and knows whether it was new."""

    def __init__(self, ports: ApiPorts) -> None:
        super().__init__(ports)
        self.is_new = False

    def _submitted(self, spec: TaskSpec, key: str | None, shown_with: tuple[Attachment, ...]) -> str:
        created = self._service.create(spec, key, shown_with)
        self.is_new = created.is_new
        return created.task_id

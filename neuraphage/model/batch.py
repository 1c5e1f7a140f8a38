"""Many tasks that are made together, and what came of making them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from neuraphage.model.base import Frozen
from neuraphage.model.task import Mode


class BatchRow(Frozen):
    """One task of a batch: the words of `Client.submit`, and which rows it waits for.

    Args:
        prompt: what to do.
        key: names the row in its batch; its number, from 1, when not given.
        after: rows by their keys, or tasks by their ids, that must end first; `KEY=skip`, `KEY=go_on` as --after takes.
        name, working_dir, model, allow, mode, max_turns, max_cost_usd, system, tags, labels, priority, extra: as of
            `Client.submit`; what is not given is that of the batch.
    """

    prompt: str = Field(min_length=1)
    key: str = ""
    after: tuple[str, ...] = ()
    name: str | None = None
    working_dir: str | None = None
    model: str | None = None
    allow: tuple[str, ...] | None = None
    mode: Mode | None = None
    max_turns: int | None = None
    max_cost_usd: float | None = None
    system: str | None = None
    tags: tuple[str, ...] | None = None
    labels: Mapping[str, str] | None = None
    priority: int | None = None
    extra: Mapping[str, Any] | None = None

    def given(self) -> dict[str, Any]:
        """What `Client.submit` takes of it, as far as the row says it."""
        values = {name: getattr(self, name) for name in type(self).model_fields if name not in ("key", "after")}
        return {name: value for name, value in values.items() if value is not None}


class RefusedRow(Frozen):
    """A row of which no task was made.

    Args:
        key: of the row.
        error: why, and what to give.
    """

    key: str
    error: str


class BatchReport(Frozen):
    """What came of a batch.

    Args:
        batch: its name.
        created: tasks that were made now.
        found: tasks that an earlier try had made.
        refused: rows of which none was made.
        task_ids: key to id, of all that are there now.
    """

    batch: str
    created: int
    found: int
    refused: tuple[RefusedRow, ...] = ()
    task_ids: dict[str, str] = Field(default_factory=dict)

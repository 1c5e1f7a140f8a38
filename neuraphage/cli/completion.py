"""Completion of task ids in shells: newest tasks first, silent when no server answers."""

from __future__ import annotations

from neuraphage.cli.connection import connect
from neuraphage.cli.console import one_line, short_id
from neuraphage.errors import NeuraphageError

MOST = 50
"""Tasks that are offered."""


def task_ids(incomplete: str) -> list[tuple[str, str]]:
    """Ids that begin with what stands there: the short end of an id, or the whole when that was begun.

    Args:
        incomplete: the word so far.

    Returns:
        (id, status and name) pairs; none when the tasks cannot be read: a shell's prompt is no place for errors.
    """
    try:
        with connect() as client:
            records = client.list(limit=MOST)
    except (NeuraphageError, OSError):
        return []
    found = []
    for record in records:
        text = f"{record.status.value}  {one_line(record.spec.name).plain}"
        forms = (short_id(record.task_id), record.task_id, record.task_id.removeprefix("task-"))
        found += [(form, text) for form in forms if form.startswith(incomplete)][:1]
    return found

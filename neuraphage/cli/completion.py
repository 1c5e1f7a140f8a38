"""Completion of task ids in shells: newest tasks first, silent when no server answers."""

from __future__ import annotations

import threading

from neuraphage.cli.console import one_line, short_id
from neuraphage.errors import NeuraphageError

MOST = 50
"""Tasks that are offered."""
LIMIT_S = 3.0
"""Longest time that a shell's prompt waits for a server that does not answer."""
THREAD = "completion"


def task_ids(incomplete: str) -> list[tuple[str, str]]:
    """Ids that begin with what stands there: the short end of an id, or the whole when that was begun.

    Args:
        incomplete: the word so far.

    Returns:
        (id, status and name) pairs; none when they cannot be read in time: a shell's prompt is no place for errors.
    """
    found: list[tuple[str, str]] = []
    looking = threading.Thread(target=lambda: found.extend(_read(incomplete)), name=THREAD, daemon=True)
    looking.start()
    looking.join(LIMIT_S)
    return [] if looking.is_alive() else found


def _read(incomplete: str) -> list[tuple[str, str]]:
    from neuraphage.cli.connection import connect  # noqa: PLC0415 - only a shell that completes an id waits for it

    try:
        with connect() as api:
            records = api.list(limit=MOST)
    except (NeuraphageError, OSError):
        return []
    found = []
    for record in records:
        text = f"{record.status.value}  {one_line(record.spec.name).plain}"
        forms = (short_id(record.task_id), record.task_id, record.task_id.removeprefix("task-"))
        found += [(form, text) for form in forms if form.startswith(incomplete)][:1]
    return found

"""Holding a few tasks against their records, named as people name them; see repair.py for what that is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from neuraphage.errors import TaskNotFound
from neuraphage.model.repairing import RepairMode, RepairResult, RepairVerdict
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.edge_scan import edges_in_question
from neuraphage.store.line_rules import line_in_question
from neuraphage.store.listing import find, fitting
from neuraphage.store.lock_scan import locks_in_question
from neuraphage.store.repair import WHOLE_ID, damaged_indexes, examine, record_ids


def survey_some(
    context: StoreContext, mode: RepairMode, parts: Sequence[str], batch: int
) -> Iterator[list[RepairResult]]:
    """Look at some tasks: the keys of the whole namespace first, as in a survey of all, then each of them.

    Args:
        context: the store.
        mode: what may be changed.
        parts: of their ids, each unique; a task that has lost its indexes is found by its record.
        batch: keys read at once.

    Raises:
        TaskNotFound: one of them fits no task, nor anything that a task has left.
        BadInput: several tasks fit one of them.
    """
    damaged = damaged_indexes(context, mode)
    yield damaged
    if damaged and mode is not RepairMode.REPAIR:
        return
    ids = list(dict.fromkeys(_meant(context, part, batch) for part in parts))
    edges, locks = edges_in_question(context, ids, batch), locks_in_question(context, ids, batch)
    line = line_in_question(context, ids, batch)
    looked = examine(context, ids, mode, _questioned(context, ids, batch), edges, locks, line)
    sound = [row.name for row in looked if row.verdict is RepairVerdict.SOUND]
    with translated("look at tasks"):
        missing = [name for name in sound if not context.client.exists(context.keys.task(name))]
    if missing:
        raise TaskNotFound(f"no task {missing[0]!r}, and nothing that it has left; list them with `neuraphage list`")
    yield looked


def _meant(context: StoreContext, part: str, batch: int) -> str:
    if WHOLE_ID.fullmatch(part.strip()):
        return part.strip()  # its record may be gone, and something of it be left
    try:
        return find(context, part)
    except TaskNotFound:
        return fitting(record_ids(context, batch), part)


def _questioned(context: StoreContext, ids: Iterable[str], batch: int) -> list[str]:
    """Members of the index of deadlines that belong to these tasks and whose prompt is not open."""
    keys, found = context.keys, []
    with translated("look through the deadlines"):
        for task_id in ids:
            for member, _ in context.client.zscan_iter(keys.deadlines, match=f"{task_id}|*", count=batch):
                text = member.decode(errors="replace")
                if not context.client.hexists(keys.task(task_id), f"p:{text.partition('|')[2]}"):
                    found.append(text)
    return found

"""Tasks for people: found by a part of their id, and listed by creation a page at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence

from neuraphage.errors import BadInput, CorruptRecord, SchemaTooNew, TaskNotFound
from neuraphage.model.task import Status, TaskRecord
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.queries import get_many

PAGE = 50
"""Records that are read at once: the server does nothing else meanwhile, and each may hold a long request."""
_ELLIPSES = ".\N{HORIZONTAL ELLIPSIS}"
_FEWEST_NAMED = 3


def all_ids(context: StoreContext) -> list[str]:
    """The id of every task that is stored, newest first.

    The index of all ids is complete but for tasks of a release that had none; those are found by their status until
    the sweep has added them. Ids begin with the time at which they were made.
    """
    keys = context.keys
    with translated("list tasks"), context.client.pipeline(transaction=False) as pipe:
        pipe.zrevrange(keys.ids, 0, -1, withscores=True, score_cast_func=float)
        for key in keys.statuses:
            pipe.zrange(key, 0, -1)
        indexed, *others = pipe.execute()
    ids = [member.decode() for member, _ in indexed]
    missing = {member.decode() for group in others for member in group}.difference(ids)
    if not missing:
        return ids
    return sorted({*ids, *missing}, reverse=True)


def find(context: StoreContext, part: str) -> str:
    """The one task whose id has this part. A whole id comes first, then a beginning or an end, then any other part.

    Args:
        part: as a person pastes it: with blanks, capitals or an ellipsis around it.

    Raises:
        TaskNotFound: none fits.
        BadInput: several fit, or the part is empty.
    """
    _wanted(part)
    return fitting(all_ids(context), part)


def fitting(ids: Sequence[str], part: str) -> str:
    """The one of these ids that has this part. See `find`."""
    wanted = _wanted(part)
    fits: tuple[Callable[[str], bool], ...] = (
        lambda body: body == wanted,
        lambda body: body.startswith(wanted) or body.endswith(wanted),
        lambda body: wanted in body,
    )
    for fit in fits:
        hits = [task_id for task_id in ids if fit(task_id.removeprefix("task-"))]
        if len(hits) == 1:
            return hits[0]
        if hits:
            named = ", ".join(hits[:_FEWEST_NAMED]) + (", ..." if len(hits) > _FEWEST_NAMED else "")
            raise BadInput(f"{len(hits)} tasks fit {part!r}; give more of the id: {named}")
    raise TaskNotFound(f"no task's id has the part {part!r}; list them with `neuraphage list`")


def _wanted(part: str) -> str:
    wanted = part.strip().strip(_ELLIPSES).strip().lower().removeprefix("task-").strip("-")
    if not wanted:
        raise BadInput("an empty task id fits every task; give at least one letter or digit of it")
    return wanted


def asking(context: StoreContext, limit: int) -> list[TaskRecord]:
    """Tasks that have open prompts: those that wait for a person, and paused ones, whose answers are kept for later.

    Args:
        context: the store.
        limit: at most so many of each status are looked at, the longest waiting first.
    """
    with translated("list open prompts"), context.client.pipeline(transaction=False) as pipe:
        for status in (Status.WAITING_FOR_USER, Status.PAUSED):
            pipe.zrange(context.keys.status(status), 0, limit - 1)
        groups = pipe.execute()
    ids = list(dict.fromkeys(member.decode() for group in groups for member in group))
    return [record for record in _readable(context, ids) if record.prompts]


def records(context: StoreContext, *, oldest_first: bool = False) -> Iterator[TaskRecord]:
    """Every task by creation, newest first; what cannot be read is left out. Read a page at a time, as it is used."""
    ids = all_ids(context)
    if oldest_first:
        ids.reverse()
    yield from _readable(context, ids)


def _readable(context: StoreContext, ids: Sequence[str]) -> Iterator[TaskRecord]:
    for first in range(0, len(ids), PAGE):
        for read in get_many(context, ids[first : first + PAGE]):
            with contextlib.suppress(TaskNotFound, CorruptRecord, SchemaTooNew):
                yield read()

"""Reads for people: tasks, lists, conversation, history, decisions. None of them is a source of recovery."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from neuraphage.decide.resume import remaining_tools, resume_point_of
from neuraphage.errors import CorruptRecord, TaskNotFound
from neuraphage.model.effect import JournalEntry, model_effect
from neuraphage.model.event import Event
from neuraphage.model.place import Place
from neuraphage.model.task import PausedDetail, Status, TaskRecord
from neuraphage.store.client import RedisClient, translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import journal_entry, loads, stored_entry
from neuraphage.store.record import task_record

PLACES = tuple(Place)
_ASKED = 2 + len(PLACES)
"""Commands that read one task."""


def get(context: StoreContext, task_id: str) -> TaskRecord:
    """One task, read at one instant.

    Raises:
        TaskNotFound: there is none of this id.
        CorruptRecord, SchemaTooNew: it cannot be read.
    """
    with translated("read task"), context.client.pipeline(transaction=True) as pipe:
        _ask(context, pipe, task_id)
        raw, *rest = pipe.execute()
    return _record(context, task_id, raw, rest)


def get_many(context: StoreContext, task_ids: Sequence[str]) -> list[Callable[[], TaskRecord]]:
    """Several tasks, read at one instant; a call gives one record, or raises as `get` does."""
    if not task_ids:
        return []
    with translated("read tasks"), context.client.pipeline(transaction=True) as pipe:
        for task_id in task_ids:
            _ask(context, pipe, task_id)
        replies = pipe.execute()
    rows = [replies[first : first + _ASKED] for first in range(0, len(replies), _ASKED)]
    return [partial(_record, context, one, row[0], row[1:]) for one, row in zip(task_ids, rows, strict=True)]


def _ask(context: StoreContext, pipe: RedisClient, task_id: str) -> None:
    pipe.hgetall(context.keys.task(task_id))
    for name in PLACES:
        pipe.zscore(getattr(context.keys, name), task_id)
    pipe.hlen(context.keys.turn(task_id))


def _record(context: StoreContext, task_id: str, raw: Mapping[bytes, bytes], rest: Sequence[Any]) -> TaskRecord:
    *scores, effects = rest
    if not raw:
        raise TaskNotFound(f"no task {task_id!r}; list them with `neuraphage list`")
    values = {name.decode(): value for name, value in raw.items()}
    place = next((name for name, score in zip(PLACES, scores, strict=True) if score is not None), None)
    lease = scores[PLACES.index(Place.LEASES)]
    record = task_record(
        values, place=place, lease_until_ms=None if lease is None else int(lease), between_turns=effects == 0
    )
    return _with_remaining_tools(context, record, effects) if effects else record


def _with_remaining_tools(context: StoreContext, record: TaskRecord, effects: int) -> TaskRecord:
    """The record of a paused task with the tool calls still to do, which only journal and conversation know."""
    detail = record.detail
    if not isinstance(detail, PausedDetail):
        return record
    try:
        # the reply and the results behind it are no more entries than the turn has effects
        effects_of_turn = journal(context, record.task_id)
        left = remaining_tools(effects_of_turn, conversation(context, record.task_id, -effects))
    except CorruptRecord:  # the next claim says so; until then the task can still be looked at
        return record
    point = resume_point_of(record.marker, between_turns=model_effect(effects_of_turn) is None, remaining_tools=left)
    return record.model_copy(update={"detail": detail.model_copy(update={"resume_point": point})})


def ids_by_creation(
    context: StoreContext, *, newest_first: bool = True, skip: int = 0, limit: int = 1_000
) -> list[tuple[str, int]]:
    """Every task that is stored, of whatever status, in the order in which they were made.

    The index (`keys.ids`) is written by create and goes with delete, so an ended task is in it until its retention is
    over. Tasks of a release without the index are added by the sweep's slow pass within minutes of the upgrade.
    Read a page at a time: `skip` and `limit` count tasks. A filter reads the records of a page, and then the next page.

    Args:
        context: the store.
        newest_first: else the oldest first.
        skip: how many to leave out.
        limit: at most so many.

    Returns:
        (task id, when it was made: server time, milliseconds).
    """
    if limit <= 0:
        return []
    with translated("list tasks"):
        rows = context.client.zrange(
            context.keys.ids, skip, skip + limit - 1, desc=newest_first, withscores=True, score_cast_func=float
        )
    return [(member.decode(), int(made_ms)) for member, made_ms in rows]


def conversation(context: StoreContext, task_id: str, first: int = 0, last: int = -1) -> list[dict[str, Any]]:
    """Stored entries `first` to `last` (inclusive, -1 for the end), without the bytes of images and documents."""
    with translated("read conversation"):
        raws = context.client.lrange(context.keys.messages(task_id), first, last)
    entries = [stored_entry(raw) for raw in raws]
    return [{name: value for name, value in entry.items() if name != "media"} for entry in entries]


def journal(context: StoreContext, task_id: str) -> dict[str, JournalEntry]:
    """The journal of the present turn."""
    with translated("read journal"):
        raw = context.client.hgetall(context.keys.turn(task_id))
    return {key.decode(): journal_entry(key.decode(), value) for key, value in raw.items()}


def events(
    context: StoreContext, task_id: str, *, after: str = "0", limit: int = 1_000, block_ms: int | None = None
) -> list[Event]:
    """History lines after an event id; waits up to `block_ms` for the first one if given."""
    with translated("read events"):
        rows = context.client.xread({context.keys.events(task_id): after}, count=limit, block=block_ms)
    return [event_of(event_id, fields, task_id) for _, lines in rows or [] for event_id, fields in lines]


def event_of(event_id: bytes, fields: Mapping[bytes, bytes], task_id: str) -> Event:
    """A history line from its stream entry."""
    name = event_id.decode()
    return Event(
        kind=fields[b"k"].decode(),
        data=loads(fields[b"d"], "event"),
        event_id=name,
        at_ms=int(name.partition("-")[0]),
        task_id=task_id,
        **_stamp(fields.get(b"s", b"").decode()),
    )


def _stamp(text: str) -> dict[str, Any]:
    """`<turn> <fence> <cause> <schema>`; what a newer release has put behind it is left out."""
    turn, fence, cause, schema, *_ = [*text.split(" "), "", "", "", ""]
    return {
        "turn": int(turn) if turn.isdecimal() else None,
        "fence": int(fence) if fence.isdecimal() else None,
        "cause": cause or None,
        "schema_version": int(schema) if schema.isdecimal() else None,
    }


def decisions(context: StoreContext, task_id: str) -> list[dict[str, Any]]:
    """Recovery decisions about the task, oldest first: `{"at_ms", "reading"}`."""
    with translated("read decisions"):
        raws = context.client.lrange(context.keys.why(task_id), 0, -1)
    rows = [loads(raw, "decision") for raw in raws]
    return [{"at_ms": row["at_ms"], "reading": loads(row["reading"], "decision")} for row in rows]


def counts(context: StoreContext) -> dict[str, int]:
    """Tasks by status, and members of the four places."""
    with translated("count tasks"), context.client.pipeline(transaction=False) as pipe:
        for status in Status:
            pipe.zcard(context.keys.status(status))
        for name in PLACES:
            pipe.zcard(getattr(context.keys, name))
        values = pipe.execute()
    names = [status.value for status in Status] + list(PLACES)
    return dict(zip(names, values, strict=True))

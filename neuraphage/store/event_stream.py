"""Events of the whole namespace, as they are read back. None of them is a source of recovery.

The stream of a task has its events with their data. That of the namespace has kind and task of each event, under the
same id; so it is short, and what is deleted with a task is not kept in it. Both are written by `event` in prelude.lua,
in the script that makes true what the event tells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import redis

from neuraphage.model.event import Event
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.queries import event_of

if TYPE_CHECKING:
    from neuraphage.model.event_stream import EventPage

PAGE = 500
"""Events of the namespace that are read at once."""


def wait_for_events(context: StoreContext, after: str, block_ms: int) -> bool:
    """Wait until the namespace has an event after an id; whether it has."""
    with translated("read events"):
        return bool(context.client.xread({context.keys.all_events: after}, count=1, block=block_ms))


def all_events(context: StoreContext, after: str | None, kinds: frozenset[str], tasks: frozenset[str]) -> EventPage:
    """Up to a page of the namespace's events after an id, and what the stream still has, as of one instant.

    Args:
        context: the store.
        after: an event id, or a time as one; None for the end of the stream.
        kinds: of events; empty for all.
        tasks: full ids; empty for all.
    """
    from neuraphage.model.event_stream import EventPage, StreamEnds  # noqa: PLC0415 - most processes follow nothing

    key, start = context.keys.all_events, after or "+"
    with translated("read events"), context.client.pipeline(transaction=True) as pipe:
        pipe.xinfo_stream(key)
        pipe.xrange(key, start, start, count=1) if after else pipe.xrevrange(key, count=1)
        pipe.xrange(key, f"({after}" if after else "+", "+", count=PAGE)
        told, there, rows = pipe.execute(raise_on_error=False)
    if isinstance(told, redis.exceptions.ResponseError) and "no such key" in str(told):
        told = {}
    for reply in (told, there, rows):
        if isinstance(reply, Exception):
            with translated("read events"):
                raise reply
    ends = StreamEnds(
        first=_entry_id(told.get("first-entry")),
        last=_text(told.get("last-generated-id")),
        is_short=told["entries-added"] > told["length"] if "entries-added" in told else None,
        is_there=bool(there),
    )
    if after is None:
        return EventPage((), ends.last, ends)
    found = [(name.decode(), *_kind_and_task(fields)) for name, fields in rows]
    wanted = [row for row in found if (not kinds or row[1] in kinds) and (not tasks or row[2] in tasks)]
    return EventPage(tuple(_with_data(context, wanted)), found[-1][0] if found else after, ends)


def _with_data(context: StoreContext, wanted: Sequence[tuple[str, str, str]]) -> list[Event]:
    """Events by id, kind and task; of one that its task's stream has not any more nothing else is left."""
    spans: dict[str, list[str]] = {}
    for name, _, task_id in wanted:
        spans.setdefault(task_id, [name, name])[1] = name
    if not spans:
        return []
    with translated("read events"), context.client.pipeline(transaction=False) as pipe:
        for task_id, (first, last) in spans.items():
            pipe.xrange(context.keys.events(task_id), first, last, count=PAGE)
        replies = pipe.execute()
    lines = {(task_id, name): fields for task_id, rows in zip(spans, replies, strict=True) for name, fields in rows}
    return [
        event_of(name.encode(), fields, task_id)
        if (fields := lines.get((task_id, name.encode()))) is not None
        else Event(kind=kind, event_id=name, at_ms=_at_ms(name), task_id=task_id)
        for name, kind, task_id in wanted
    ]


def _kind_and_task(fields: Mapping[bytes, bytes]) -> tuple[str, str]:
    return next(((kind.decode(), task.decode()) for kind, task in fields.items()), ("", ""))


def _entry_id(entry: object) -> str:
    return _text(entry[0]) if isinstance(entry, list | tuple) and entry else ""


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


def _at_ms(event_id: str) -> int:
    return int(event_id.partition("-")[0])

"""What must hold of all events of a namespace, as they are stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from neuraphage.model.event import Cause, Event, EventKind
from neuraphage.model.event_data import DATA
from neuraphage.store.context import StoreContext
from neuraphage.store.queries import event_of


def stored_events(context: StoreContext) -> Iterator[Event]:
    """Every event of every task that is stored; without those of releases that knew no stream of all tasks."""
    start = context.keys.task("")
    for key in context.client.scan_iter(match=start + "*:events", count=1_000):
        task_id = key.decode().removeprefix(start).removesuffix(":events")
        for event_id, fields in context.client.xrange(key):
            event = event_of(event_id, fields, task_id)
            if event.schema_version is not None:
                yield event


def all_index(context: StoreContext) -> list[tuple[str, str, str]]:
    """The stream of the namespace: id, kind and task of each event."""
    rows: list[Any] = context.client.xrange(context.keys.all_events)
    return [(name.decode(), kind.decode(), task.decode()) for name, row in rows for kind, task in row.items()]


def index_faults(context: StoreContext) -> list[str]:
    """How the two streams differ; none where every event is in both, once and under one id."""
    index = all_index(context)
    oldest = index[0][0] if index else ""
    told = {(e.event_id or "", e.kind, e.task_id or "") for e in stored_events(context)}
    shown, first = set(index), dict[str, tuple[int, int]]()
    for name, _, task in told:
        first[task] = min(_number(name), first.get(task, _number(name)))
    faults = [f"only its task has {row}" for row in told - shown if not oldest or _number(row[0]) >= _number(oldest)]
    lost = (row for row in shown - told if row[2] in first and _number(row[0]) >= first[row[2]])
    return faults + [f"only the namespace has {row}" for row in lost] + ["twice"] * (len(index) - len(shown))


def stamp_faults(event: Event) -> list[str]:
    """What is missing beside an event's data."""
    is_known = event.turn is not None and event.schema_version is not None and event.cause in set(Cause)
    return [] if is_known else [f"{event.kind}: {event.turn} {event.fence} {event.cause} {event.schema_version}"]


def data_faults(event: Event) -> list[str]:
    """How an event's data differs from what its class says: no field too many, none missing."""
    if event.kind not in set(EventKind):
        return [f"{event.kind} is no kind"]
    shape = DATA.get(event.kind)
    if shape is None:
        return [f"{event.kind} has no class of data"]
    names = {field.alias or name for name, field in shape.model_fields.items()}
    unknown = [f"{event.kind} has {name}" for name in event.data if name not in names]
    try:
        shape.model_validate(event.data)
    except ValidationError as error:
        return [*unknown, f"{event.kind}: {error}"]
    return unknown


def _number(event_id: str) -> tuple[int, int]:
    ms, _, place = event_id.partition("-")
    return int(ms), int(place or 0)

"""The stream of text deltas: for viewers only, short, expiring, and free when nobody watches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import redis

from neuraphage.model.event import Event
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.queries import event_of

if TYPE_CHECKING:
    from neuraphage.ports import Delta


_LOOKED_AT = 100
"""Entries among which the last piece of a reply is looked for; each viewer adds one in some seconds."""


def publish(context: StoreContext, task_id: str, deltas: Iterable[Delta]) -> bool:
    """Append deltas if a viewer made the stream; sent once, a failure is ignored: viewers must never stop a turn.

    Returns:
        Whether there is a stream; where the server did not tell, there is taken to be one.
    """
    add = ("XADD", context.keys.live(task_id), "NOMKSTREAM", "MAXLEN", "~", context.settings.live_max, "*")
    try:
        replies = context.round_trips.send_once(
            *((*add, "k", one.kind, "t", one.text, "c", one.call, "e", one.end) for one in deltas)
        )
    except redis.exceptions.RedisError:
        return True
    return None not in replies


def shown(context: StoreContext, task_id: str, call: str) -> int | None:
    """How many characters of a call's reply the stream has; None where there is none, or the server does not tell."""
    look = ("XREVRANGE", context.keys.live(task_id), "+", "-", "COUNT", _LOOKED_AT)
    try:
        (rows,) = context.round_trips.send_once(look)
    except redis.exceptions.RedisError:
        return None
    if not rows or not isinstance(rows, list):
        return None
    for _, flat in rows:
        fields = dict(zip(flat[::2], flat[1::2], strict=True))
        if fields.get(b"c") == call.encode():
            return int(fields[b"e"])
    return 0


def watch(context: StoreContext, task_id: str) -> None:
    """Make the stream, or keep it for another `live_ttl_s`; a viewer calls this while it watches."""
    key = context.keys.live(task_id)
    with translated("watch task"), context.client.pipeline(transaction=True) as pipe:
        pipe.xadd(key, {"k": "watch", "t": ""}, maxlen=context.settings.live_max, approximate=True)
        pipe.pexpire(key, int(context.settings.live_ttl_s * 1000))
        pipe.execute()


def snapshot(
    context: StoreContext, task_id: str, after_event: str, after_delta: str
) -> list[tuple[str, Event | Delta]]:
    """History lines and deltas after the given ids, read at one instant and in the order they were written.

    Returns:
        (stream id, line or delta) pairs. Both streams are numbered by the same server clock.
    """
    with translated("follow task"), context.client.pipeline(transaction=True) as pipe:
        pipe.xread({context.keys.events(task_id): after_event}, count=1_000)
        pipe.xread({context.keys.live(task_id): after_delta}, count=1_000)
        lines, deltas = pipe.execute()
    from neuraphage.ports import Delta  # noqa: PLC0415 - most commands show no piece of a reply

    found: list[tuple[str, Event | Delta]] = [
        (event_id.decode(), event_of(event_id, fields, task_id)) for _, rows in lines or [] for event_id, fields in rows
    ]
    found += [
        (delta_id.decode(), Delta(fields[b"k"].decode(), fields[b"t"].decode()))
        for _, rows in deltas or []
        for delta_id, fields in rows
        if fields[b"k"] != b"watch"
    ]
    # of the same instant, a piece of the reply comes before the line that its end caused
    return sorted(found, key=lambda item: (int(item[0].split("-")[0]), isinstance(item[1], Event), item[0]))

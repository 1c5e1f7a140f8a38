"""The stream of text deltas: for viewers only, short, expiring, and free when nobody watches."""

from __future__ import annotations

from collections.abc import Iterable

import redis

from neuraphage.ports import Delta
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext


def publish(context: StoreContext, task_id: str, deltas: Iterable[Delta]) -> None:
    """Append deltas if a viewer made the stream; a failure is ignored, since viewers must never stop a turn."""
    try:
        with context.client.pipeline(transaction=False) as pipe:
            for delta in deltas:
                pipe.xadd(
                    context.keys.live(task_id),
                    {"k": delta.kind, "t": delta.text},
                    maxlen=context.settings.live_max,
                    approximate=True,
                    nomkstream=True,
                )
            pipe.execute()
    except redis.exceptions.RedisError:
        return


def watch(context: StoreContext, task_id: str) -> None:
    """Make the stream, or keep it for another `live_ttl_s`; a viewer calls this while it watches."""
    key = context.keys.live(task_id)
    with translated("watch task"), context.client.pipeline(transaction=True) as pipe:
        pipe.xadd(key, {"k": "watch", "t": ""}, maxlen=context.settings.live_max, approximate=True)
        pipe.pexpire(key, int(context.settings.live_ttl_s * 1000))
        pipe.execute()


def read(context: StoreContext, task_id: str, after: str, block_ms: int) -> list[tuple[str, Delta]]:
    """Deltas after an id, waiting up to `block_ms` (below the socket timeout) for the first."""
    with translated("read live text"):
        rows = context.client.xread({context.keys.live(task_id): after}, count=500, block=block_ms)
    return [
        (event_id.decode(), Delta(fields[b"k"].decode(), fields[b"t"].decode()))
        for _, lines in rows or []
        for event_id, fields in lines
    ]

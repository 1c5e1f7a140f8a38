"""What the sweep moves: due outbox entries, timers, blocked tasks, prompt deadlines, ended tasks."""

from __future__ import annotations

from neuraphage.errors import CorruptRecord
from neuraphage.model.task import Status
from neuraphage.ports import NextTurn
from neuraphage.store.client import translated
from neuraphage.store.context import WHY_MAX, StoreContext
from neuraphage.store.encode import loads
from neuraphage.store.scripts import script

DAY_MS = 86_400_000


def now_ms(context: StoreContext) -> int:
    """Server time, milliseconds."""
    with translated("read the time"):
        seconds, micros = context.client.time()
        return int(seconds) * 1000 + int(micros) // 1000


def _due(context: StoreContext, zset: str, until_ms: int, limit: int) -> list[str]:
    with translated("read due entries"):
        return [m.decode() for m in context.client.zrangebyscore(zset, "-inf", until_ms, 0, limit)]


def due_outbox(context: StoreContext, until_ms: int, limit: int) -> list[str]:
    """Tasks whose next publish time has come, or is so far ahead that the server's clock must have gone back."""
    outbox, beyond_ms = context.keys.outbox, until_ms + int(context.settings.max_republish_s * 1000)
    with translated("read due entries"), context.client.pipeline(transaction=False) as pipe:
        pipe.zrangebyscore(outbox, "-inf", until_ms, 0, limit)
        pipe.zrangebyscore(outbox, f"({beyond_ms}", "+inf", 0, limit)
        due, strange = pipe.execute()
    return [m.decode() for m in (due + strange)[:limit]]


def due_timers(context: StoreContext, until_ms: int, limit: int) -> list[str]:
    """Tasks whose timer has come."""
    return _due(context, context.keys.timers, until_ms, limit)


def due_deadlines(context: StoreContext, until_ms: int, limit: int) -> list[tuple[str, str, str]]:
    """(task, prompt, default answer) of prompts whose deadline has passed."""
    pairs = [row.partition("|")[::2] for row in _due(context, context.keys.deadlines, until_ms, limit)]
    with translated("read prompts"), context.client.pipeline(transaction=False) as pipe:
        for task_id, prompt in pairs:
            pipe.hget(context.keys.task(task_id), f"p:{prompt}")
        raws = pipe.execute() if pairs else []
    return [(task_id, prompt, _default_answer(raw)) for (task_id, prompt), raw in zip(pairs, raws, strict=True)]


def _default_answer(raw: bytes | None) -> str:
    """The default answer of a stored prompt; none of one that is gone or broken, which its next claim reports."""
    try:
        return str(loads(raw or b"{}", "prompt").get("default_answer") or "")
    except (CorruptRecord, AttributeError):
        return ""


def due_retention(context: StoreContext, until_ms: int, limit: int) -> list[str]:
    """Ended tasks whose index entries go."""
    return _due(context, context.keys.retention, until_ms, limit)


def blocked_since(context: StoreContext, until_ms: int, limit: int) -> list[str]:
    """Blocked tasks due for their fallback poll."""
    with translated("read blocked tasks"):
        blocked = context.keys.status(Status.BLOCKED)
        return [m.decode() for m in context.client.zrangebyscore(blocked, "-inf", until_ms, 0, limit)]


def republish(context: StoreContext, task_id: str, ahead_ms: int = 0) -> NextTurn | None:
    """Raise the task's publish time (doubling) and return the message to send; None if it was claimed.

    Args:
        context: the store.
        task_id: the task.
        ahead_ms: also take entries due within this time (the broker's queue was found empty).
    """
    settings = context.settings
    given = {
        "ahead_ms": ahead_ms,
        "first_ms": int(settings.first_republish_s * 1000),
        "max_ms": int(settings.max_republish_s * 1000),
        "why_max": WHY_MAX,
    }
    reply = script("republish").run(context, given, task_id=task_id)
    return None if reply[0] == b"STALE" else NextTurn(task_id, int(reply[1]), int(reply[2]))


def fire(context: StoreContext, task_id: str, source: str) -> NextTurn | None:
    """Move a due timer (`timers`) or a blocked task (`blocked`) to the outbox; None if it moved already."""
    given = {"source": source, "why_max": WHY_MAX, **context.limits}
    reply = script("fire").run(context, given, task_id=task_id)
    return None if reply[0] == b"STALE" else NextTurn(task_id, int(float(reply[1])), int(reply[2]))


def delete(context: StoreContext, task_id: str, *, force: bool = False) -> bool:
    """Remove an ended task whose retention is over; its id stays as a tombstone.

    Args:
        context: the store.
        task_id: the task.
        force: remove an ended task before its time.
    """
    given = {"tombstone_ms": int(context.settings.tombstone_retention_s * 1000), "force": 1 if force else 0}
    reply = script("delete").run(context, given, task_id=task_id, keys=(context.keys.tombstones,))
    return bool(reply[0] == b"DELETED")


def expire_tombstones(context: StoreContext, until_ms: int) -> int:
    """Forget tombstones that are due."""
    with translated("expire tombstones"):
        return int(context.client.zremrangebyscore(context.keys.tombstones, "-inf", until_ms))

"""What limits calls of models now, read for people. Nothing is decided from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from neuraphage.errors import CorruptRecord
from neuraphage.model.capacity import GateView, LearnedLimits, ModelLimits
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import loads
from neuraphage.store.kept_limits import all_kept

KINDS = ("requests", "input_tokens", "output_tokens")
MOST_WAITING = 1_000
"""Of one gate, so many waiting tasks are looked at."""
NO_PRIORITY = 2
"""Of a task whose record cannot be read: that of a task which was given none."""


def gates(context: StoreContext) -> list[GateView]:
    """Every gate that something is known of, by family and key.

    Raises:
        StoreUnavailable, StoreError: the state server did not answer.
    """
    keys = context.keys
    with translated("read limits of models"), context.client.pipeline(transaction=False) as pipe:
        pipe.time()
        pipe.hgetall(keys.cooling)
        pipe.hgetall(keys.learned)
        pipe.zrange(keys.gates, 0, -1)
        pipe.hgetall(keys.kept)
        (seconds, micros), cooling, learned, limited, kept = pipe.execute()
    now_ms = seconds * 1_000 + micros // 1_000
    names = sorted({*cooling, *learned, *limited}, key=lambda name: name.partition(b":")[::-1])  # by family
    until_ms = {gate.encode(): till_ms for gate, (_, till_ms) in all_kept(kept).items() if till_ms > now_ms}
    return [
        _gate(context, name.decode(), now_ms, cooling.get(name), learned.get(name), until_ms.get(name, 0))
        for name in names
    ]


def _gate(
    context: StoreContext, name: str, now_ms: int, cooling: bytes | None, learned: bytes | None, kept_until_ms: int
) -> GateView:
    keys = context.keys
    with translated("read limits of a model"), context.client.pipeline(transaction=True) as pipe:
        pipe.hgetall(keys.gate(name))
        pipe.zrangebyscore(keys.used(name), "-inf", "+inf", withscores=True)
        pipe.zrange(keys.queue(name), 0, MOST_WAITING - 1)
        stored, counted, queue = pipe.execute()
    fields = {field.decode(): value for field, value in stored.items()}
    told, cools = _plain(learned), _plain(cooling)
    pool, _, family = name.partition(":")
    gone = set() if kept_until_ms else set(fields.get("learned", b"").decode().split())
    most = {kind: int(fields.get(f"most:{kind}", b"-1")) for kind in KINDS if kind not in gone}
    limits = {kind: number for kind, number in most.items() if number >= 0}
    return GateView(
        family=family,
        key_pool=pool,
        window_s=int(fields.get("window", b"0")) / 1_000 if limits else 0.0,
        limits=ModelLimits(**limits),
        used=_used(fields, counted, now_ms),
        open_calls=len(_open(fields)),
        learned=LearnedLimits(**{kind: number for kind, number in told.items() if kind in LearnedLimits.model_fields}),
        learned_at_ms=told.get("at_ms", 0),
        kept_until_ms=kept_until_ms,
        cooling_why=cools.get("why", ""),
        cooling_until_ms=int(cools.get("till", 0)),
        is_probed=bool(cools) and int(cools.get("till", 0)) <= now_ms,
        waiting=_waiting(context, [member.decode() for member in queue]),
    )


def _plain(raw: bytes | None) -> dict[str, Any]:
    """What is written there; nothing where it cannot be read, since it is advice."""
    try:
        found = {} if raw is None else loads(raw, "limits of a model")
    except CorruptRecord:
        return {}
    return found if isinstance(found, dict) else {}


def _open(fields: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    """Calls under way, by their task and ticket."""
    found = {name[2:]: _plain(value) for name, value in fields.items() if name.startswith("t:")}
    return {f"{task}:{one.get('ticket')}": one for task, one in found.items()}


def _used(fields: Mapping[str, bytes], counted: list[tuple[bytes, float]], now_ms: int) -> dict[str, int]:
    """What counts now: the sums of the gate are as old as its last call. As `look` of gauge.lua has it."""
    under_way, used = _open(fields), dict.fromkeys(KINDS, 0)
    for member, until_ms in counted:
        kind, amount, call = member.decode().split(":", 2)
        still = under_way.get(call, {}).get("counted_by", 0) if kind != "output_tokens" else 0
        if kind in used and max(until_ms, still) > now_ms:
            used[kind] += int(amount)
    return used


def _waiting(context: StoreContext, ids: list[str]) -> dict[int, int]:
    """How many of these tasks still wait, by priority: one that was ended meanwhile is forgotten later."""
    if not ids:
        return {}
    with translated("read waiting tasks"), context.client.pipeline(transaction=False) as pipe:
        for task_id in ids:
            pipe.zscore(context.keys.timers, task_id)
            pipe.hget(context.keys.task(task_id), "spec")
        found = pipe.execute()
    specs = [spec for due, spec in zip(found[::2], found[1::2], strict=True) if due is not None]
    return dict(sorted(Counter(int(_plain(spec).get("priority", NO_PRIORITY)) for spec in specs).items()))

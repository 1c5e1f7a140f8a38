"""Slots and the line of those that wait for one, as people see them. It only reads; see slots.lua."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from neuraphage.model.admission import ALL_TASKS, AdmissionState, LinePart, LinePlace, SlotPool
from neuraphage.store.client import translated
from neuraphage.store.context import StoreContext
from neuraphage.store.encode import loads
from neuraphage.store.line_rules import PARKED, SLOT, WAITING, lane_of, most_of


def admission_state(context: StoreContext) -> AdmissionState:
    """Slots, and the parts of the line.

    Raises:
        CorruptRecord, StoreUnavailable, StoreError: see the message.
    """
    keys, client = context.keys, context.client
    with translated("read admission"):
        with client.pipeline(transaction=True) as pipe:
            pipe.hget(keys.admission, "rules")
            pipe.zrangebylex(keys.line, f"[{SLOT}", f"({chr(ord(SLOT) + 1)}")
            pipe.zrangebylex(keys.line, f"[{PARKED}", f"({chr(ord(PARKED) + 1)}")
            pipe.zrange(keys.lanes, 0, -1)
            raw, held, parked, listed = pipe.execute()
        lanes = sorted({*(lane.decode() for lane in listed), *(one.decode().partition(" ")[2] for one in parked)})
        with client.pipeline(transaction=False) as pipe:
            for lane in lanes:
                pipe.zlexcount(keys.line, f"[{WAITING}{lane} ", f"({WAITING}{lane}!")
            counts = pipe.execute() if lanes else []
    holders = Counter(one.decode()[1:].partition(" ")[0] for one in held)
    rules = _rules(raw)
    named = [ALL_TASKS] if "most" in rules else []
    named += [label for label in rules.get("labels", {}) if not label.endswith(ALL_TASKS)]
    pools = [SlotPool(name=name, most=most_of(rules, name), held=holders[name]) for name in {*named, *holders}]
    parts = (_part(lane, count) for lane, count in zip(lanes, counts, strict=True))
    return AdmissionState(pools=tuple(sorted(pools, key=lambda pool: pool.name)), parts=tuple(parts))


def line_place(context: StoreContext, task_id: str) -> LinePlace | None:
    """Where a task stands in line; None where it does not.

    Raises:
        CorruptRecord, StoreUnavailable, StoreError: see the message.
    """
    keys = context.keys
    with translated("read the place in line"):
        member = (context.client.hget(keys.task(task_id), "admission") or b"").decode()
        if not member.startswith(WAITING):
            return None
        lane = lane_of(member)
        part = _part(lane, 0)
        pools = (ALL_TASKS, *part.pools)
        with context.client.pipeline(transaction=True) as pipe:
            pipe.hget(keys.admission, "rules")
            pipe.zlexcount(keys.line, f"[{WAITING}{lane} ", f"({member}")
            pipe.zlexcount(keys.line, f"[{WAITING}{lane} ", f"({WAITING}{lane}!")
            pipe.zlexcount(keys.line, f"[{WAITING}", f"({chr(ord(WAITING) + 1)}")
            for pool in pools:
                pipe.zlexcount(keys.line, f"[{SLOT}{pool} ", f"({SLOT}{pool}!")
            raw, before, of, in_line, *held = pipe.execute()
    rules = _rules(raw)
    found = [
        SlotPool(name=name, most=most_of(rules, name), held=count) for name, count in zip(pools, held, strict=True)
    ]
    return LinePlace(
        part=part.model_copy(update={"waiting": of}),
        before=before,
        in_line=in_line,
        since_ms=int(member.split(" ")[-2]),
        taken=tuple(pool for pool in found if pool.most is not None and pool.held >= pool.most),
    )


def _rules(raw: bytes | None) -> Mapping[str, Any]:
    found: dict[str, Any] = loads(raw or b"{}", "limits of tasks at work")
    return found


def _part(lane: str, waiting: int) -> LinePart:
    priority, key, pools = lane.split(" ")
    return LinePart(priority=int(priority), key=key, pools=tuple(filter(None, pools.split(","))), waiting=waiting)

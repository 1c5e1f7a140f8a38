"""What is left when a case is over, in a shape in which two cases can be compared."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import Any

from crash_world import GatedSpool, Site

from neuraphage.decide.conversation import api_messages
from neuraphage.decide.costs import added
from neuraphage.errors import TaskNotFound
from neuraphage.model.money import SPENT_FIELDS
from neuraphage.runtime.clock import SystemClock
from neuraphage.store import invariant, queries
from neuraphage.store.ledger import ledger, pools
from neuraphage.store.schedules import RedisSchedules
from neuraphage.store.tasks import RedisStore
from patience import PATIENCE_S
from storekit import StoreKit

VOLATILE = {"running_ms", "recoveries", "recoveries_total", "model_resends", "recovery_cost_microusd"}
"""Counters that tell of the crash itself."""
ENDING_LIMIT_S = PATIENCE_S
INTERRUPTED = "The command was interrupted and its outcome is unknown"


@dataclass
class Facts:
    """The end of a case.

    Args:
        status: of the task.
        counters: all but the volatile ones.
        resends: model calls that may have been billed twice.
        conversation: role and blocks, tool_use ids numbered in order of appearance.
        ring_interrupted: whether the conversation says so of the un-spooled opaque tool.
        files: of the working directory.
        deposits, rings: effects on the outside world.
        asked_again: calls that a guard was asked of although they were begun.
        told: prompts that somebody was told of.
        told_again: notices beyond the first of a prompt.
        superseded: replies that another try took the place of.
        compacted: how the conversation was made shorter, and by whom, each time.
        scheduled: whether it was ever given slots; the invariant says that none is left.
        follower: where the task stands that waited for this one, its seq, and what it knows of the end.
        yearly: where the task of the schedule's time stands, its seq, and how many tasks the schedule has made.
        requests: ids of model requests.
        evidence: of each recovery.
        faults: what must not be: broken invariants, leaked keys, processes still registered.
    """

    status: str
    counters: dict[str, int]
    resends: int
    conversation: list[Any]
    ring_interrupted: bool
    files: dict[str, str]
    deposits: int
    asked_again: int
    rings: int
    told: int
    told_again: int
    superseded: int
    compacted: list[str]
    scheduled: bool
    follower: list[Any]
    yearly: list[Any]
    requests: list[str]
    evidence: list[str]
    faults: list[str] = field(default_factory=list)

    def comparable(self) -> dict[str, Any]:
        """All that must be as in the run without a crash."""
        kept = asdict(self)
        for name in ("resends", "ring_interrupted", "rings", "told_again", "requests", "evidence"):
            del kept[name]
        return kept


def facts_of(site: Site) -> Facts:
    """Read them. Call it when all processes of the case are dead."""
    store = RedisStore(site.settings, SystemClock())
    context = store.context
    record = store.get(site.task_id)
    counters = record.counters.model_dump()
    entries = queries.conversation(context, site.task_id)
    conversation, interrupted = _normal(entries)
    events = queries.events(context, site.task_id)
    requests = {str(event.data["request_id"]) for event in events if event.kind == "RequestSent"}
    decisions = [row["reading"] for row in queries.decisions(context, site.task_id)]
    rings = site.outside / "rings"
    told = site.told.read_text(encoding="utf-8").splitlines() if site.told.exists() else []
    return Facts(
        status=record.status.value,
        counters={name: value for name, value in counters.items() if name not in VOLATILE},
        resends=counters["model_resends"],
        conversation=conversation,
        ring_interrupted=interrupted,
        files={p.name: p.read_text(encoding="utf-8") for p in sorted(site.work.iterdir())},
        deposits=len(list(site.outside.glob("deposit-*"))),
        asked_again=len(site.asked_again.read_text().splitlines()) if site.asked_again.exists() else 0,
        rings=len(rings.read_text(encoding="utf-8").splitlines()) if rings.exists() else 0,
        told=len(set(told)),
        told_again=len(told) - len(set(told)),
        superseded=sum(entry.get("supersedes") is not None for entry in entries),
        compacted=[_compacted(entry["compaction"]) for entry in entries if entry.get("compaction")],
        scheduled=any(event.kind == "TaskScheduled" for event in events),
        follower=_follower(store, site),
        yearly=_yearly(store, site),
        requests=sorted(requests),
        evidence=[row["evidence"] for row in decisions if row["verdict"] == "recovered"],
        faults=_faults(site, store),
    )


def _compacted(point: dict[str, Any]) -> str:
    return f"{point['how']} by {point['summary_model']}"


def _follower(store: RedisStore, site: Site) -> list[Any]:
    record = store.get(site.follower_id)
    return [record.status.value, record.place, record.seq, *(edge.state.value for edge in record.dependencies)]


def _yearly(store: RedisStore, site: Site) -> list[Any]:
    (schedule,) = RedisSchedules(store.context).schedules()
    try:
        record = store.get(site.yearly_id)
    except TaskNotFound:  # no sweep has come by
        return ["not made", None, 0, schedule.state.made]
    return [record.status.value, record.place, record.seq, schedule.state.made]


def _faults(site: Site, store: RedisStore) -> list[str]:
    context = store.context
    found = invariant.violations(context)
    found += [f"leaked key {name}" for name in StoreKit(store, real=True).leaked_keys()]
    found += [f"process {row.process_id} is still registered" for row in store.registered()]
    found += _unequal_books(site, store)
    if context.client.zscore(context.keys.tombstones, site.old_task_id) is None:
        found.append("the old task was not deleted")
    found += [f"command {effect_id} of {task_id} still runs" for effect_id, task_id in _left_running(GatedSpool(site))]
    return found


def _unequal_books(site: Site, store: RedisStore) -> list[str]:
    """The ledger has what the task has, by day, by model and by label, and no call holds anything any more."""
    counters = store.get(site.task_id).counters
    found = []
    rows = ledger(store.context)
    for kind in ("d", "m", "l"):
        booked = added(row.spent for row in rows if row.kind == kind)
        wrong = [name for name in SPENT_FIELDS if getattr(booked, name) != getattr(counters, name)]
        found += [f"the ledger's {name} by {kind} is {getattr(booked, name)}" for name in wrong]
    held = [pool for pool in pools(store.context) if pool.reserved_microusd]
    return found + [f"pool {pool.name} holds {pool.reserved_microusd}" for pool in held]


def _left_running(spool: GatedSpool) -> list[tuple[str, str]]:
    """Commands that nobody ended. One that was told to end may take a moment."""
    deadline_s = time.monotonic() + ENDING_LIMIT_S
    while (running := spool.running()) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return running


def _normal(entries: list[dict[str, Any]]) -> tuple[list[Any], bool]:
    """The conversation as the model sees it: results in the order of the calls, whenever they landed."""
    names: dict[str, str] = {}
    tools: dict[str, str] = {}
    interrupted = False
    shown: list[Any] = []
    for message in api_messages(entries):
        blocks = []
        for block in message["content"]:
            new = dict(block)
            for key in ("id", "tool_use_id"):
                if key in new:
                    new[key] = names.setdefault(new[key], f"call-{len(names) + 1}")
            if new["type"] == "tool_use":
                tools[new["id"]] = new["name"]
            if tools.get(new.get("tool_use_id", "")) == "ring":
                interrupted = interrupted or new["content"].startswith(INTERRUPTED)
                new = {"type": "tool_result", "tool_use_id": new["tool_use_id"], "content": "[whatever ring said]"}
            blocks.append(new)
        shown.append([message["role"], blocks])
    return shown, interrupted

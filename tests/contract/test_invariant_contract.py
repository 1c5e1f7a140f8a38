"""The checker of the invariant finds each kind of breach when it is planted, and nothing in a sound store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from neuraphage.model.task import Status
from neuraphage.store import invariant
from storekit import ASK, StoreKit

Q, R, W, B, P, C, F, X = Status


def field(kit: StoreKit, task_id: str, name: str, value: object) -> None:
    """Set one field of the record."""
    kit.client.hset(kit.keys.task(task_id), name, value)


# name -> (status of the task, how to break it, what the report must say)
BREACHES: dict[str, tuple[Status, Callable[[StoreKit, str], Any], str]] = {
    "no status": (Q, lambda k, t: k.client.hdel(k.keys.task(t), "status"), "without a status"),
    "unknown status": (Q, lambda k, t: field(k, t, "status", "Dreaming"), "unknown status"),
    "over, but in a place": (C, lambda k, t: k.client.zadd(k.keys.waits, {t: 1}), "still in waits"),
    "over, but never deleted": (C, lambda k, t: k.client.zrem(k.keys.retention, t), "no retention"),
    "alive, but to be deleted": (Q, lambda k, t: k.client.zadd(k.keys.retention, {t: 1}), "retention"),
    "in no place": (Q, lambda k, t: k.client.zrem(k.keys.outbox, t), "no place"),
    "in two places": (R, lambda k, t: k.client.zadd(k.keys.outbox, {t: 1}), "must sit in exactly one"),
    "in the wrong place": (
        P,
        lambda k, t: (k.client.zrem(k.keys.waits, t), k.client.zadd(k.keys.outbox, {t: 1})),
        "Paused in outbox",
    ),
    "listed nowhere": (Q, lambda k, t: k.client.zrem(k.keys.status(Q), t), "listed under []"),
    "in no index of ids": (Q, lambda k, t: k.client.zrem(k.keys.ids, t), "index of all ids"),
    "listed twice": (Q, lambda k, t: k.client.zadd(k.keys.status(F), {t: 1}), "listed under"),
    "waits for nothing": (W, lambda k, t: k.client.hdel(k.keys.task(t), f"p:{ASK}"), "without an open prompt"),
    "no marker": (Q, lambda k, t: k.client.hdel(k.keys.task(t), "marker"), "no marker"),
    "marker is no JSON": (Q, lambda k, t: field(k, t, "marker", "{"), "no marker"),
    "a fence that is no number": (R, lambda k, t: field(k, t, "fence", "broken"), "its fence is no number"),
    "no fence": (R, lambda k, t: k.client.hdel(k.keys.task(t), "fence"), "no fence"),
    "a seq that is no number": (Q, lambda k, t: field(k, t, "seq", "1.5"), "its seq is no number"),
    "a pause that sticks": (Q, lambda k, t: field(k, t, "pause", 1), "flag"),
    "a cancel that sticks": (W, lambda k, t: field(k, t, "cancel", 1), "flag"),
    "an edge of no task": (Q, lambda k, t: k.client.zadd(k.keys.edges, {f"{t} {t}": 0}), "an edge that no task has"),
    "an edge of an ended task": (X, lambda k, t: k.client.zadd(k.keys.edges, {f"{t} {t}": 0}), "that no task has"),
    "an edge of nobody": (Q, lambda k, t: k.client.zadd(k.keys.edges, {f"{t} task-none": 0}), "that no task has"),
    "an edge that is not known": (P, lambda k, t: field(k, t, "after", f"{t} block open"), "does not know of it"),
    "a place of nobody": (Q, lambda k, t: k.client.zadd(k.keys.waits, {"task-none": 1}), "no such task"),
    "a deadline of no prompt": (Q, lambda k, t: k.client.zadd(k.keys.deadlines, {f"{t}|gone": 1}), "deadline"),
    "a deadline of nobody": (Q, lambda k, t: k.client.zadd(k.keys.deadlines, {"task-none|p": 1}), "deadline"),
}


@pytest.mark.parametrize("name", BREACHES)
def test_a_planted_breach_is_found(kit: StoreKit, name: str) -> None:
    """Each kind of breach is told in a sentence that names the task."""
    status, break_it, words = BREACHES[name]
    task_id = kit.put(status)
    assert invariant.violations(kit.store.context) == []
    kit.broken_on_purpose = True
    break_it(kit, task_id)
    found = invariant.violations(kit.store.context)
    assert any(words in line and "task-" in line for line in found), found


def test_a_sound_store_has_no_breach(kit: StoreKit) -> None:
    """One task in each status at once, and nothing to report."""
    for status in Status:
        kit.put(status)
    assert invariant.violations(kit.store.context) == []


def test_an_expired_task_is_no_breach(kit: StoreKit) -> None:
    """Between the expiry of a task's keys and its retention entry, only index entries are left."""
    task_id = kit.put(C)
    kit.client.delete(*kit.client.keys(kit.keys.task(task_id) + "*"))
    assert invariant.violations(kit.store.context) == []


class CreatesDuringTheScan:
    """A client under which somebody creates a task just after the scan of keys."""

    def __init__(self, kit: StoreKit) -> None:
        self.kit = kit
        self.client = kit.client

    def scan_iter(self, **more: Any) -> Iterator[bytes]:
        names = list(self.client.scan_iter(**more))
        self.kit.create()
        return iter(names)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.client, name)


def test_a_task_made_during_the_check_is_no_breach(kit: StoreKit) -> None:
    """The check may run beside live workers and people."""
    from dataclasses import replace

    context = replace(kit.store.context, client=CreatesDuringTheScan(kit))
    assert invariant.violations(context) == []

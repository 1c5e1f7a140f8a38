"""The limit of a task's time at work: what its leases last, and nothing else; kept over deaths, raised by people."""

from __future__ import annotations

from typing import Any

import pytest

from neuraphage.decide.limits import limit_reached
from neuraphage.model.limits import LimitChange, Limits
from neuraphage.model.task import Status, TaskSpec
from neuraphage.ports import Changes, FinishTo, Lease, SignalKind, SignalVerdict, SuspendTo
from storekit import MODEL_CALL, StoreKit, question

MINUTE_MS = 60_000
SOON_MS = 30_000
"""More than a test takes, less than a minute."""
TASK = "task-00000000-0000-0000-0000-0000000a4000"


def limited(kit: StoreKit, most_ms: int | None = MINUTE_MS) -> str:
    """A task that workers may have for a minute."""
    spec = TaskSpec(task_id=TASK, name="n", prompt="p", model="m", limits=Limits(max_running_ms=most_ms))
    kit.store.create(spec, TASK)
    return TASK


def held(kit: StoreKit, for_ms: int, task_id: str = TASK) -> Lease:
    """A lease of it that was taken so long ago."""
    lease = kit.claim(task_id)
    kit.client.hset(kit.keys.task(task_id), "held_from", kit.number(task_id, "held_from") - for_ms)
    return lease


def running_ms(kit: StoreKit) -> int:
    return kit.store.get(TASK).counters.running_ms


@pytest.mark.parametrize("to", [SuspendTo.TIMER, SuspendTo.BLOCKED, SuspendTo.SHUTDOWN, SuspendTo.WAIT])
def test_each_lease_adds_what_it_lasted(kit: StoreKit, to: SuspendTo) -> None:
    """Between leases nothing is added, whatever the task waits for."""
    limited(kit)
    changes = Changes(prompts_opened=(question(),)) if to is SuspendTo.WAIT else Changes()
    detail = {"resource": "file:a"} if to is SuspendTo.BLOCKED else {}
    kit.suspend(held(kit, 20_000), to, changes, due_ms=1, detail=detail)
    assert 20_000 <= running_ms(kit) < 20_000 + SOON_MS


def test_turns_add_up(kit: StoreKit) -> None:
    """By finish, and by the write that goes on with the next turn."""
    limited(kit)
    kit.finish(held(kit, 20_000), FinishTo.NEXT)
    gone_on = kit.go_on(held(kit, 10_000))
    assert 30_000 <= running_ms(kit) < 30_000 + SOON_MS
    assert gone_on.claimed is not None
    assert kit.number(TASK, "held_from") >= kit.store.now_ms() - SOON_MS


def test_a_death_counts_until_the_last_renewal(kit: StoreKit) -> None:
    """So neither what it had is lost, nor is the time added in which nobody had it."""
    limited(kit)
    held(kit, 50_000)
    now_ms, lease_ms = kit.store.now_ms(), int(kit.store.context.settings.lease_s * 1000)
    kit.client.zadd(kit.keys.leases, {TASK: now_ms - 40_000 + lease_ms})  # it was renewed 40 s ago
    kit.recover(TASK)
    assert 10_000 <= running_ms(kit) < 10_000 + SOON_MS
    kit.finish(held(kit, 5_000), FinishTo.NEXT)
    assert 15_000 <= running_ms(kit) < 15_000 + 2 * SOON_MS


def test_at_the_limit_it_fails_and_goes_on_with_a_higher_one(kit: StoreKit) -> None:
    """As at the limits of turns and money: a retry without one is refused, one that carries it goes on."""
    limited(kit)
    kit.finish(held(kit, MINUTE_MS), FinishTo.NEXT)
    assert "been at work for 1 min" in (limit_reached(kit.store.get(TASK)) or "")
    kit.finish(kit.claim(TASK), FinishTo.LIMITED, error="At its limit.", recoverable=True)
    assert kit.status(TASK) is Status.FAILED
    assert kit.send(TASK, SignalKind.RETRY).verdict is SignalVerdict.AT_LIMIT
    raised = LimitChange(max_running_ms=5 * MINUTE_MS)
    assert kit.send(TASK, SignalKind.RETRY, limits=raised).verdict is SignalVerdict.ACCEPTED
    assert kit.store.get(TASK).limits.max_running_ms == 5 * MINUTE_MS
    assert limit_reached(kit.store.get(TASK)) is None


def test_a_limit_that_was_raised_meanwhile_begins_the_turn_again(kit: StoreKit) -> None:
    """The worker had read the former one."""
    limited(kit)
    lease = held(kit, MINUTE_MS)
    kit.send(TASK, SignalKind.LIMIT, limits=LimitChange(max_running_ms=5 * MINUTE_MS))
    kit.finish(lease, FinishTo.LIMITED, error="At its limit.", recoverable=True)
    assert (kit.status(TASK), kit.place(TASK)) == (Status.RUNNING, "outbox")


def test_no_call_is_announced_at_the_limit(kit: StoreKit) -> None:
    """A claim that goes straight on looks at it too."""
    limited(kit)
    changes: dict[str, Any] = {"add": MODEL_CALL}
    kit.finish(held(kit, MINUTE_MS), FinishTo.NEXT, Changes(**changes))
    kit.client.hset(kit.keys.task(TASK), "marker", '{"name":"response_received"}')
    kit.try_claim(TASK, request="r1")
    assert kit.client.hlen(kit.keys.turn(TASK)) == 0


def test_without_a_limit_nothing_is_noted(kit: StoreKit) -> None:
    """No field more than before."""
    limited(kit, None)
    kit.finish(kit.claim(TASK), FinishTo.NEXT)
    kit.claim(TASK)
    kit.recover(TASK)
    names = set(kit.client.hgetall(kit.keys.task(TASK)))
    assert not names & {b"max_running_ms", b"running_ms", b"held_from"}

"""Pools and the ledger: a call reserves with its announcement and settles with its outcome, whoever is killed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest

from neuraphage.model.effect import EffectState, Marker, MarkerName, ModelEffect
from neuraphage.model.money import OTHERS, SPENT_FIELDS
from neuraphage.model.task import PausedDetail, Status, TaskSpec
from neuraphage.ports import (
    Changes,
    ClaimVerdict,
    Committed,
    CommitVerdict,
    FinishTo,
    Lease,
    SignalKind,
    SuspendTo,
)
from neuraphage.store import places
from storekit import MODEL_CALL, StoreKit

DAY_POOL = {"day_max_cost_microusd": 1_000}
LABEL_POOL = {"label_max_cost_microusd": ("team=web 1000",)}
DONE = Marker(name=MarkerName.TOOL_COMPLETED, tool="edit", tool_use_id="t1")


def labelled(kit: StoreKit, **labels: str) -> str:
    """A task with labels."""
    task_id = f"task-00000000-0000-0000-0001-{kit.client.incr('tests:count'):012d}"
    kit.client.pexpire("tests:count", 600_000)
    spec = TaskSpec(task_id=task_id, name="n", prompt="p", model="m", labels=labels)
    assert kit.store.create(spec, task_id)[0]
    return task_id


def announce(kit: StoreKit, lease: Lease, amount: int, cost: int = 0) -> Committed:
    """The commit that announces a call; it may bring the outcome of another one."""
    entry = ModelEffect(state=EffectState.STARTED, fence=lease.fence, reserved_microusd=amount)
    add = {"cost_microusd": cost} if cost else {}
    return kit.store.commit(lease, Changes(journal=(entry,), reserve_microusd=amount, add=add, spent={"m": add}))


def settle(kit: StoreKit, lease: Lease, cost: int, **add: int) -> Lease:
    """The commit of an outcome."""
    spent = {"cost_microusd": cost, **add}
    done = kit.store.commit(lease, Changes(add=spent, spent={"m": spent}, reserve_microusd=0, outcome=True))
    assert done.verdict is CommitVerdict.COMMITTED
    return replace(lease, token=lease.token + 1)


def pool(kit: StoreKit, what: str, name: str = "day") -> int:
    """What is stored of a pool."""
    return int(kit.client.hget(kit.keys.pools, f"{what} {name}") or 0)


def ledger(kit: StoreKit) -> dict[str, dict[str, int]]:
    """The rows of the ledger, without their day."""
    rows = {
        name.decode().partition(" ")[2]: value.split() for name, value in kit.client.hgetall(kit.keys.ledger).items()
    }
    return {name: dict(zip(SPENT_FIELDS, map(int, values), strict=True)) for name, values in rows.items()}


def told(kit: StoreKit, task_id: str) -> list[dict[str, Any]]:
    """The warnings of a task."""
    rows = [fields for _, fields in kit.client.xrange(kit.keys.events(task_id))]
    return [orjson.loads(row[b"d"]) for row in rows if row[b"k"] == b"BudgetWarning"]


def started(kit: StoreKit, amount: int, **labels: str) -> tuple[str, Lease]:
    """A task whose call is under way."""
    task_id = labelled(kit, **labels)
    lease = kit.claim(task_id)
    assert announce(kit, lease, amount).verdict is CommitVerdict.COMMITTED
    return task_id, replace(lease, token=1)


@pytest.mark.parametrize(("settings", "name"), [(DAY_POOL, "day"), (LABEL_POOL, "team=web")])
def test_a_call_reserves_with_its_announcement_and_settles_with_its_outcome(
    kit: StoreKit, settings: dict[str, Any], name: str
) -> None:
    """Between the two the pool holds its worst case, after them what it has cost."""
    kit = kit.under(**settings)
    task_id, lease = started(kit, 400, team="web")
    assert (pool(kit, "reserved", name), kit.number(task_id, "reserved")) == (400, 400)
    settle(kit, lease, 30)
    assert (pool(kit, "reserved", name), kit.field(task_id, "reserved")) == (0, None)
    assert ledger(kit)["d"]["cost_microusd"] == 30
    assert pool(kit, "used", "team=web") == 30
    kit.check()


def test_nothing_is_reserved_where_there_is_no_pool(kit: StoreKit) -> None:
    """A task without pools holds nothing, and any number of them may be under way."""
    task_id, _ = started(kit, 10**12)
    assert kit.field(task_id, "reserved") is None
    assert kit.client.exists(kit.keys.pools) == 0


def test_a_pool_has_no_room_for_what_would_exceed_it(kit: StoreKit) -> None:
    """The commit is refused whole and the lease stands; once the other call is settled there is room."""
    kit = kit.under(**DAY_POOL)
    _, first = started(kit, 700)
    lease = kit.claim(labelled(kit))
    before = kit.state()
    answer = announce(kit, lease, 400)
    assert answer.verdict is CommitVerdict.NO_MONEY
    assert answer.shortage is not None
    assert answer.shortage.model_dump() == {
        "pool": "day", "limit_microusd": 1_000, "used_microusd": 0, "reserved_microusd": 700,
    }  # fmt: skip
    assert not answer.shortage.is_exhausted
    assert kit.state() == before
    settle(kit, first, 20)
    assert announce(kit, lease, 400).verdict is CommitVerdict.COMMITTED
    assert pool(kit, "reserved") == 400


def test_what_fits_exactly_fits(kit: StoreKit) -> None:
    """The limit itself may be reached."""
    kit = kit.under(**DAY_POOL)
    started(kit, 700)
    assert announce(kit, kit.claim(labelled(kit)), 300).verdict is CommitVerdict.COMMITTED


def test_a_call_that_is_alone_may_exceed_a_pool(kit: StoreKit) -> None:
    """Else what is left could never be used. No second one begins beside it: it is exceeded by one call at most."""
    kit = kit.under(**DAY_POOL)
    _, lease = started(kit, 5_000)
    other = kit.claim(labelled(kit))
    assert announce(kit, other, 1).verdict is CommitVerdict.NO_MONEY
    settle(kit, lease, 1_000)
    answer = announce(kit, other, 1)
    assert answer.shortage is not None
    assert answer.shortage.is_exhausted


def test_zero_means_stop(kit: StoreKit) -> None:
    """No call begins under a pool of nothing."""
    kit = kit.under(day_max_cost_microusd=0)
    assert announce(kit, kit.claim(labelled(kit)), 1).verdict is CommitVerdict.NO_MONEY


def test_a_pool_that_is_used_up_is_told_before_a_busy_one(kit: StoreKit) -> None:
    """What a person must do about comes first."""
    kit = kit.under(**DAY_POOL, label_max_cost_microusd=("team=web 10",))
    _, lease = started(kit, 5, team="web")
    settle(kit, lease, 10)
    started(kit, 1_000)
    answer = announce(kit, kit.claim(labelled(kit, team="web")), 5)
    assert answer.shortage is not None
    assert (answer.shortage.pool, answer.shortage.is_exhausted) == ("team=web", True)


def test_a_label_bounds_its_own_tasks_alone(kit: StoreKit) -> None:
    """Others are not kept waiting."""
    kit = kit.under(**LABEL_POOL)
    started(kit, 1_000, team="web")
    assert announce(kit, kit.claim(labelled(kit, team="infra")), 400).verdict is CommitVerdict.COMMITTED
    assert announce(kit, kit.claim(labelled(kit, team="web", kind="a")), 1).verdict is CommitVerdict.NO_MONEY


def test_what_a_person_has_set_goes_before_the_settings(kit: StoreKit) -> None:
    """It holds at once, for every worker."""
    kit = kit.under(**DAY_POOL)
    kit.client.hset(kit.keys.pools, "limit day", 50)
    _, lease = started(kit, 40)
    settle(kit, lease, 50)
    lease = kit.claim(labelled(kit))
    assert announce(kit, lease, 1).verdict is CommitVerdict.NO_MONEY
    kit.client.hset(kit.keys.pools, "limit day", 51)
    assert announce(kit, lease, 1).verdict is CommitVerdict.COMMITTED


def test_an_outcome_in_the_same_commit_counts_before_the_next_call(kit: StoreKit) -> None:
    """What it has cost is used, and what it had reserved is not held against the same task."""
    kit = kit.under(**DAY_POOL)
    started(kit, 100)
    task_id, lease = started(kit, 900)
    assert announce(kit, lease, 500, cost=401).verdict is CommitVerdict.NO_MONEY
    assert announce(kit, lease, 500, cost=400).verdict is CommitVerdict.COMMITTED
    assert (kit.number(task_id, "reserved"), pool(kit, "reserved")) == (500, 600)


def test_the_next_lease_takes_a_reservation_over(kit: StoreKit) -> None:
    """A killed worker's call is held until the one that is sent again is settled, and counts once."""
    kit = kit.under(**DAY_POOL)
    task_id, _ = started(kit, 400)
    kit.recover(task_id)
    assert pool(kit, "reserved") == 400
    lease = kit.claim(task_id, process="p2")
    assert announce(kit, lease, 500).verdict is CommitVerdict.COMMITTED
    assert pool(kit, "reserved") == 500
    settle(kit, replace(lease, token=1), 20)
    assert pool(kit, "reserved") == 0


def test_a_late_write_of_a_killed_worker_settles_nothing(kit: StoreKit) -> None:
    """It is refused, as every write of a former holder is."""
    kit = kit.under(**DAY_POOL)
    task_id, lease = started(kit, 400)
    kit.recover(task_id)
    late = kit.store.commit(lease, Changes(add={"cost_microusd": 9}, reserve_microusd=0))
    assert late.verdict is CommitVerdict.STALE
    assert (pool(kit, "reserved"), ledger(kit)) == (400, {})


def test_a_repeat_reserves_and_settles_once(kit: StoreKit) -> None:
    """The same commit again changes nothing."""
    kit = kit.under(**DAY_POOL)
    task_id = labelled(kit)
    lease = kit.claim(task_id)
    for _ in range(2):
        assert announce(kit, lease, 400).verdict is CommitVerdict.COMMITTED
    assert pool(kit, "reserved") == 400
    added = {"cost_microusd": 7, **MODEL_CALL}
    outcome = Changes(add=added, spent={"m": added}, reserve_microusd=0)
    for _ in range(2):
        kit.store.commit(replace(lease, token=1), outcome)
    assert (pool(kit, "reserved"), ledger(kit)["m m"]["cost_microusd"], ledger(kit)["d"]["model_calls"]) == (0, 7, 1)


ENDINGS: dict[str, Callable[[StoreKit, str, Lease], Any]] = {
    "cancel": lambda kit, task_id, lease: (
        kit.send(task_id, SignalKind.CANCEL),
        kit.suspend(lease, SuspendTo.SHUTDOWN),
    ),
    "cancel at recovery": lambda kit, task_id, _: (kit.send(task_id, SignalKind.CANCEL), kit.recover(task_id)),
    "pause": lambda kit, task_id, lease: (kit.send(task_id, SignalKind.PAUSE), kit.suspend(lease, SuspendTo.PAUSE)),
    "pause at recovery": lambda kit, task_id, _: (kit.send(task_id, SignalKind.PAUSE), kit.recover(task_id)),
    "poison": lambda kit, task_id, _: (kit.client.hset(kit.keys.task(task_id), "recoveries", 9), kit.recover(task_id)),
    "failure": lambda kit, _, lease: kit.finish(lease, FinishTo.FAILED, error="No.", recoverable=True),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_who_rests_holds_nothing(kit: StoreKit, how: str) -> None:
    """A task that ends or is paused with its call under way keeps no other waiting."""
    kit = kit.under(**DAY_POOL, **LABEL_POOL)
    task_id, lease = started(kit, 400, team="web")
    ENDINGS[how](kit, task_id, lease)
    assert (pool(kit, "reserved"), pool(kit, "reserved", "team=web")) == (0, 0)
    assert kit.field(task_id, "reserved") is None
    kit.check()


def test_a_claim_announces_no_call_of_a_task_under_a_pool(kit: StoreKit) -> None:
    """Only who knows the request knows what it may cost; without a pool the claim announces it, as ever."""
    for pooled in (False, True):
        under = kit.under(**DAY_POOL) if pooled else kit
        task_id, lease = under.running()
        under.finish(lease, FinishTo.NEXT, Changes(add=MODEL_CALL, marker=DONE))
        claimed = under.try_claim(task_id, request="req-1")
        assert claimed.verdict is ClaimVerdict.GRANTED
        assert bool(claimed.journal) is not pooled


def test_a_claim_asks_for_the_pools_that_people_have_set(kit: StoreKit) -> None:
    """Also one of a label, which no settings name."""
    task_id = labelled(kit, team="web")
    kit.client.hset(kit.keys.pools, "limit team=web", 5)
    lease = kit.claim(task_id)
    kit.finish(lease, FinishTo.NEXT, Changes(add=MODEL_CALL, marker=DONE))
    assert not kit.try_claim(task_id, request="req-1").journal


# --- pausing ---


def short_of(kit: StoreKit) -> tuple[str, Lease, dict[str, Any]]:
    """A task whose pool is used up, and what it was told."""
    _, lease = started(kit, 5)
    settle(kit, lease, 1_000)
    task_id = labelled(kit)
    lease = kit.claim(task_id)
    answer = announce(kit, lease, 5)
    assert answer.shortage is not None
    return task_id, lease, answer.shortage.model_dump()


def test_a_task_is_paused_with_the_pool_that_is_used_up(kit: StoreKit) -> None:
    """People are told which; it is resumed as any other."""
    kit = kit.under(**DAY_POOL)
    task_id, lease, shortage = short_of(kit)
    settled = kit.suspend(lease, SuspendTo.MONEY, detail=shortage)
    assert (settled.status, settled.place) == (Status.PAUSED, "waits")
    detail = kit.store.get(task_id).detail
    assert isinstance(detail, PausedDetail)
    assert detail.reason == "money"
    assert detail.shortage is not None
    assert (detail.shortage.pool, detail.shortage.used_microusd) == ("day", 1_000)
    assert kit.send(task_id, SignalKind.RESUME).status is Status.QUEUED


def test_a_pool_that_was_raised_meanwhile_pauses_nobody(kit: StoreKit) -> None:
    """The person was sooner than the pause: the task goes on by itself."""
    kit = kit.under(**DAY_POOL)
    task_id, lease, shortage = short_of(kit)
    kit.client.hset(kit.keys.pools, "limit day", 2_000)
    settled = kit.suspend(lease, SuspendTo.MONEY, detail=shortage)
    assert (settled.status, settled.place) == (Status.RUNNING, "outbox")
    assert kit.status(task_id) is Status.RUNNING


def test_a_pause_for_money_counts_what_it_writes(kit: StoreKit) -> None:
    """The outcome of the last call is written with the pause; it may be what uses the pool up."""
    kit = kit.under(**DAY_POOL)
    task_id, lease = started(kit, 5)
    spent = Changes(add={"cost_microusd": 1_000}, spent={"m": {"cost_microusd": 1_000}}, reserve_microusd=0)
    settled = kit.suspend(lease, SuspendTo.MONEY, spent, detail={})
    assert settled.status is Status.PAUSED
    assert (pool(kit, "reserved"), kit.number(task_id, "cost_microusd")) == (0, 1_000)


def test_what_a_call_waits_for_is_known_until_the_next_claim(kit: StoreKit) -> None:
    """A pool without room is no failed call; people who ask are told which."""
    kit = kit.under(**DAY_POOL)
    started(kit, 900)
    task_id = labelled(kit)
    lease = kit.claim(task_id)
    answer = announce(kit, lease, 200)
    assert answer.shortage is not None
    kit.suspend(lease, SuspendTo.TIMER, due_ms=1, detail=answer.shortage.model_dump())
    assert kit.store.get(task_id).shortage == answer.shortage
    assert places.fire(kit.store.context, task_id, "timers") is not None
    kit.claim(task_id)
    assert kit.store.get(task_id).shortage is None


# --- the ledger ---


def test_no_counter_of_money_grows_beside_the_ledger(kit: StoreKit) -> None:
    """Whatever write adds to one: commit, suspend, finish and go_on; by day, by model and by label."""
    spent = {name: number for number, name in enumerate(SPENT_FIELDS, start=1)}
    changes = Changes(add=spent, spent={"m": spent})
    for write in (
        lambda lease: kit.store.commit(lease, changes),
        lambda lease: kit.suspend(lease, SuspendTo.SHUTDOWN, changes),
        lambda lease: kit.finish(lease, FinishTo.NEXT, changes),
        lambda lease: kit.finish(lease, FinishTo.FAILED, changes, error="No.", recoverable=True),
        lambda lease: kit.go_on(lease, FinishTo.NEXT, changes),
    ):
        task_id = labelled(kit, team="web", kind="a")
        write(kit.claim(task_id))
        assert kit.number(task_id, "cost_microusd") == 1
    expected = {name: 5 * number for name, number in spent.items()}
    assert ledger(kit) == dict.fromkeys(("d", "m m", "l kind=a", "l team=web"), expected)


def test_tasks_without_a_label_have_a_row_too(kit: StoreKit) -> None:
    """So the rows of labels leave nothing out."""
    _, lease = started(kit, 0)
    settle(kit, lease, 3)
    assert ledger(kit).get("l ") == {**dict.fromkeys(SPENT_FIELDS, 0), "cost_microusd": 3}


def test_a_task_knows_what_it_spent_on_which_day(kit: StoreKit) -> None:
    """For those who ask since when."""
    task_id, lease = started(kit, 0)
    lease = settle(kit, lease, 3)
    settle(kit, lease, 4)
    today = kit.store.now_ms() // 86_400_000
    assert kit.number(task_id, f"c:{today}") == 7


def test_the_ledger_outlives_its_tasks(kit: StoreKit) -> None:
    """Deletion takes the record, and not what it has cost."""
    task_id, lease = started(kit, 0)
    lease = settle(kit, lease, 3)
    kit.finish(lease, FinishTo.COMPLETED, summary="Done.")
    kit.due("retention", task_id)
    assert places.delete(kit.store.context, task_id)
    assert ledger(kit)["d"]["cost_microusd"] == 3


def test_old_days_become_one_and_the_sum_stays(kit: StoreKit) -> None:
    """Folded with the first write of a new day, so that the ledger does not grow for ever."""
    kit = kit.under(ledger_days=10)
    today = kit.store.now_ms() // 86_400_000
    old = {f"{today - ago} {kind}": "5 1" for ago in (10, 11, 12) for kind in ("d", "m m", "l ")}
    kit.client.hset(kit.keys.ledger, mapping={**old, "0 d": "1 1"})
    _, lease = started(kit, 0)
    settle(kit, lease, 3)
    found = {name.decode(): int(value.split()[0]) for name, value in kit.client.hgetall(kit.keys.ledger).items()}
    days = {name: cost for name, cost in found.items() if name.endswith(" d")}
    assert days == {"0 d": 11, f"{today - 10} d": 5, f"{today} d": 3}
    assert (found["0 m m"], found["0 l "]) == (10, 10)


def test_the_ledger_has_a_limit(kit: StoreKit) -> None:
    """Labels beyond it count as one; nothing is lost of the sum."""
    kit = kit.under(ledger_max=100)
    kit.client.hset(kit.keys.ledger, mapping={f"1 l run={n}": "1" for n in range(97)})
    for run in ("a", "b", "c", "a"):
        _, lease = started(kit, 0, run=run)
        settle(kit, lease, 2)
    rows = ledger(kit)
    assert [rows.get(name, {}).get("cost_microusd") for name in ("d", "l run=a", f"l {OTHERS}")] == [8, 4, 4]


# --- warnings ---


@pytest.mark.parametrize("name", ["day", "team=web", "task"])
def test_each_part_of_a_pool_is_told_once(kit: StoreKit, name: str) -> None:
    """With the very commit that uses it: half, three quarters, nine tenths."""
    settings = {"day": DAY_POOL, "team=web": LABEL_POOL, "task": {}}[name]
    kit = kit.under(**settings)
    task_id, lease = started(kit, 0, team="web")
    if name == "task":
        kit.client.hset(kit.keys.task(task_id), "max_cost_microusd", 1_000)
    seen = []
    for cost in (499, 1, 100, 300, 99, 2):
        lease = settle(kit, lease, cost)
        seen.append([row["percent"] for row in told(kit, task_id)])
    assert seen == [[], [50], [50], [50, 75, 90], [50, 75, 90], [50, 75, 90]]
    assert told(kit, task_id)[0] == {"pool": name, "percent": 50, "used_microusd": 500, "limit_microusd": 1_000}

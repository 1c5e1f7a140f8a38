"""Tasks that race one pool in processes that are killed: it is never exceeded by more than one call, and three books of
what was spent agree: the tasks', the ledger's and the provider's (real Redis, the real SDK over HTTP)."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer
from money_race import CALL_MICROUSD, TURNS, Race, work

from neuraphage.model.effect import EffectState, model_effect
from neuraphage.model.limits import Limits
from neuraphage.model.money import SPENT_FIELDS
from neuraphage.model.task import PausedDetail, Status
from neuraphage.ports import Signal, SignalKind
from neuraphage.settings import Settings
from neuraphage.store import invariant, queries
from neuraphage.testing.scripted_api.server import ScriptedServer

LIMIT_MICROUSD = 1_000_000


@pytest.fixture
def provider() -> Iterator[ScriptedServer]:
    """The API, which writes down each call."""
    with ScriptedServer({"work": work}) as server:
        yield server


@pytest.fixture
def race(server: FaultServer, provider: ScriptedServer, tmp_path: Path) -> Iterator[Callable[..., Race]]:
    """Makes a race under settings."""
    made: list[Race] = []

    def make(**settings: Any) -> Race:
        chosen = Settings(
            namespace="race", data_dir=tmp_path / "data", pool_wait_s=0.05, max_recoveries=100,
            max_recovery_cost_microusd=10**9, **settings,
        )  # fmt: skip
        made.append(Race(tmp_path, server.address.state_url, provider.url, chosen))
        return made[-1]

    yield make
    for one in made:
        with closing(one):
            pass


class Books:
    """What was spent, as three of them tell it."""

    def __init__(self, race: Race, tasks: list[str], provider: ScriptedServer) -> None:
        context = race.store.context
        self.records = [race.store.get(task_id) for task_id in tasks]
        rows = context.client.hgetall(context.keys.ledger)
        self.rows = {
            name.decode().partition(" ")[2]: dict(zip(SPENT_FIELDS, map(int, value.split()), strict=True))
            for name, value in rows.items()
        }
        entries = provider.log()["entries"]
        self.sent = len(entries)
        committed = {
            event.data["request_id"]
            for task_id in tasks
            for event in queries.events(context, task_id)
            if event.kind == "ResponseReceived"
        }
        self.answered = {entry["request_id"] for entry in entries if entry["outcome"] == "completed"}
        self.committed = committed
        self.unsettled = sum(
            (entry := model_effect(queries.journal(context, task_id))) is not None
            and entry.state is EffectState.STARTED
            for task_id in tasks
        )
        assert invariant.violations(context) == []

    def agree(self) -> int:
        """See that they do; the total in micro-dollars."""
        total = sum(record.counters.cost_microusd for record in self.records)
        assert {kind: self.sum(kind) for kind in ("d", "m", "l")} == dict.fromkeys("dml", total)
        assert total == CALL_MICROUSD * len(self.committed)  # the provider's price of each reply that was committed
        assert self.committed <= self.answered
        calls = sum(record.counters.model_calls for record in self.records)
        resends = sum(record.counters.model_resends for record in self.records)
        assert calls == len(self.committed) == self.sum("d", "model_calls")
        # what the provider has billed beyond that was lost with a worker, and is on the meter of recovery, or will be
        lost = self.sent - calls
        assert lost <= resends + self.unsettled
        metered = self.sum("d", "recovery_cost_microusd")
        assert metered == sum(record.counters.recovery_cost_microusd for record in self.records)
        assert metered >= CALL_MICROUSD * resends
        return total

    def sum(self, kind: str, what: str = "cost_microusd") -> int:
        """Of all rows of a kind."""
        return sum(row[what] for name, row in self.rows.items() if name.split(" ")[0] == kind)


def test_twenty_tasks_race_a_pool_and_exceed_it_by_one_call_at_most(
    race: Callable[..., Race], provider: ScriptedServer, announce: Callable[[str], None]
) -> None:
    """A pool of one dollar, calls of ten cents, workers killed at random in the midst of calls."""
    run = race(label_max_cost_microusd=(f"team=web {LIMIT_MICROUSD}",))
    tasks = run.submit(20, labels={"team": "web"})
    run.run(tasks, workers=4, kills=8, chance=random.Random(1))
    books = Books(run, tasks, provider)
    total = books.agree()
    announce(f"${total / 1e6:.2f} of a pool of $1.00 after {run.kills} kills, {books.sent} calls sent")
    assert LIMIT_MICROUSD <= total <= LIMIT_MICROUSD + CALL_MICROUSD
    paused = [record.detail for record in books.records if isinstance(record.detail, PausedDetail)]
    assert {detail.reason for detail in paused} == {"money"}
    assert len(paused) + sum(record.status is Status.COMPLETED for record in books.records) == 20
    assert int(run.store.context.client.hget(run.store.context.keys.pools, "reserved team=web") or 0) == 0


def test_twenty_subtasks_race_the_dollar_of_their_parent(
    race: Callable[..., Race], provider: ScriptedServer, announce: Callable[[str], None]
) -> None:
    """The limit of the one above holds for all of them, workers killed in the midst of calls; it knows the sum."""
    run = race()
    (parent,) = run.submit(1, limits=Limits(max_turns=50, max_cost_microusd=LIMIT_MICROUSD))
    run.store.signal(parent, Signal(kind=SignalKind.PAUSE, key="stays"))  # it is over when they are, and not before
    below = run.submit(20, parent_id=parent, depth=1)
    run.run(below, workers=4, kills=8, chance=random.Random(2))
    books = Books(run, below, provider)
    total = books.agree()
    announce(f"${total / 1e6:.2f} of a parent's $1.00 after {run.kills} kills, {books.sent} calls sent")
    assert LIMIT_MICROUSD <= total <= LIMIT_MICROUSD + CALL_MICROUSD
    record = run.store.get(parent)
    assert (record.counters.cost_microusd, record.below_microusd) == (0, total)
    assert {record.status for record in books.records} <= {Status.COMPLETED, Status.FAILED}
    context = run.store.context
    assert context.client.hget(context.keys.task(parent), "held_below") in (None, b"0")


def test_the_books_agree_after_kills_without_a_pool(race: Callable[..., Race], provider: ScriptedServer) -> None:
    """Claims announce most of the calls then."""
    run = race()
    tasks = run.submit(8)
    run.run(tasks, workers=3, kills=8, chance=random.Random(3))
    books = Books(run, tasks, provider)
    assert books.agree() == CALL_MICROUSD * TURNS * 8
    assert {record.status for record in books.records} == {Status.COMPLETED}

"""Turns under pools of money: what is reserved and settled, who waits, who is paused, and what recovery costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from neuraphage.decide.worst_case import request_tokens
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.effect import ModelEffect, model_effect
from neuraphage.model.limits import Limits
from neuraphage.model.task import FailedDetail, PausedDetail, Status
from neuraphage.model.usage import Price, PriceQuote
from turnkit import FakeTool, Killed, Rig, calls, says

MakeRig = Callable[..., Rig]
CALL = ("act", {})
POOL = {"day_max_cost_microusd": 10**9}
UNKNOWN = PriceQuote(
    price=Price(input_microusd=9, output_microusd=9, cache_write_microusd=9, cache_read_microusd=9), known=False
)


def killed(*args: Any, **kwargs: Any) -> Any:
    raise Killed


def reserved(rig: Rig, name: str = "day") -> int:
    """What a pool holds for calls under way."""
    return int(rig.client.hget(rig.kit.keys.pools, f"reserved {name}") or 0)


def announced(rig: Rig, task_id: str) -> ModelEffect:
    """The call of the turn."""
    found = model_effect(rig.journal(task_id))
    assert found is not None
    return found


def test_each_call_reserves_its_worst_case_while_it_is_under_way(make_rig: MakeRig) -> None:
    """Also of turns that would go straight on; afterwards nothing is held."""
    seen: list[tuple[int, int]] = []

    def look(then: Any) -> Any:
        def step(request: Any, *_: Any) -> Any:
            seen.append((reserved(rig), request_tokens(request) + request.max_tokens))
            return then

        return step

    rig = make_rig(
        look(calls(("t0", *CALL))), look(calls(("t1", *CALL))), look(says("Done.")), extra=[FakeTool()], **POOL
    )
    task_id = rig.run(labels={"team": "web"})
    assert [held for held, _ in seen] == [worst for _, worst in seen]
    assert len(seen) == 3
    assert (reserved(rig), reserved(rig, "team=web"), rig.get(task_id).reserved_microusd) == (0, 0, 0)
    assert rig.get(task_id).status is Status.COMPLETED


def test_without_a_pool_turns_write_no_more_than_before(make_rig: MakeRig) -> None:
    """The claim goes on to announce the call of a turn that goes straight on."""
    rig = make_rig(calls(("t0", *CALL)), calls(("t1", *CALL)), says("Done."), extra=[FakeTool()])
    commits: list[Any] = []
    commit = rig.services.store.commit
    rig.services.store.commit = lambda *args: commits.append(args) or commit(*args)  # type: ignore[method-assign]
    rig.run()
    assert len(commits) == 3  # the first call; then one a tool


def test_a_killed_call_is_taken_over_and_settled_once(make_rig: MakeRig) -> None:
    """Its reservation stays until the call that is sent again has its outcome; what it may have cost is metered."""
    rig = make_rig(killed, says("Done."), **POOL)
    task_id = rig.submit()
    rig.dies()
    worst = announced(rig, task_id).reserved_microusd
    assert (reserved(rig), worst > 16_384) == (worst, True)
    rig = rig.recover(task_id)
    assert reserved(rig) == worst
    rig.drain()
    counters = rig.get(task_id).counters
    assert (reserved(rig), counters.cost_microusd, counters.model_resends) == (0, 100, 1)
    assert counters.recovery_cost_microusd == worst


def test_a_lost_call_that_a_claim_had_announced_is_metered_too(make_rig: MakeRig) -> None:
    """Nothing was reserved for it; it may have cost what the same request may cost again."""
    rig = make_rig(calls(("t0", *CALL)), killed, says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    rig.dies()
    assert announced(rig, task_id).reserved_microusd == 0
    rig = rig.recover(task_id)
    rig.drain()
    request = rig.model.requests[-1]
    assert rig.get(task_id).counters.recovery_cost_microusd == request_tokens(request) + request.max_tokens


def test_a_reply_that_broke_off_is_no_cost_of_recovery(make_rig: MakeRig) -> None:
    """Its worker lived, and noted what it had cost."""
    rig = make_rig(
        ModelFault(FaultKind.NETWORK, "x", usage={"input_tokens": 40}, model="scripted-1"), says("Done."), **POOL
    )
    task_id = rig.run()
    assert (reserved(rig), rig.get(task_id).counters.cost_microusd) == (0, 40)
    rig.retry_now(task_id)
    rig.drain()
    counters = rig.get(task_id).counters
    assert (counters.model_resends, counters.recovery_cost_microusd, counters.cost_microusd) == (1, 0, 140)


def test_the_cost_of_recovery_has_a_limit_that_progress_does_not_reset(make_rig: MakeRig) -> None:
    """A task that loses a call in each turn has an outcome in each, so that it never counts as poison."""
    steps = [step for n in range(6) for step in (killed, calls((f"t{n}", *CALL)))]
    rig = make_rig(*steps, extra=[FakeTool()], max_recovery_cost_microusd=60_000)
    task_id = rig.submit()
    for _ in range(50):
        if not rig.dispatcher.messages:
            break
        try:
            rig.step()
        except Killed:
            rig = rig.recover(task_id)
    record = rig.get(task_id)
    assert isinstance(record.detail, FailedDetail)
    assert record.detail.recoverable
    assert "max_recovery_cost_microusd" in record.detail.error
    assert 60_000 <= record.counters.recovery_cost_microusd < 90_000
    assert record.counters.recoveries < 3
    assert record.counters.model_resends == record.counters.model_calls < 6


# --- pools that have no room ---


def test_a_call_waits_for_room_and_goes_on_by_itself(make_rig: MakeRig) -> None:
    """Another call is under way: the task holds no worker until that one is settled."""
    rig = make_rig(killed, says("Done."), says("Done."), day_max_cost_microusd=30_000)
    first = rig.submit()
    rig.dies()
    second = rig.submit()
    rig.step()
    record = rig.get(second)
    assert (record.status, record.place) == (Status.RUNNING, "timers")
    assert record.shortage is not None
    assert (record.shortage.pool, record.shortage.is_exhausted) == ("day", False)
    assert len(rig.model.requests) == 1
    rig = rig.recover(first)
    rig.drain()
    rig.kit.due("timers", second)
    assert rig.sweep.timers(rig.store.now_ms()) == 1
    rig.drain()
    assert [rig.get(one).status for one in (first, second)] == [Status.COMPLETED] * 2
    assert rig.get(second).shortage is None


def test_a_task_whose_pool_is_used_up_is_paused_before_its_next_call(make_rig: MakeRig) -> None:
    """What it has done stays; once the pool is raised it is resumed, and loses nothing."""
    rig = make_rig(calls(("t0", *CALL)), says("Done."), extra=[FakeTool()], label_max_cost_microusd=("team=web 100",))
    task_id = rig.run(labels={"team": "web"})
    record = rig.get(task_id)
    assert isinstance(record.detail, PausedDetail)
    assert record.detail.reason == "money"
    assert record.detail.shortage is not None
    assert (record.detail.shortage.pool, record.detail.shortage.used_microusd) == ("team=web", 100)
    assert len(rig.model.requests) == 1
    rig.client.hset(rig.kit.keys.pools, "limit team=web", 1_000)
    rig.people.resume(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert rig.called(task_id) == ["t0"]


def test_by_setting_it_fails_instead(make_rig: MakeRig) -> None:
    """With what to do; a retry goes on from there."""
    rig = make_rig(
        calls(("t0", *CALL)), says("Done."), extra=[FakeTool()], day_max_cost_microusd=100, on_exhausted_pool="fail"
    )
    task_id = rig.run()
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    for words in (
        "The pool of the day is used up",
        "$0.0001 is used",
        "neuraphage pools day --max-cost",
        "neuraphage retry",
    ):
        assert words in detail.error
    rig.client.hset(rig.kit.keys.pools, "limit day", 10_000)
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_message_is_not_lost_while_a_pool_is_used_up(make_rig: MakeRig) -> None:
    """It waits unread with the paused task, and is in the request once there is money."""
    rig = make_rig(says("First."), says("Second."), day_max_cost_microusd=100)
    task_id = rig.run()
    rig.people.send(task_id, "Go on.")
    rig.drain()
    assert rig.get(task_id).status is Status.PAUSED
    assert len(rig.kit.inbox(task_id)) == 1
    rig.client.hset(rig.kit.keys.pools, "limit day", 10_000)
    rig.people.resume(task_id)
    rig.drain()
    assert rig.model.requests[-1].messages[-1]["content"][0]["text"] == "Go on."
    assert rig.get(task_id).status is Status.COMPLETED


def test_nobody_is_paused_by_a_call_alone_that_fits_no_pool(make_rig: MakeRig) -> None:
    """Its worst case is more than the pool; what it costs is not."""
    rig = make_rig(says("Done."), day_max_cost_microusd=500)
    assert rig.get(rig.run()).status is Status.COMPLETED


# --- prices ---


def test_a_model_without_a_price_is_not_asked(make_rig: MakeRig) -> None:
    """The limit of money could not be kept: nothing is sent, and people are told how to set a price."""
    rig = make_rig(says("Done."))
    object.__setattr__(rig.services, "quote", lambda _: UNKNOWN)
    task_id = rig.run(model="mine-1")
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    assert 'prices = ["mine-1 0.5 1.5"]' in detail.error
    assert rig.model.requests == []


def test_a_claim_that_announced_a_call_without_a_price_takes_it_back(make_rig: MakeRig) -> None:
    """The price may have gone from the settings between two turns; no call counts as lost."""
    rig = make_rig(calls(("t0", *CALL)), says("Done."), extra=[FakeTool()])
    task_id = rig.submit()
    rig.step()
    quote = rig.services.quote
    object.__setattr__(rig.services, "quote", lambda _: UNKNOWN)
    rig.drain()
    assert rig.get(task_id).status is Status.FAILED
    object.__setattr__(rig.services, "quote", quote)
    rig.people.retry(task_id)
    rig.drain()
    counters = rig.get(task_id).counters
    assert (counters.model_resends, counters.recovery_cost_microusd) == (0, 0)
    assert rig.get(task_id).status is Status.COMPLETED


def test_a_reply_of_another_name_costs_what_the_model_of_the_task_does(make_rig: MakeRig) -> None:
    """Providers answer with dated ids, which no row may fit: it never counts zero."""
    rig = make_rig(says("Done."))
    known = rig.services.quote("scripted-1")
    object.__setattr__(rig.services, "quote", lambda model: known if model == "mine-1" else UNKNOWN)
    assert rig.get(rig.run(model="mine-1")).counters.cost_microusd == 100


@pytest.mark.parametrize("limits", [Limits(max_cost_microusd=0), Limits(max_turns=0)])
def test_zero_means_stop(make_rig: MakeRig, limits: Limits) -> None:
    """Of the task's own limits too."""
    rig = make_rig(says("Done."))
    assert rig.get(rig.run(limits=limits)).status is Status.FAILED
    assert rig.model.requests == []

"""Each paid call reserves and settles at the price of its model: summaries, fall-backs, stronger models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from neuraphage.decide.model_family import gate_of
from neuraphage.decide.worst_case import request_tokens
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.message import ModelReply
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import FailedDetail, Status
from neuraphage.model.usage import Price, PriceQuote, Usage
from neuraphage.store import ledger
from turnkit import A_MICROUSD_A_TOKEN, FakeTool, Rig, calls, says

MakeRig = Callable[..., Rig]
POOL = {"day_max_cost_microusd": 10**9}
BIG = Usage(input_tokens=190_000, output_tokens=10)
LONG = "word " * 8_000
GATE = gate_of("", "scripted-1")


def step(number: int, **more: Any) -> ModelReply:
    return calls((f"t{number}", "act", {}), **more)


BEFORE = (step(0, text=LONG), step(1), step(2).model_copy(update={"usage": BIG}))
"""After these a summary of the first turns is made."""


def times(factor: int) -> PriceQuote:
    """So many micro-dollars a token."""
    each = factor * 1_000_000
    price = Price(input_microusd=each, output_microusd=each, cache_write_microusd=0, cache_read_microusd=0)
    return PriceQuote(price=price, known=True)


UNKNOWN = PriceQuote(price=times(9).price, known=False)


def priced(rig: Rig, **quotes: PriceQuote) -> None:
    """Have some models cost something else."""
    object.__setattr__(rig.services, "quote", lambda model: quotes.get(model.replace("-", "_"), A_MICROUSD_A_TOKEN))


def reserved(rig: Rig) -> int:
    return int(rig.client.hget(rig.kit.keys.pools, "reserved day") or 0)


def spent_on(rig: Rig) -> dict[str, int]:
    """What the ledger has of each model."""
    rows = ledger.ledger(rig.store.context)
    return {row.name: row.spent.cost_microusd for row in rows if row.kind == "m"}


def by(model: str, reply: ModelReply) -> ModelReply:
    """The reply of another model."""
    return reply.model_copy(update={"model": model})


def looking(seen: list[tuple[int, int]], rig: list[Rig], then: Any) -> Any:
    """A reply that notes what is reserved while it is made, and the tokens that its request may come to."""

    def look(request: Any, *_: Any) -> Any:
        seen.append((reserved(rig[0]), request_tokens(request) + request.max_tokens))
        if isinstance(then, ModelFault):
            raise then
        return then

    return look


def test_a_call_for_a_summary_reserves_and_settles(make_rig: MakeRig) -> None:
    """As every other call; what it cost is in the ledger and in the task."""
    seen: list[tuple[int, int]] = []
    rigs: list[Rig] = []
    replies = [*BEFORE, says("All that was done."), says("Done.")]
    rig = make_rig(*[looking(seen, rigs, reply) for reply in replies], extra=[FakeTool()], **POOL)
    rigs.append(rig)
    task_id = rig.run()
    assert len(rig.model.requests) == 5
    assert [held for held, _ in seen] == [worst for _, worst in seen]
    assert (rig.get(task_id).status, reserved(rig)) == (Status.COMPLETED, 0)
    assert sum(spent_on(rig).values()) == rig.get(task_id).counters.cost_microusd == 190_010 + 4 * 100
    rig.check()


def test_a_summary_for_which_no_money_is_left_is_not_asked_for(make_rig: MakeRig) -> None:
    """The task is paused before it, with nothing noted; once the pool is raised it is made."""
    rig = make_rig(
        *BEFORE, says("All that was done."), says("Done."), extra=[FakeTool()], day_max_cost_microusd=150_000
    )
    task_id = rig.run()
    assert (rig.get(task_id).status, len(rig.model.requests)) == (Status.PAUSED, 3)
    assert "ContextCompacted" not in rig.kinds(task_id)
    rig.client.hset(rig.kit.keys.pools, "limit day", 10**9)
    rig.people.resume(task_id)
    rig.drain()
    assert (rig.get(task_id).status, len(rig.model.requests)) == (Status.COMPLETED, 5)
    rig.check()


def test_a_fall_back_reserves_at_its_own_price(make_rig: MakeRig) -> None:
    """Anew, with its own announcement; what was refused cost nothing."""
    seen: list[tuple[int, int]] = []
    rigs: list[Rig] = []
    refused = ModelFault(FaultKind.NOT_FOUND, "gone")
    rig = make_rig(looking(seen, rigs, refused), looking(seen, rigs, by("second", says("Done."))), **POOL)
    rigs.append(rig)
    priced(rig, second=times(3))
    task_id = rig.run(model="first", fallbacks=("second",))
    assert [held for held, _ in seen] == [seen[0][1], 3 * seen[1][1]]
    assert (rig.get(task_id).status, reserved(rig)) == (Status.COMPLETED, 0)
    assert spent_on(rig) == {"second": 300}


@pytest.mark.parametrize("way", ["fall-back", "stronger"])
def test_a_model_without_a_price_is_not_called_in_place_of_one_with_it(make_rig: MakeRig, way: str) -> None:
    """Whichever way led to it: the task says which model it is, and a retry goes on once there is a price."""
    bad = ("read_file", {"path": "not there"})
    if way == "fall-back":
        rig = make_rig(ModelFault(FaultKind.NOT_FOUND, "gone"), says("Done."))
        spec: dict[str, Any] = {"model": "first", "fallbacks": ("claude-sonnet-5-5",)}
    else:
        rig = make_rig(calls(("t1", *bad)), says("Done."), escalate_after=1)
        spec = {"model": "small", "tier": "cheap"}
    priced(rig, claude_sonnet_5_5=UNKNOWN)
    task_id = rig.run(**spec)
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert "No price is known for the model claude-sonnet-5-5" in detail.error
    assert len(rig.model.requests) == 1
    priced(rig)
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert [request.model for request in rig.model.requests] == [spec["model"], "claude-sonnet-5-5"]
    assert rig.get(task_id).counters.model_resends == 0


def test_the_price_is_that_of_the_provider_that_was_asked(make_rig: MakeRig) -> None:
    """A model of another provider may answer by a name that a price here is for."""
    rig = make_rig(by("dear", says("Done.")))
    priced(rig, dear=times(50))
    assert rig.get(rig.run(model="openai:mine")).counters.cost_microusd == 100
    rig = make_rig(by("dear", says("Done.")))
    priced(rig, dear=times(50))
    assert rig.get(rig.run(model="cheap")).counters.cost_microusd == 5_000


def test_a_call_that_no_pool_has_room_for_gives_its_share_of_the_model_back(make_rig: MakeRig) -> None:
    """What it took of limits that all workers share is free for others, and another one may find out for all."""
    rig = make_rig(says("Done."), model_limits=("scripted output_tokens=100000",), day_max_cost_microusd=0)
    task_id = rig.run()
    assert rig.get(task_id).status is Status.PAUSED
    assert int(rig.client.hget(rig.kit.keys.gate(GATE), "output_tokens") or 0) == 0
    rig.store.cool_model(GATE, CapacityReason.OVERLOADED, 0.0)
    rig.people.resume(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.PAUSED
    assert "probe" not in orjson.loads(rig.client.hget(rig.kit.keys.cooling, GATE))
    assert rig.model.requests == []


def test_a_model_that_a_person_sets_is_priced(make_rig: MakeRig) -> None:
    """The ledger has each model with what it cost."""
    tasks: list[str] = []

    def changing(*_: Any) -> Any:
        rig.people.set_model(tasks[0], ModelChoice(model="big"), "")
        return calls(("t1", "act", {}))

    rig = make_rig(changing, by("big", says("Done.")), extra=[FakeTool()], **POOL)
    priced(rig, big=times(5))
    tasks.append(rig.submit(model="small"))
    rig.drain()
    assert rig.get(tasks[0]).status is Status.COMPLETED
    assert spent_on(rig) == {"small": 100, "big": 500}

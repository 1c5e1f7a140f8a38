"""Who is asked for a summary: the cheap tier, the task's own model in its place, through faults and deaths."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from neuraphage.api.reads import rules_of
from neuraphage.cli.event_text import event_text
from neuraphage.decide.begun_call import Finding
from neuraphage.decide.model_family import gate_of
from neuraphage.decide.model_ids import Provider
from neuraphage.decide.summary_request import SUMMARY_SYSTEM
from neuraphage.decide.why import explain
from neuraphage.decide.worst_case import request_tokens
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient, RoutedClient
from neuraphage.llm.request import request_body
from neuraphage.model.capacity import CapacityReason
from neuraphage.model.effect import SUMMARY_ENTRY, EffectState
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.model.usage import Price, PriceQuote, Usage
from neuraphage.ports.relay import NoRelay
from neuraphage.store import ledger, queries
from neuraphage.store.encode import journal_bytes
from neuraphage.store.task_facts import task_facts
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from neuraphage.testing.scripted_api.rules import sign
from turnkit import A_MICROUSD_A_TOKEN, FakeTool, Killed, Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]
BIG = Usage(input_tokens=190_000, output_tokens=10)
LONG = "word " * 8_000
SUMMARY = says("All that was done: the plan.")
CHEAP: dict[str, Any] = {"tiers": {"cheap": ("other-tiny",)}, "context_window_tokens": 200_000}
GATE = gate_of("", "other-tiny")


def step(number: int, **more: Any) -> ModelReply:
    return calls((f"t{number}", "act", {}), **more)


BEFORE = (step(0, text=LONG), step(1), step(2).model_copy(update={"usage": BIG}))
"""After these a summary of the first turns is made."""


def dies(*_: Any) -> ModelReply:
    raise Killed


def asked(rig: Rig) -> list[str]:
    """Which models were asked for summaries."""
    return [r.model for r in rig.model.requests if r.system[0]["text"] == SUMMARY_SYSTEM]


def made(rig: Rig, task_id: str) -> list[tuple[str, str]]:
    """Who made each stored summary, and why it was the task's own model."""
    points = [entry["compaction"] for entry in rig.entries(task_id) if entry.get("compaction")]
    return [(point["summary_model"], point["why_own"]) for point in points]


def priced(rig: Rig, model: str, factor: int | None) -> None:
    """Have a model cost so many micro-dollars a token; None for no known price."""
    each = (factor or 1) * 1_000_000
    price = Price(input_microusd=each, output_microusd=each, cache_write_microusd=0, cache_read_microusd=0)
    quotes = {model: PriceQuote(price=price, known=factor is not None)}
    object.__setattr__(rig.services, "quote", lambda one: quotes.get(one, A_MICROUSD_A_TOKEN))


@pytest.fixture
def rig_of(make_rig: MakeRig) -> Callable[..., Rig]:
    return lambda *steps, **more: make_rig(*steps, extra=[FakeTool()], **{**CHEAP, **more})


def test_a_summary_is_asked_of_the_cheap_tier(rig_of: MakeRig) -> None:
    """Announced with its model, before the call; the reply and all that follows are the task's own model's."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    task_id = rig.run("Build it, in blue.")
    record = rig.get(task_id)
    assert (record.status, record.choice.model) == (Status.COMPLETED, "scripted-1")
    assert [request.model for request in rig.model.requests] == ["scripted-1"] * 3 + ["other-tiny", "scripted-1"]
    assert made(rig, task_id) == [("other-tiny", "")]
    lines = [event_text(event) for event in queries.events(rig.store.context, task_id)]
    assert sum("asks other-tiny for a summary" in line for line in lines) == 1
    assert "All that was done: the plan." in str(rig.model.requests[-1].messages)
    assert "Build it, in blue." in str(rig.model.requests[-1].messages)


@pytest.mark.parametrize(
    ("chosen", "why"),
    [
        ({"summary_model": "own"}, "summary_model is own"),
        ({"tiers": {"cheap": ("openai:tiny",)}}, "no model of the tier cheap is one of anthropic"),
        ({"tiers": {"cheap": ("scripted-1",)}}, ""),
        ({"context_window_tokens": None}, "the context window of other-tiny is not known"),
    ],
)
def test_where_it_is_not_sensible_the_own_model_is_asked(rig_of: MakeRig, chosen: dict[str, Any], why: str) -> None:
    """And why is stored with the summary."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."), **chosen)
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == ["scripted-1"]
    assert made(rig, task_id) == [("scripted-1", why)]


@pytest.mark.parametrize("model", ["openai:tiny", "tiny", "tier:small"])
def test_a_person_names_another_one(rig_of: MakeRig, model: str) -> None:
    """By its id also one of another provider, where this process can call it, and one that no table knows."""
    tiers = {"small": ("tiny",)}
    rig = rig_of(*BEFORE, SUMMARY, says("Done."), summary_model=model, tiers=tiers)
    rig.run()
    assert asked(rig) == ["tiny" if model == "tier:small" else model]
    other = rig_of(*BEFORE, SUMMARY, says("Done."), summary_model=model, tiers=tiers)
    object.__setattr__(other.services, "can_call", lambda one: one == "scripted-1")
    task_id = other.run()
    assert made(other, task_id) == [("scripted-1", f"this worker cannot call {asked(rig)[0]}")]


def test_a_model_without_a_price_is_not_asked(rig_of: MakeRig) -> None:
    """As no call of one is made: the task goes on with its own."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    priced(rig, "other-tiny", None)
    task_id = rig.run()
    assert made(rig, task_id) == [("scripted-1", "no price is known for other-tiny")]


def test_price_reservation_and_ledger_are_those_of_the_model_that_is_asked(rig_of: MakeRig) -> None:
    """What is reserved while it is asked, what the ledger has of it, and what the task has spent."""
    seen: list[tuple[int, int]] = []

    def look(request: Any, *_: Any) -> ModelReply:
        held = int(rig.client.hget(rig.kit.keys.pools, "reserved day") or 0)
        seen.append((held, request_tokens(request) + request.max_tokens))
        return SUMMARY.model_copy(update={"model": "other-tiny"})

    rig = rig_of(*BEFORE, look, says("Done."), day_max_cost_microusd=10**9)
    priced(rig, "other-tiny", 3)
    task_id = rig.run()
    ((held, worst),) = seen
    assert held == 3 * worst
    rows = {row.name: row.spent for row in ledger.ledger(rig.store.context) if row.kind == "m"}
    assert (rows["other-tiny"].cost_microusd, rows["other-tiny"].model_calls) == (300, 1)
    assert rows["scripted-1"].cost_microusd == 190_010 + 3 * 100
    assert rig.get(task_id).counters.cost_microusd == sum(row.cost_microusd for row in rows.values())


def test_a_request_for_a_summary_is_not_kept_in_the_cache(rig_of: MakeRig) -> None:
    """No request begins with it, and to write a prefix costs a quarter more."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    rig.run()
    summary, reply = rig.model.requests[3:]
    assert "cache_control" not in str(request_body(summary))
    assert "cache_control" in str(request_body(reply))


@pytest.mark.parametrize("held", [False, True], ids=["asked again", "read on in the relay"])
def test_a_recovered_turn_goes_on_with_the_same_model(
    rig_of: MakeRig, monkeypatch: pytest.MonkeyPatch, held: bool
) -> None:
    """Under the same request id, whatever the settings of the next worker say; what was lost counts at its price."""
    limits = ("other-tiny requests=5 output_tokens=99999",)
    rig = rig_of(*BEFORE, dies, SUMMARY, says("Done."), model_limits=limits)
    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    rig.dies()
    entry = rig.journal(task_id)[SUMMARY_ENTRY]
    assert (entry.state, entry.model, entry.why_own) == (EffectState.STARTED, "other-tiny", "")
    if held:
        monkeypatch.setattr(NoRelay, "settle", lambda *_: Finding.RUNNING)
    elsewhere = rig.settings.model_copy(update={"summary_model": "own"})
    after = rig.recover(task_id)
    object.__setattr__(after.services, "settings", elsewhere)
    after.drain()
    record = after.get(task_id)
    assert record.status is Status.COMPLETED
    first, again = rig.model.requests[3:5]
    assert (first.model, again.model, first.request_id) == ("other-tiny", "other-tiny", again.request_id)
    assert (first == again) is held
    assert record.counters.model_resends == (0 if held else 1)
    assert made(after, task_id) == [("other-tiny", "")]
    shares = rig.client.hgetall(rig.kit.keys.gate(GATE))
    assert int(shares[b"requests"]) == (1 if held else 2)
    assert not [name for name in shares if name.startswith(b"t:")], "each is settled"


FINAL = [
    FaultKind.NOT_FOUND,
    FaultKind.PERMISSION,
    FaultKind.AUTHENTICATION,
    FaultKind.BAD_REQUEST,
    FaultKind.BAD_HISTORY,
    FaultKind.CONTEXT_OVERFLOW,
    FaultKind.TOO_LARGE,
    FaultKind.GARBAGE,
]


@pytest.mark.parametrize("kind", FINAL)
def test_what_refuses_for_good_gives_way_to_the_own_model(rig_of: MakeRig, kind: FaultKind) -> None:
    """At once and once, with the same record; the history has the reason, and the task keeps its model."""
    rig = rig_of(*BEFORE, ModelFault(kind, "on order"), SUMMARY, says("Done."))
    task_id = rig.run(fallbacks=("another",))
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == ["other-tiny", "scripted-1"]
    first, again = rig.model.requests[3:5]
    assert (first.request_id, first.messages) == (again.request_id, again.messages)
    assert made(rig, task_id) == [("scripted-1", f"other-tiny failed: {kind.value}")]
    assert rig.get(task_id).choice.model == "scripted-1"
    lines = [event_text(event) for event in queries.events(rig.store.context, task_id)]
    assert any(f"scripted-1 for a summary (other-tiny failed: {kind.value})" in line for line in lines)


def test_a_record_that_was_too_long_for_another_is_sent_whole_to_the_own_model(rig_of: MakeRig) -> None:
    """The refusal says nothing of it. Only one that it refuses itself is made much shorter."""
    long = ModelFault(FaultKind.CONTEXT_OVERFLOW, "too long")
    steps = [step(number, text="word " * 1_000) for number in range(8)]
    last = step(8).model_copy(update={"usage": BIG})
    rig = rig_of(*steps, last, long, long, SUMMARY, says("Done."), context_window_tokens=20_000)
    task_id = rig.run()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == ["other-tiny", "scripted-1", "scripted-1"]
    sizes = [request_tokens(request) for request in rig.model.requests if request.system[0]["text"] == SUMMARY_SYSTEM]
    assert sizes[0] == sizes[1] > 1.5 * sizes[2]


@pytest.mark.parametrize(
    "summary",
    [
        says(" "),
        says("(empty response)"),
        says("No.", stop_reason="refusal"),
        says("All that", stop_reason="max_tokens"),
        calls(("x1", "act", {})),
    ],
    ids=["blank", "placeholder", "refused", "cut", "a call"],
)
def test_a_summary_that_is_none_is_asked_of_the_own_model(rig_of: MakeRig, summary: ModelReply) -> None:
    """It is paid, and not stored: neither an empty one, nor one without its end, where the next step stands."""
    rig = rig_of(*BEFORE, summary.model_copy(update={"model": "other-tiny"}), SUMMARY, says("Done."))
    priced(rig, "other-tiny", 3)
    task_id = rig.run()
    assert asked(rig) == ["other-tiny", "scripted-1"]
    assert made(rig, task_id) == [("scripted-1", "other-tiny failed: garbage")]
    rows = {row.name: row.spent for row in ledger.ledger(rig.store.context) if row.kind == "m"}
    assert (rows["other-tiny"].cost_microusd, rows["other-tiny"].model_calls) == (300, 0)


def wait_out(rig: Rig, task_id: str) -> None:
    """Let the timer of the call for a summary come due."""
    assert rig.get(task_id).place == "timers"
    rig.cooled()
    entry = rig.journal(task_id)[SUMMARY_ENTRY]
    if entry.retry_at_ms is not None:
        due = journal_bytes(entry.model_copy(update={"retry_at_ms": 1}))
        rig.client.hset(rig.store.context.keys.turn(task_id), SUMMARY_ENTRY, due)
    rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()


def test_faults_of_the_way_are_tried_again_with_the_same_model(rig_of: MakeRig) -> None:
    """As often as for any call; then the own model has tries of its own."""
    gone = ModelFault(FaultKind.NETWORK, "gone")
    rig = rig_of(*BEFORE, gone, gone, gone, gone, SUMMARY, says("Done."))
    task_id = rig.run()
    for _ in range(3):
        wait_out(rig, task_id)
    assert asked(rig) == ["other-tiny"] * 3 + ["scripted-1"] * 2
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("kind", [FaultKind.RATE_LIMITED, FaultKind.OVERLOADED])
def test_a_short_refusal_is_waited_for_once(rig_of: MakeRig, kind: FaultKind) -> None:
    """All workers know of it. The second one gives way, and so does a long one at once."""
    short = ModelFault(kind, "busy", 5.0)
    rig = rig_of(*BEFORE, short, short, SUMMARY, says("Done."))
    task_id = rig.run()
    assert orjson.loads(rig.client.hget(rig.kit.keys.cooling, GATE))["why"] == kind.value
    (because, *_) = explain(task_facts(rig.store.context, task_id), rules_of(rig.settings)).because
    assert because.startswith("The provider refused a call of other-tiny")
    wait_out(rig, task_id)
    assert asked(rig) == ["other-tiny", "other-tiny", "scripted-1"]
    assert rig.get(task_id).status is Status.COMPLETED
    rig = rig_of(*BEFORE, ModelFault(kind, "busy", 600.0), SUMMARY, says("Done."))
    assert rig.get(rig.run()).status is Status.COMPLETED
    assert asked(rig) == ["other-tiny", "scripted-1"]


@pytest.mark.parametrize(("delay_s", "model"), [(600.0, "scripted-1"), (20.0, "other-tiny")])
def test_a_model_that_cools_is_waited_for_if_that_is_short(rig_of: MakeRig, delay_s: float, model: str) -> None:
    """Somebody else was refused: then nobody asks it, and this task waits, or asks its own model."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    rig.store.cool_model(GATE, CapacityReason.RATE_LIMITED, delay_s)
    task_id = rig.run()
    if model == "other-tiny":
        assert (asked(rig), rig.get(task_id).place) == ([], "timers")
        assert rig.journal(task_id)[SUMMARY_ENTRY].model == "other-tiny"
        assert "model" not in rig.journal(task_id)
        wait_out(rig, task_id)
    assert rig.get(task_id).status is Status.COMPLETED
    ((who, why),) = made(rig, task_id)
    assert (asked(rig), who) == ([model], model)
    assert why.startswith("other-tiny takes no calls until") is (model == "scripted-1")


def test_a_model_that_goes_on_cooling_is_waited_for_once(rig_of: MakeRig) -> None:
    """The wait is bounded by that: the second time the own model is asked, under the same request id."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."))
    rig.store.cool_model(GATE, CapacityReason.RATE_LIMITED, 20.0)
    task_id = rig.run()
    rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert asked(rig) == ["scripted-1"]


def test_the_own_model_that_cools_holds_up_no_summary_of_another(rig_of: MakeRig) -> None:
    """Each call waits for the model that it asks, and its share is of that one's limits."""
    limits = ("other-tiny requests=5", "scripted requests=9 output_tokens=900000")
    rig = rig_of(*BEFORE, SUMMARY, says("Done."), model_limits=limits)
    task_id = rig.submit()
    for _ in range(3):
        rig.step()
    rig.store.cool_model(gate_of("", "scripted-1"), CapacityReason.OVERLOADED, 600.0)
    rig.drain()
    assert (asked(rig), rig.get(task_id).place) == (["other-tiny"], "timers")
    assert int(rig.client.hget(rig.kit.keys.gate(GATE), "requests")) == 1
    rig.cooled()
    rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert int(rig.client.hget(rig.kit.keys.gate(gate_of("", "scripted-1")), "requests")) == 4
    assert asked(rig) == ["other-tiny"]


def test_what_the_own_model_is_asked_for_counts_in_its_limits(rig_of: MakeRig) -> None:
    """A summary by it is a call of its own beside the reply."""
    rig = rig_of(*BEFORE, SUMMARY, says("Done."), summary_model="own", model_limits=("scripted requests=9",))
    assert rig.get(rig.run()).status is Status.COMPLETED
    assert int(rig.client.hget(rig.kit.keys.gate(gate_of("", "scripted-1")), "requests")) == 5


def test_a_call_for_which_no_money_is_left_gives_its_share_back(rig_of: MakeRig) -> None:
    """Nothing is noted of it; once the pool is raised the same model is asked."""
    rig = rig_of(
        *BEFORE, SUMMARY, says("Done."), day_max_cost_microusd=150_000, model_limits=("other-tiny output_tokens=9999",)
    )
    task_id = rig.run()
    assert (rig.get(task_id).status, asked(rig)) == (Status.PAUSED, [])
    assert SUMMARY_ENTRY not in rig.journal(task_id)
    assert int(rig.client.hget(rig.kit.keys.gate(GATE), "output_tokens") or 0) == 0
    rig.client.hset(rig.kit.keys.pools, "limit day", 10**9)
    rig.people.resume(task_id)
    rig.drain()
    assert (rig.get(task_id).status, asked(rig)) == (Status.COMPLETED, ["other-tiny"])


def test_a_retry_of_a_failed_summary_asks_the_own_model(rig_of: MakeRig) -> None:
    """Or the one that a person has set meanwhile."""
    refused = ModelFault(FaultKind.PERMISSION, "no")
    rig = rig_of(*BEFORE, refused, refused, SUMMARY, says("Done."))
    task_id = rig.run()
    assert rig.get(task_id).status is Status.FAILED
    rig.people.set_model(task_id, rig.get(task_id).choice.model_copy(update={"model": "third"}), "")
    rig.people.retry(task_id, key="again")
    rig.drain()
    assert asked(rig) == ["other-tiny", "scripted-1", "third"]
    assert rig.get(task_id).status is Status.COMPLETED


def test_no_thought_signature_call_or_image_travels(rig_of: MakeRig) -> None:
    """Another model refuses signatures of the first one, and a call without its result: the record is sent as text."""
    thinking = {"type": "thinking", "thinking": "Signed.", "signature": sign("Signed.")}
    first = step(0, text=LONG)
    rig = rig_of(first.model_copy(update={"content": [thinking, *first.content]}), *BEFORE[1:], SUMMARY, says("Done."))
    rig.run()
    (summary,) = [request for request in rig.model.requests if request.model == "other-tiny"]
    assert [[block["type"] for block in message["content"]] for message in summary.messages] == [["text"]]
    assert sign("Signed.") not in str(summary.messages)
    assert (summary.tools, summary.extra) == ([], {})


@pytest.mark.parametrize(("own", "other"), [("scripted-1", "openai:scripted-1"), ("openai:scripted-1", "scripted-1")])
def test_a_summary_by_the_model_of_another_api_goes_over_http(tmp_path: Path, own: str, other: str) -> None:
    """By the rules of both: thoughts, ids of calls and blocks of the first one's tools lead to no refusal."""
    blocks = [
        {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
    ]
    asked_for: list[str] = []

    def script(request: ScriptRequest) -> ScriptedReply:
        if request.system == SUMMARY_SYSTEM:
            asked_for.append(str(request.body["messages"]))
            return reply("All that was done.")
        if "All that was done." in str(request.body["messages"]):
            return reply("Done.")
        step, more = request.turn, {} if own.startswith("openai") else {"thinking": "Secretly.", "blocks": blocks}
        usage = {"input_tokens": 190_000 if step == 2 else 100, "output_tokens": 10}
        return reply("word " * 8_000 if step == 0 else "On.", tools=[("act", {})], usage=usage, **more)

    with ScriptedServer({"main": script}) as server:
        both: dict[Provider, Any] = {
            Provider.ANTHROPIC: AnthropicClient(server.url, "sk-ant-test-key-0123456789"),
            Provider.OPENAI: OpenAIClient(f"{server.url}/v1", None),
        }
        rig = new_rig(tmp_path, RoutedClient(both, {}), extra=[FakeTool()], summary_model=other)
        task_id = rig.run("Build it, in blue.", model=own)
        totals = server.log()["totals"]
    assert rig.get(task_id).status is Status.COMPLETED
    assert (totals["completed"], totals["refused"]) == (5, 0)
    assert made(rig, task_id) == [(other, "")]
    (record,) = asked_for
    assert "Build it, in blue." in record
    assert "Secretly." not in record
    rig.check()

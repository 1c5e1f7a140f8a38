"""Limits that nobody has set, in whole turns: learned from headers, kept when little is left, and free till then."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from test_model_limits_in_turns import counted, fire, killed, recorded, window_over

from neuraphage.decide.model_family import gate_of
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient
from neuraphage.model.capacity import LearnedLimits, ToldLimits
from neuraphage.model.effect import MODEL_ENTRY
from neuraphage.model.message import ModelReply
from neuraphage.model.task import Status
from neuraphage.testing import CrashInjector, CrashPoint, Recorder, crash_points
from neuraphage.testing.scripted_api import RateLimit, ScriptedServer
from turnkit import FakeTool, Killed, Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]
GATE = gate_of("", "scripted-1")
TURNS = [calls(("t1", "act", {})), says("Done.")]


def told(left: int, most: int = 10, reset_s: float = 60.0, kind: str = "requests") -> ToldLimits:
    return ToldLimits(limits=LearnedLimits(**{kind: most}), left={kind: left}, reset_s={kind: reset_s})


def hearing(answer: ToldLimits, *replies: ModelReply) -> list[ModelReply]:
    return [reply.model_copy(update={"told": answer}) for reply in replies]


def used(rig: Rig, kind: str = "requests") -> int:
    return int(rig.client.hget(rig.kit.keys.gate(GATE), kind) or 0)


def test_while_enough_is_left_no_turn_has_a_round_trip_more(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the note of it, once; with little left each turn has two more, and its claim announces its call still."""
    rig = make_rig(*hearing(told(left=9), *TURNS, *TURNS), extra=[FakeTool()])
    rig.run()
    made = counted(rig, monkeypatch)
    rig.run()
    assert made == ["create", "claim", "commit", "commit", "finish", "claim", "finish"]
    rig = make_rig(*hearing(told(left=5), *TURNS, *TURNS), extra=[FakeTool()])
    rig.run()
    made.clear()
    rig.run()
    first, following = (
        ["claim", "admit", "commit", "settle", "commit", "finish"],
        ["claim", "admit", "settle", "finish"],
    )
    assert made == ["create", *first, *following]


def test_only_one_turn_learns(make_rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those after it have a share, and settle it with what they hear."""
    rig = make_rig(*hearing(told(left=5), *TURNS, *TURNS), extra=[FakeTool()])
    made = counted(rig, monkeypatch)
    rig.run()
    rig.run()
    assert made.count("learn") == 1
    assert used(rig) == 8
    assert json.loads(rig.client.hget(rig.kit.keys.kept, GATE) or b"{}")["limits"] == {"requests": 10}


@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        ({"learned_limits": "off"}, False),
        ({"model_limits": ("scripted requests=100",)}, False),
        ({"model_limits": ("scripted output_tokens=100000",)}, True),
        ({"model_limits": ("another requests=1",)}, True),
    ],
)
def test_what_people_have_set_goes_first(make_rig: MakeRig, settings: dict[str, Any], kept: bool) -> None:
    """Kind by kind; and nothing is kept where they have turned it off."""
    rig = make_rig(*hearing(told(left=0), says("Done.")), says("Done."), **settings)
    rig.run()
    assert bool(rig.client.exists(rig.kit.keys.kept)) is kept
    second = rig.run()
    waits = kept or "learned_limits" in settings
    assert rig.get(second).status is (Status.RUNNING if waits else Status.COMPLETED)
    if waits:
        entry = rig.journal(second)[MODEL_ENTRY]
        assert entry.awaits[0] == ("requests" if kept else "exhausted")


@pytest.mark.parametrize(
    "answer",
    [
        told(left=0, most=1, reset_s=1.0),
        told(left=0, most=10, reset_s=0.0),
        told(left=0, most=10**12),
        ToldLimits(limits=LearnedLimits(requests=1), left={"requests": 0}),
        ToldLimits(limits=LearnedLimits(requests=1), reset_s={"requests": 60.0}),
        told(left=10, most=10, reset_s=60.0),
    ],
    ids=["a second", "at once", "huge", "no time", "nothing left out", "all is left"],
)
def test_nonsense_stops_nobody(make_rig: MakeRig, answer: ToldLimits) -> None:
    """What is no limit of a minute is not kept. Other numbers than these a header does not become."""
    rig = make_rig(*hearing(answer, *[says("Done.")] * 3))
    for _ in range(3):
        task_id = rig.run()
        if rig.get(task_id).place == "timers":  # as long as the provider has said
            rig.cooled()
            fire(rig, task_id)
        assert rig.get(task_id).status is Status.COMPLETED
    assert not rig.client.exists(rig.kit.keys.kept)


def test_a_call_that_is_larger_than_the_limit_is_made_alone(make_rig: MakeRig) -> None:
    """A limit of one token lets one call through when nothing else counts."""
    rig = make_rig(*hearing(told(left=0, most=1, kind="input_tokens"), *[says("Done.")] * 2))
    rig.run()
    second = rig.run()
    assert rig.journal(second)[MODEL_ENTRY].awaits[0] == "input_tokens"
    window_over(rig)
    fire(rig, second)
    assert rig.get(second).status is Status.COMPLETED


def test_a_learned_limit_takes_what_is_expected(make_rig: MakeRig) -> None:
    """Not all that the reply may have: nobody waits for room that is not needed."""
    seen: list[int] = []

    def call(*_: Any) -> ModelReply:
        seen.append(used(rig, "output_tokens"))
        return says("Done.")

    rig = make_rig(*hearing(told(left=4_000, most=8_000, kind="output_tokens"), says("Done.")), call)
    rig.run()
    before = used(rig, "output_tokens")
    task_id = rig.run()
    assert rig.get(task_id).spec.max_tokens > 1_000
    assert seen == [before + 1_000]


def test_a_refusal_teaches_too(make_rig: MakeRig) -> None:
    """By the headers that came with it, before any reply did."""
    rig = make_rig(ModelFault(FaultKind.RATE_LIMITED, "too many", 600.0, told=told(left=0).model_dump()))
    rig.run()
    assert json.loads(rig.client.hget(rig.kit.keys.kept, GATE) or b"{}")["limits"] == {"requests": 10}
    assert used(rig) == 10


# --- over HTTP --------------------------------------------------------------------------------------------


@pytest.fixture
def api() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_the_last_of_what_is_allowed_is_used_and_nobody_is_refused(
    api: ScriptedServer, tmp_path: Path, provider: str
) -> None:
    """By the real headers of both APIs; and nobody has to find out when there is room again."""
    chat = provider == "openai"
    key = "sk-test-of-limits"
    rig = new_rig(tmp_path, OpenAIClient(f"{api.url}/v1", key) if chat else AnthropicClient(api.url, key))
    api.set_limit(RateLimit(4, 60.0))
    tasks = [rig.run("Say 1.", model="openai:scripted-1" if chat else "scripted-1") for _ in range(6)]
    assert [entry["outcome"] for entry in api.log()["entries"]] == ["completed"] * 4
    waiting = [task_id for task_id in tasks if rig.get(task_id).status is Status.RUNNING]
    assert [rig.journal(task_id)[MODEL_ENTRY].awaits for task_id in waiting] == [("requests", 0)] * 2
    assert not rig.client.exists(rig.kit.keys.cooling)
    rig.check()


# --- deaths ---------------------------------------------------------------------------------------------


def two_turns(make_rig: MakeRig, recorder: Recorder) -> tuple[Rig, str]:
    """A task of two turns whose first reply tells that little is left, up to its end or its death."""

    def script(request: Any, *_: Any) -> ModelReply:
        reply = says("Done.") if len(request.messages) > 1 else calls(("t1", "act", {}))
        return reply.model_copy(update={"told": told(left=50 - len(rig.model.requests), most=100)})

    rig = recorded(make_rig(*[script] * 5, extra=[FakeTool()]), recorder)
    task_id = rig.submit()
    try:
        rig.drain()
    except Killed:
        record = rig.get(task_id)
        rig = rig.recover(task_id) if record.place == "leases" else rig.reborn()
        if record.place == "outbox":
            rig.dispatcher.messages[:] = [(task_id, record.seq)]
        rig.drain()
    return rig, task_id


def points(make_rig: MakeRig) -> list[CrashPoint]:
    recorder = Recorder()
    two_turns(make_rig, recorder)
    return list(crash_points(recorder.calls))


def test_whenever_a_worker_dies_what_it_learned_is_counted_once(
    make_rig: MakeRig, announce: Callable[[str], None]
) -> None:
    """At both sides of each write and call: the task ends, and as much counts as the provider has counted."""
    all_points = points(make_rig)
    names = {point.call for point in all_points}
    assert {"TurnStore.learn_limits", "TurnStore.admit_call", "TurnStore.settle_call", "ModelClient.call"} <= names
    for point in all_points:
        rig, task_id = two_turns(make_rig, CrashInjector(point, killed))
        assert rig.get(task_id).status is Status.COMPLETED, point
        counted_by_them = 50 + len(rig.model.requests)
        resends = rig.get(task_id).counters.model_resends
        assert counted_by_them <= used(rig) <= counted_by_them + resends, point
        open_calls = [name for name in rig.client.hkeys(rig.kit.keys.gate(GATE)) if name.startswith(b"t:")]
        assert open_calls == [], point
        rig.check()
    announce(f"{len(all_points)} crash points of learned limits")
    assert len(all_points) >= 20

"""What a provider refuses for too many calls, over HTTP and the real SDK: how often all tasks together call it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.retry import OVERLOADED_DELAY_S, RATE_LIMITED_DEFAULT_S
from neuraphage.llm import AnthropicClient, OpenAIClient
from neuraphage.model.effect import MODEL_ENTRY
from neuraphage.model.task import Status
from neuraphage.testing.scripted_api import RateLimit, ScriptedServer
from turnkit import Rig, new_rig

TASKS = 4
NEAR_MS = 60_000


@pytest.fixture
def api() -> Iterator[ScriptedServer]:
    with ScriptedServer() as server:
        yield server


@pytest.fixture
def rig(api: ScriptedServer, tmp_path: Path) -> Iterator[Rig]:
    made = new_rig(tmp_path, AnthropicClient(api.url, "sk-test-of-refusals"))
    yield made
    made.check()


def outcomes(api: ScriptedServer) -> list[str]:
    return [entry["outcome"] for entry in api.log()["entries"]]


def come_due(rig: Rig, tasks: list[str]) -> None:
    """All that wait do so no longer, whatever for."""
    for task_id in tasks:
        if rig.client.zscore(rig.kit.keys.timers, task_id) is not None:
            rig.kit.due("timers", task_id)
    rig.sweep.timers(rig.store.now_ms())
    rig.drain()


@pytest.mark.parametrize(
    ("fault", "wait_s"),
    [
        ({"kind": "429", "retry_after": "600"}, 600.0),
        ({"kind": "429"}, RATE_LIMITED_DEFAULT_S),
        ({"kind": "529"}, OVERLOADED_DELAY_S),
        ({"kind": "529", "retry_after": "600"}, 600.0),
        ({"kind": "error_event"}, OVERLOADED_DELAY_S),
        ({"kind": "error_event", "error_type": "rate_limit_error"}, RATE_LIMITED_DEFAULT_S),
        ({"kind": "error_event", "after_events": 0}, OVERLOADED_DELAY_S),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else None,
)
def test_one_refusal_is_one_call(rig: Rig, api: ScriptedServer, fault: dict[str, Any], wait_s: float) -> None:
    """However many tasks wait: one is refused, one finds out when the provider's time is over, and then all go on."""
    api.set_fault(fault.pop("kind"), times=1, attempts=(), **fault)
    tasks = [rig.run(f"Say {number}.") for number in range(TASKS)]
    assert len(outcomes(api)) == 1
    due = [rig.client.zscore(rig.kit.keys.timers, task_id) or 0 for task_id in tasks]
    assert all(rig.store.now_ms() < at < rig.store.now_ms() + wait_s * 1000 + NEAR_MS for at in due)
    assert max(due) > rig.store.now_ms() + wait_s * 900
    come_due(rig, tasks)
    assert len(outcomes(api)) == 1, "a timer that comes too soon lets no call through"
    rig.retry_now(tasks[0])
    rig.drain()
    assert outcomes(api)[1:] == ["completed"]
    come_due(rig, tasks)
    assert {rig.get(task_id).status for task_id in tasks} == {Status.COMPLETED}
    assert outcomes(api)[1:] == ["completed"] * TASKS


def test_who_says_that_nothing_is_left_refuses_nothing(rig: Rig, api: ScriptedServer) -> None:
    """By the headers of a reply all wait until the provider's time, before anybody is refused."""
    api.set_limit(RateLimit(2, 600.0))
    tasks = [rig.run(f"Say {number}.") for number in range(TASKS)]
    assert outcomes(api) == ["completed"] * 2
    waits = [task_id for task_id in tasks if rig.get(task_id).status is Status.RUNNING]
    entries = [rig.journal(task_id)[MODEL_ENTRY] for task_id in waits]
    assert [(entry.state, entry.awaits[0]) for entry in entries] == [("planned", "exhausted")] * 2
    due = [rig.client.zscore(rig.kit.keys.timers, task_id) or 0 for task_id in waits]
    assert abs(min(due) - rig.store.now_ms() - 600_000) < NEAR_MS


def test_limits_of_our_own_go_before_what_is_left(api: ScriptedServer, tmp_path: Path) -> None:
    """They say when there is room again, and no call has to find out."""
    api.set_limit(RateLimit(2, 600.0))
    limited = new_rig(tmp_path, AnthropicClient(api.url, "sk-test-of-refusals"), model_limits=("scripted requests=2",))
    for number in range(TASKS):
        limited.run(f"Say {number}.")
    assert outcomes(api) == ["completed"] * 2
    assert not limited.client.exists(limited.kit.keys.cooling)
    limited.check()


def test_as_long_as_it_refuses_each_wait_costs_one_call(rig: Rig, api: ScriptedServer) -> None:
    """No matter how many wait; and none of them fails, since nothing is wrong with it."""
    api.set_fault("429", attempts=(), times=5, retry_after="600")
    tasks = [rig.run(f"Say {number}.") for number in range(TASKS)]
    for calls in range(1, 5):
        assert len(outcomes(api)) == calls
        rig.cooled()
        rig.retry_now(tasks[0])
        rig.drain()
        come_due(rig, tasks)
    assert outcomes(api) == ["fault:429"] * 5
    assert {rig.get(task_id).status for task_id in tasks} == {Status.RUNNING}
    attempts = [rig.journal(task_id)[MODEL_ENTRY].attempt for task_id in tasks]
    assert attempts == [5, 0, 0, 0]


@pytest.mark.parametrize("provider", ["anthropic", "openai"])
def test_a_request_of_too_many_bytes_goes_on_shorter(api: ScriptedServer, tmp_path: Path, provider: str) -> None:
    """A 413 costs one summary, as a 400 for length does, and the same request goes out again."""
    chat = provider == "openai"
    key = "sk-test-of-refusals"
    client = OpenAIClient(f"{api.url}/v1", key) if chat else AnthropicClient(api.url, key)
    rig = new_rig(tmp_path, client)
    task_id = rig.run("Say 1.", model="openai:scripted-1" if chat else "scripted-1")
    for number in (2, 3):
        rig.people.send(task_id, f"Say {number}. " + "word " * 8_000, key=str(number))
        rig.drain()
    api.set_fault("413", attempts=(), times=1)
    rig.people.send(task_id, "Say 4.", key="4")
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert outcomes(api) == [*["completed"] * 3, "fault:413", *["completed"] * 2]
    assert rig.kinds(task_id).count("ContextCompacted") == 1
    refused, again = api.log()["entries"][3], api.log()["entries"][5]
    assert (refused["request_id"], refused["attempt"]) == (again["request_id"], 1)
    rig.check()

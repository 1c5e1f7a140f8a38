"""A task whose model changes: by a person, or because it was refused; and what of its conversation travels."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from neuraphage.decide.model_ids import Provider
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient, RoutedClient
from neuraphage.model.model_choice import ModelChoice
from neuraphage.model.task import FailedDetail, Status
from neuraphage.store import queries
from neuraphage.testing.scripted_api import ScriptedReply, ScriptedServer, ScriptRequest, reply
from turnkit import Rig, calls, new_rig, says

MakeRig = Callable[..., Rig]
KEY = "sk-ant-test-key-0123456789"
LIST = ("list_directory", {"path": "."})


def refused(kind: FaultKind) -> ModelFault:
    """A call that fails before its reply."""
    return ModelFault(kind, "on order")


def changes(rig: Rig, task_id: str) -> list[dict[str, Any]]:
    """What the history says of changed models."""
    return [dict(e.data) for e in queries.events(rig.store.context, task_id) if e.kind == "ModelChanged"]


@pytest.mark.parametrize("kind", [FaultKind.NOT_FOUND, FaultKind.PERMISSION, FaultKind.AUTHENTICATION])
def test_a_refused_model_is_replaced_at_once_and_for_good(make_rig: MakeRig, kind: FaultKind) -> None:
    """By the next one of the list, for this call and all that follow; it is told once, with the reason."""
    rig = make_rig(refused(kind), calls(("t1", *LIST)), says("Done."))
    task_id = rig.run(model="first", fallbacks=("second", "third"), tier="worker")
    assert [request.model for request in rig.model.requests] == ["first", "second", "second"]
    record = rig.get(task_id)
    assert record.status is Status.COMPLETED
    assert record.choice == ModelChoice(model="second", fallbacks=("third",), tier="worker")
    assert (record.spec.model, record.spec.fallbacks) == ("first", ("second", "third"))
    said = {"model": "second", "tier": "worker", "by": "fallback", "from": "first", "reason": kind.value}
    assert changes(rig, task_id) == [said]
    assert record.counters.model_resends == 0


def test_an_overloaded_model_is_replaced_past_its_retries(make_rig: MakeRig) -> None:
    """The second one has retries of its own."""
    busy = refused(FaultKind.OVERLOADED)
    rig = make_rig(*[busy] * 4, busy, says("Done."))
    task_id = rig.run(model="first", fallbacks=("second",))
    while rig.get(task_id).place == "timers":
        rig.retry_now(task_id)
        rig.drain()
    assert [request.model for request in rig.model.requests] == ["first"] * 4 + ["second"] * 2
    assert rig.get(task_id).status is Status.COMPLETED


@pytest.mark.parametrize("kind", [FaultKind.BAD_REQUEST, FaultKind.TOO_LARGE, FaultKind.CONTEXT_OVERFLOW])
def test_a_fault_of_the_request_is_no_reason(make_rig: MakeRig, kind: FaultKind) -> None:
    """Another model would be sent the same."""
    rig = make_rig(refused(kind))
    task_id = rig.run(model="first", fallbacks=("second",))
    assert isinstance(rig.get(task_id).detail, FailedDetail)
    assert rig.get(task_id).choice.model == "first"


def test_the_last_one_fails_the_task(make_rig: MakeRig) -> None:
    """When the list is used up, the task fails as it would without one, and a person may go on with another model."""
    rig = make_rig(refused(FaultKind.NOT_FOUND), refused(FaultKind.PERMISSION), says("Done."))
    task_id = rig.run(model="first", fallbacks=("second",))
    detail = rig.get(task_id).detail
    assert isinstance(detail, FailedDetail)
    assert detail.recoverable
    rig.people.set_model(task_id, ModelChoice(model="third"), "the others are refused")
    rig.people.retry(task_id)
    rig.drain()
    assert rig.get(task_id).status is Status.COMPLETED
    assert [request.model for request in rig.model.requests] == ["first", "second", "third"]


def test_a_person_sets_another_one_in_the_midst(make_rig: MakeRig) -> None:
    """It holds from the next request on; the reason has no secrets."""
    secret = "sk-ant-" + "api03-" + "A1b2C3d4E5f6G7h8" * 3
    tasks: list[str] = []

    def changed(request: Any, on_delta: Any, interrupt: Any) -> Any:
        rig.people.set_model(tasks[0], ModelChoice(model="big", tier="expert"), f"stuck {secret}")
        return calls(("t1", *LIST))

    rig = make_rig(changed, says("Done."))
    tasks.append(rig.submit("Do it.", model="small", extra={"temperature": 0.5}))
    rig.drain()
    assert [request.model for request in rig.model.requests] == ["small", "big"]
    assert [request.extra for request in rig.model.requests] == [{"temperature": 0.5}] * 2
    (said,) = changes(rig, tasks[0])
    assert (said["model"], said["tier"], said["by"]) == ("big", "expert", "user")
    assert secret not in said["reason"]


def test_failed_turns_lead_to_the_next_tier(make_rig: MakeRig) -> None:
    """Once, with the reason, and written with the announcement of the request that goes to it."""
    bad = ("read_file", {"path": "not there"})
    rig = make_rig(calls(("t1", *bad)), calls(("t2", *bad)), calls(("t3", *bad)), says("Done."), escalate_after=2)
    task_id = rig.run(model="small", tier="cheap")
    assert [request.model for request in rig.model.requests] == ["small", "small", *["claude-sonnet-5-5"] * 2]
    record = rig.get(task_id)
    assert (record.choice.tier, record.choice.since_turn) == ("worker", 2)
    assert changes(rig, task_id) == [
        {
            "model": "claude-sonnet-5-5",
            "tier": "worker",
            "by": "failures",
            "from": "small",
            "reason": "2 turns in a row failed",
        }
    ]


def test_further_fields_are_for_one_api_alone(make_rig: MakeRig) -> None:
    """Those of one provider are refused by another."""
    rig = make_rig(refused(FaultKind.NOT_FOUND), says("Done."))
    rig.run(model="first", fallbacks=("openai:second",), extra={"thinking": {"type": "adaptive"}})
    assert [request.extra for request in rig.model.requests] == [{"thinking": {"type": "adaptive"}}, {}]


def test_what_cannot_travel_stays_in_the_record(tmp_path: Path) -> None:
    """From one API to another and back, over HTTP, by the rules of both: no request is refused on the way.

    Thoughts with their signatures and what tools of the provider left are sent to whom they are from, and to nobody
    else.
    """
    steps: list[ScriptedReply] = [
        reply(
            "I look.",
            thinking="Signed.",
            blocks=[
                {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []},
            ],
            tools=[LIST],
        ),
        reply("Once more.", thinking="Unsigned.", tools=[LIST]),
        reply("Done."),
    ]
    asked: list[ScriptRequest] = []

    def script(request: ScriptRequest) -> ScriptedReply:
        asked.append(request)
        models = ["openai:scripted-1", "scripted-1", "scripted-1"]
        rig.people.set_model(task_id, ModelChoice(model=models[request.turn]))
        return steps[request.turn]

    with ScriptedServer({"main": script}) as server:
        both: dict[Provider, Any] = {
            Provider.ANTHROPIC: AnthropicClient(server.url, KEY),
            Provider.OPENAI: OpenAIClient(f"{server.url}/v1", None),
        }
        rig = new_rig(tmp_path, RoutedClient(both, {}))
        task_id = rig.submit("Do it.", model="scripted-1")
        rig.drain()
        log = server.log()
    assert rig.get(task_id).status is Status.COMPLETED
    assert (log["totals"]["completed"], log["totals"]["refused"]) == (3, 0)
    kinds = [
        [block["type"] for message in request.body["messages"] for block in message["content"]] for request in asked
    ]
    assert kinds[1] == ["text", "text", "tool_use", "tool_result"], "to the other API: words, calls, results"
    assert [kind for kind in kinds[2] if kind in ("thinking", "server_tool_use", "web_search_tool_result")] == [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
    ], "back at the first one: its own, and not the thought of the other"
    stored = [block["type"] for entry in rig.entries(task_id) for block in entry["content"]]
    assert stored.count("thinking") == 2
    rig.check()

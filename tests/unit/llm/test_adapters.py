"""One list of cases for every adapter of a provider's API, each over real HTTP against the scripted server."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from neuraphage.decide.model_ids import Provider
from neuraphage.errors import CancelRequested, FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient, RoutedClient
from neuraphage.model.capacity import LearnedLimits
from neuraphage.model.message import ModelReply, ModelRequest
from neuraphage.model.usage import Usage
from neuraphage.ports import Delta, ModelClient
from neuraphage.testing.scripted_api import Pace, RateLimit, ScriptedServer, reply
from patience import PATIENCE_S

KEY = "sk-ant-test-key-0123456789"
TOOLS = [{"name": "bash", "description": "Runs.", "input_schema": {"type": "object", "properties": {}}}]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABh6FO1AAAAABJRU5ErkJggg=="
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}}


@dataclass
class Adapter:
    """An adapter under test.

    Args:
        model: an id that leads to it.
        make: a client of the scripted server, with timeouts in seconds.
    """

    model: str
    make: Callable[..., Any]


def anthropic(server: ScriptedServer) -> Adapter:
    return Adapter("scripted-1", lambda key=KEY, **timeouts: AnthropicClient(server.url, key, **timeouts))


def openai(server: ScriptedServer) -> Adapter:
    return Adapter("openai:scripted-1", lambda key=KEY, **timeouts: OpenAIClient(server.url + "/v1", key, **timeouts))


@pytest.fixture(params=[anthropic, openai], ids=lambda make: make.__name__)
def adapter(request: pytest.FixtureRequest, server: ScriptedServer) -> Adapter:
    made: Adapter = request.param(server)
    return made


@pytest.fixture
def client(adapter: Adapter) -> Iterator[ModelClient]:
    made = adapter.make(connect_timeout_s=5, read_timeout_s=20, call_timeout_s=30)
    yield made
    made.close()


@pytest.fixture
def ask(
    adapter: Adapter, client: ModelClient, interrupt: Any, make_request: Callable[..., ModelRequest]
) -> Callable[..., tuple[ModelReply, list[Delta]]]:
    """Call the model once: (reply, pieces)."""

    def run(prompt: str = "hi", **changes: Any) -> tuple[ModelReply, list[Delta]]:
        pieces: list[Delta] = []
        request = make_request(prompt, **({"model": adapter.model} | changes))
        return client.call(request, pieces.append, interrupt), pieces

    return run


@pytest.fixture
def fault(ask: Callable[..., Any]) -> Callable[..., ModelFault]:
    """The fault that one call ends in."""

    def run(**changes: Any) -> ModelFault:
        with pytest.raises(ModelFault) as caught:
            ask(**changes)
        return caught.value

    return run


def test_words_and_calls(ask, answers):
    """Text, then parallel calls in their order, each with its id and its parsed input."""
    answers.reply = reply(
        "Ünïcode 🎈 " * 20, tools=[("bash", {"command": "é\n" * 40}), ("bash", {}), ("read", {"n": [1]})]
    )
    got, _ = ask(tools=TOOLS)
    text, *calls = got.content
    assert text == {"type": "text", "text": "Ünïcode 🎈 " * 20}
    assert [(call["name"], call["input"]) for call in calls] == [
        ("bash", {"command": "é\n" * 40}),
        ("bash", {}),
        ("read", {"n": [1]}),
    ]
    assert len({call["id"] for call in calls}) == 3
    assert all(set(call) == {"type", "id", "name", "input"} and call["type"] == "tool_use" for call in calls)
    assert (got.stop_reason, got.invalid_inputs) == ("tool_use", {})
    assert got.message_id


def test_thoughts_are_told_apart_from_words(ask, answers):
    """A viewer gets thoughts, words and names of tools; the reply holds thoughts as a block of their own."""
    answers.reply = reply("one two three", thinking="hm hm", tools=[("bash", {"a": 1}), ("read", {})])
    got, pieces = ask(tools=TOOLS)
    shown = {kind: "".join(piece.text for piece in pieces if piece.kind == kind) for kind in ("thinking", "text")}
    assert shown == {"thinking": "hm hm", "text": "one two three"}
    assert [piece.text for piece in pieces if piece.kind == "tool"] == ["bash", "read"]
    assert [block["type"] for block in got.content] == ["thinking", "text", "tool_use", "tool_use"]
    assert got.content[0]["thinking"] == "hm hm"


def test_usage(ask, answers):
    """Tokens of the prompt that were read from a cache are counted apart."""
    usage = {
        "input_tokens": 11,
        "output_tokens": 22,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 44,
    }
    answers.reply = reply("x", usage=usage)
    assert ask()[0].usage == Usage(**usage)


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "refusal", "future_reason"])
def test_stop_reasons(ask, answers, reason):
    """Each in the words of the Messages API; an unknown one reaches the turn as it came."""
    answers.reply = reply("x", stop_reason=reason)
    assert ask()[0].stop_reason == reason


@pytest.mark.parametrize("raw", ['{"a": ', "[1]", '"text"', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}'])
def test_broken_input_is_kept_beside_the_call(ask, answers, raw):
    """Input that is no storable JSON object becomes {} and is told in invalid_inputs; the reply stands."""
    answers.reply = reply(tools=[("good", {"x": 1}), ("bad", raw)])
    good, bad = ask(tools=TOOLS)[0].content
    got = ask(tools=TOOLS)[0]
    assert (good["input"], bad["input"]) == ({"x": 1}, {})
    assert got.invalid_inputs == {bad["id"]: raw}


def test_a_call_that_was_cut_before_its_input(ask, answers):
    """That the model wanted no parameters would be a guess."""
    answers.reply = reply(tools=[("bash", "")], stop_reason="max_tokens")
    got = ask(tools=TOOLS)[0]
    assert got.invalid_inputs == {got.content[0]["id"]: ""}


def test_a_whole_conversation_goes_back(ask, answers, server):
    """A reply, the results of its calls, failed ones and such with an image among them, and more words of a person."""
    answers.reply = reply("use", thinking="hm", tools=[("bash", {"a": 1}), ("bash", {"a": 2})])
    first, _ = ask(tools=TOOLS)
    one, two = (block["id"] for block in first.content if block["type"] == "tool_use")
    content = [block for block in first.content if block["type"] != "thinking" or block["signature"]]
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": content},
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": one, "content": "exit 1", "is_error": True},
                {"type": "tool_result", "tool_use_id": two, "content": [{"type": "text", "text": "seen:"}, IMAGE]},
                {"type": "text", "text": "And this:"},
                IMAGE,
            ],
        },
    ]
    answers.reply = reply("ready")
    second, _ = ask(tools=TOOLS, messages=messages)
    assert (second.content, second.stop_reason) == ([{"type": "text", "text": "ready"}], "end_turn")
    assert [entry["turn"] for entry in server.log()["entries"]] == [0, 1]


def test_the_same_request_gets_the_same_reply(ask, answers, server):
    """A call that is sent again is the same request, byte for byte, under the same id."""
    answers.reply = reply("x", tools=[("bash", {})])
    first, second = ask()[0], ask()[0]
    assert (first.content, first.message_id, first.usage) == (second.content, second.message_id, second.usage)
    assert [(entry["attempt"], entry["request_id"]) for entry in server.log()["entries"]] == [
        (1, "req-1"),
        (2, "req-1"),
    ]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        ("400", FaultKind.BAD_REQUEST),
        ("401", FaultKind.AUTHENTICATION),
        ("403", FaultKind.PERMISSION),
        ("404", FaultKind.NOT_FOUND),
        ("413", FaultKind.CONTEXT_OVERFLOW),
        ("422", FaultKind.BAD_REQUEST),
        ("429", FaultKind.RATE_LIMITED),
        ("500", FaultKind.SERVER_ERROR),
        ("529", FaultKind.OVERLOADED),
    ],
)
def test_statuses(fault, server, status, kind):
    """Each has its kind, its wait, its words, and reaches the server once."""
    server.set_fault(status, retry_after="7", message="said by the server")
    found = fault()
    assert (found.kind, found.retry_after_s, found.usage) == (kind, 7.0, None)
    assert "said by the server" in found.detail
    assert server.log()["totals"]["received"] == 1


@pytest.mark.parametrize(
    ("kind", "expected", "begun"),
    [
        ("drop", FaultKind.NETWORK, False),
        ("cut", FaultKind.NETWORK, True),
        ("garbage", FaultKind.GARBAGE, True),
        ("truncated", FaultKind.TRUNCATED, True),
        ("error_event", FaultKind.OVERLOADED, True),
    ],
)
def test_faults_of_the_stream(fault, server, answers, kind, expected, begun):
    """A reply that breaks is never taken for a whole one; whether it had begun is told, since it may be billed."""
    answers.reply = reply("a longer answer " * 20)
    server.set_fault(kind)
    found = fault()
    assert (found.kind, found.reply_begun) == (expected, begun)
    assert server.log()["totals"]["received"] == 1


def test_silence_and_the_deadline(adapter, server, answers, interrupt, make_request):
    """Neither a server that falls silent nor one that never comes to an end holds a thread for longer than it may."""
    answers.reply = reply("word " * 400)
    server.set_fault("stall", attempts=())
    request = make_request(model=adapter.model)
    with pytest.raises(ModelFault) as silent:
        adapter.make(read_timeout_s=0.3).call(request, lambda _: None, interrupt)
    with pytest.raises(ModelFault) as late:
        adapter.make(read_timeout_s=PATIENCE_S, call_timeout_s=0.5).call(request, lambda _: None, interrupt)
    assert (silent.value.kind, late.value.kind) == (FaultKind.TIMEOUT, FaultKind.TIMEOUT)
    assert "not over after 0.5 s" in late.value.detail


def test_an_interrupt_hangs_up_in_mid_stream(adapter, client, server, answers, interrupt, make_request):
    """At once, and the server sees it."""
    answers.reply = reply("word " * 400)
    server.set_fault("stall")
    ended: list[BaseException] = []

    def run() -> None:
        try:
            client.call(make_request(model=adapter.model), lambda _: interrupt.pull(), interrupt)
        except BaseException as error:
            ended.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    (cancelled,) = ended
    assert isinstance(cancelled, CancelRequested)
    assert cancelled.usage is not None  # the reply had begun
    assert (cancelled.usage["input_tokens"] > 0) is (adapter.model == "scripted-1")  # the other tells at its end
    deadline_s = time.monotonic() + PATIENCE_S
    while server.log()["entries"][-1]["outcome"] == "open" and time.monotonic() < deadline_s:
        time.sleep(0.01)
    assert server.log()["entries"][-1]["outcome"] == "closed_by_client"
    assert interrupt.subscriptions == 0


def test_nothing_is_sent_for_a_task_that_is_cancelled(adapter, client, server, interrupt, make_request):
    """The interrupt is asked before the first byte."""
    interrupt.pull()
    with pytest.raises(CancelRequested) as caught:
        client.call(make_request(model=adapter.model), lambda _: None, interrupt)
    assert caught.value.usage is None
    assert server.log()["totals"]["received"] == 0


def test_a_server_that_is_not_there(adapter, interrupt, make_request):
    """A refused connection is a fault of the network; the address is in it."""
    with ScriptedServer() as gone:
        refused = anthropic(gone) if adapter.model == "scripted-1" else openai(gone)
    with pytest.raises(ModelFault) as caught:
        refused.make(connect_timeout_s=5).call(make_request(model=adapter.model), lambda _: None, interrupt)
    assert (caught.value.kind, caught.value.reply_begun) == (FaultKind.NETWORK, False)


@pytest.mark.parametrize(
    "message",
    [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        "request (9001 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "The number of tokens to keep from the initial prompt is greater than the context length.",
    ],
)
def test_a_conversation_that_is_too_long(fault, server, message):
    """Known by the words of each server."""
    server.set_fault("400", message=message)
    assert fault().kind is FaultKind.CONTEXT_OVERFLOW


def test_the_key_is_in_no_fault(fault, server):
    """Whatever a server answers."""
    server.set_fault("400", message=f"you sent {KEY} to me")
    found = fault()
    assert KEY not in found.detail
    assert "[api key]" in found.detail


def test_what_the_server_allows_is_told_with_the_reply(adapter, client, server, interrupt, make_request):
    """By the headers of its API."""
    assert client.call(make_request(model=adapter.model), lambda _: None, interrupt).told is None
    server.set_limit(RateLimit(7, 60.0))
    told = client.call(make_request(model=adapter.model), lambda _: None, interrupt).told
    assert (told.limits, told.left) == (LearnedLimits(requests=7), {"requests": 6})
    assert 0.0 < told.reset_s["requests"] <= 61.0
    server.set_limit(RateLimit(1, 60.0))
    client.call(make_request(model=adapter.model), lambda _: None, interrupt)
    with pytest.raises(ModelFault) as refused:
        client.call(make_request(model=adapter.model), lambda _: None, interrupt)
    assert refused.value.told["left"] == {"requests": 0}


def test_a_failing_viewer_does_not_fail_the_call(adapter, client, interrupt, make_request, answers):
    """An exception of on_delta ends the pieces, not the paid call."""
    answers.reply = reply("word " * 50)
    seen: list[Delta] = []

    def broken(piece: Delta) -> None:
        seen.append(piece)
        raise RuntimeError("viewer is gone")

    got = client.call(make_request(model=adapter.model), broken, interrupt)
    assert got.content[0]["text"] == "word " * 50
    assert len(seen) == 1


def test_a_forked_child_calls_on_its_own_connections(adapter, client, interrupt, make_request, server):
    """After a fork the child makes its own SDK client and both processes go on calling."""
    client.call(make_request("parent", model=adapter.model), lambda _: None, interrupt)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said: dict[str, Any] = {}
        try:
            fresh = not (getattr(client, "_sdk", None) or getattr(client, "_sdks", None))
            got = client.call(make_request("child", model=adapter.model), lambda _: None, interrupt)
            said = {"fresh": fresh, "stop": got.stop_reason}
        finally:
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(reading, 1000)) == {"fresh": True, "stop": "end_turn"}
    client.call(make_request("parent again", model=adapter.model), lambda _: None, interrupt)
    assert server.log()["totals"]["completed"] == 3


def test_a_slow_reply_is_followed_as_it_comes(adapter, client, answers, interrupt, make_request, tmp_path):
    """Pieces are given while the rest is still to come, keep-alives between them are none."""
    go_on = tmp_path / "go on"
    answers.reply = reply("word " * 40, pace=Pace(until=go_on))

    def first(_: Delta) -> None:
        go_on.touch()

    assert client.call(make_request(model=adapter.model), first, interrupt).content[0]["text"] == "word " * 40


def test_the_router_chooses_by_the_prefix(server, answers, interrupt, make_request):
    """Both at once; what is not there is said, with what to do, and nothing is sent anywhere."""
    clients = {Provider.ANTHROPIC: anthropic(server).make(), Provider.OPENAI: openai(server).make()}
    both = RoutedClient(clients, {})
    ids = ("scripted-1", "anthropic:scripted-1", "openai:scripted-1")
    told = [both.call(make_request(model=model), lambda _: None, interrupt) for model in ids]
    assert [one.model for one in told] == ["scripted-1", "scripted-1", "openai:scripted-1"]
    assert [one.message_id.partition("-")[0].partition("_")[0] for one in told] == ["msg", "msg", "chatcmpl"]
    one = RoutedClient({}, {Provider.OPENAI: "set a key"})
    with pytest.raises(ModelFault, match="openai:x: set a key") as caught:
        one.call(make_request(model="openai:x"), lambda _: None, interrupt)
    assert caught.value.kind is FaultKind.AUTHENTICATION
    assert server.log()["totals"]["received"] == 3

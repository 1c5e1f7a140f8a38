"""What a whole reply holds."""

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from neuraphage.decide.tool_input import InputFault, parse_input
from neuraphage.errors import BadInput, FaultKind, ModelFault
from neuraphage.llm import AnthropicClient
from neuraphage.llm.collect import ReplyCollector
from neuraphage.model.message import ModelRequest
from neuraphage.model.usage import Usage
from neuraphage.testing.scripted_api import Pace, ScriptedServer, reply
from patience import PATIENCE_S


def test_blocks_arrive_verbatim(call, answers):
    """Thinking with signature, redacted thinking, unknown blocks, text and tool input come as they were sent."""
    unknown = {"type": "hologram", "depth": [1, {"z": None}]}
    redacted = {"type": "redacted_thinking", "data": "c2VjcmV0"}
    answers.reply = reply(
        "Ünïcode 🎈 " * 20,
        thinking="step by step " * 9,
        blocks=[redacted, unknown],
        tools=[("bash", {"command": "é\n"})],
    )
    got, _ = call()
    thinking, *rest, text, tool = got.content
    assert thinking == answers.reply.blocks[0]
    assert rest == [redacted, unknown]
    assert text == {"type": "text", "text": "Ünïcode 🎈 " * 20}
    assert (tool["type"], tool["name"], tool["input"]) == ("tool_use", "bash", {"command": "é\n"})
    assert tool["id"].startswith("toolu_")
    assert got.stop_reason == "tool_use"
    assert got.invalid_inputs == {}
    assert got.message_id.startswith("msg_")
    assert got.model == "scripted-1"


def test_usage_counts_of_the_last_event_win(call, answers):
    """Usage is the total of message_delta, cache tokens with it."""
    usage = {
        "input_tokens": 11,
        "output_tokens": 22,
        "cache_creation_input_tokens": 33,
        "cache_read_input_tokens": 44,
    }
    answers.reply = reply("x", usage=usage)
    got, _ = call()
    assert got.usage == Usage(**usage)


@pytest.mark.parametrize(
    "reason",
    [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "pause_turn",
        "refusal",
        "model_context_window_exceeded",
        "future_reason",
    ],
)
def test_every_stop_reason_passes_through(call, answers, reason):
    """Known and unknown stop reasons reach the turn as text."""
    answers.reply = reply("x", stop_reason=reason)
    assert call()[0].stop_reason == reason


def test_pieces_are_shown_in_order(call, answers):
    """Viewers get thinking, text and the names of tools, nothing else."""
    answers.reply = reply("one two three", thinking="hm hm", tools=[("bash", {"a": 1}), ("read", {})])
    _, pieces = call()
    assert "".join(piece.text for piece in pieces if piece.kind == "thinking") == "hm hm"
    assert "".join(piece.text for piece in pieces if piece.kind == "text") == "one two three"
    assert [piece.text for piece in pieces if piece.kind == "tool"] == ["bash", "read"]
    assert {piece.kind for piece in pieces} == {"thinking", "text", "tool"}


def test_a_failing_viewer_does_not_fail_the_call(client, interrupt, make_request, answers):
    """An exception of on_delta ends the pieces, not the paid call."""
    answers.reply = reply("word " * 50)
    seen = []

    def broken(piece):
        seen.append(piece)
        raise RuntimeError("viewer is gone")

    assert client.call(make_request(), broken, interrupt).content[0]["text"] == "word " * 50
    assert len(seen) == 1


@pytest.mark.parametrize(
    "raw", ['{"a": ', "[1]", '"text"', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "{" * 100_000]
)
def test_broken_tool_input_is_kept_beside_the_block(call, answers, raw):
    """Input that is no storable JSON object becomes {} and is told in invalid_inputs; the call succeeds."""
    answers.reply = reply(tools=[("good", {"x": 1}), ("bad", raw)])
    got, _ = call()
    good, bad = got.content
    assert good["input"] == {"x": 1}
    assert set(bad) == {"type", "id", "name", "input"}
    assert bad["input"] == {}
    assert got.invalid_inputs == {bad["id"]: raw}


def test_integers_that_cannot_be_stored_are_no_valid_input():
    """An integer over 64 bits would break the store's encoder; it counts as broken input."""
    assert parse_input('{"n": 18446744073709551615}') == {"n": 18446744073709551615}
    assert parse_input('{"n": 18446744073709551616}') is InputFault.NUMBER


def test_split_surrogates_are_joined():
    """A character whose two halves came in two deltas is one character; a lone half is replaced."""
    collector = ReplyCollector(lambda _: None)
    collector.take({"type": "message_start", "message": {"id": "m", "model": "x", "usage": {}}})
    collector.take({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for half in ("\ud83c", "\udf88", "\ud800"):
        collector.take({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": half}})
    collector.take({"type": "content_block_stop", "index": 0})
    assert collector.content == [{"type": "text", "text": "🎈\ufffd"}]


def test_request_reaches_the_server_as_it_is(call, server):
    """The request id is a header; body fields of `extra` and tools pass through the API's own checks."""
    tools = [{"name": "bash", "description": "d", "input_schema": {"type": "object", "properties": {}}}]
    call(tools=tools, extra={"stop_sequences": ["END"], "thinking": {"type": "adaptive"}})
    (entry,) = server.log()["entries"]
    assert entry["request_id"] == "req-1"
    assert entry["outcome"] == "completed"


def test_a_conversation_with_thinking_and_tools_goes_back(call, answers):
    """A reply sent back with its tool results passes the API's rules, signature and breakpoints included."""
    answers.reply = reply("use", thinking="hm", tools=[("bash", {"a": 1})])
    tools = [{"name": "bash", "input_schema": {"type": "object"}}]
    asked = {"role": "user", "content": "go on " * 1_000}  # shorter prompts are not cached
    first, _ = call(tools=tools, messages=[asked])
    result = {"type": "tool_result", "tool_use_id": first.content[-1]["id"], "content": "done"}
    messages = [
        asked,
        {"role": "assistant", "content": first.content},
        {"role": "user", "content": [result]},
    ]
    answers.reply = reply("ready")
    second, _ = call(tools=tools, messages=messages)
    assert second.stop_reason == "end_turn"
    assert second.usage.cache_read_input_tokens > 0
    assert second.usage.cache_creation_input_tokens > 0
    assert second.usage.input_tokens == 0


def test_a_request_is_counted_as_it_is_sent(call, server):
    """The provider's count without a reply is that of the call; where nobody answers, a fault without the key."""
    key = "sk-ant-counted-0123456789"
    parts = {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Count this."}]}],
        "tools": [{"name": "bash", "input_schema": {"type": "object"}}],
    }
    request = ModelRequest(request_id="r", model="scripted-1", max_tokens=9, extra={"stop_sequences": ["x"]}, **parts)
    sent, _ = call(**parts)
    assert AnthropicClient(server.url, key).count_tokens(request) == sent.usage.request_tokens > 0
    with pytest.raises(ModelFault) as caught:
        AnthropicClient("http://127.0.0.1:1", key).count_tokens(request)
    assert caught.value.kind is FaultKind.NETWORK
    assert key not in str(caught.value)
    assert caught.value.__cause__ is None


def test_the_same_request_gets_the_same_reply(call, answers):
    """A call that is sent again is answered alike, ids included."""
    answers.reply = reply("x", tools=[("bash", {})])
    first, second = call()[0], call()[0]
    assert (first.content, first.message_id, first.usage) == (second.content, second.message_id, second.usage)


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "ключ"])
def test_a_key_that_is_no_header_is_refused_without_showing_it(key):
    """A broken key is named as such at once, and its text stays out of the error."""
    with pytest.raises(BadInput) as caught:
        AnthropicClient("http://127.0.0.1:1", key)
    assert not key or key not in str(caught.value)


def test_a_forked_child_calls_on_its_own_connections(client, interrupt, make_request, server):
    """After a fork the child makes its own SDK client and both processes go on calling."""
    client.call(make_request("parent"), lambda _: None, interrupt)
    parents = client._connected()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        said = {}
        try:
            fresh = not client._sdks
            got = client.call(make_request("child"), lambda _: None, interrupt)
            said = {"fresh": fresh, "stop": got.stop_reason}
        finally:
            os.write(writing, json.dumps(said).encode())
            os._exit(0)
    os.waitpid(child, 0)
    assert json.loads(os.read(reading, 1000)) == {"fresh": True, "stop": "end_turn"}
    assert client._connected() is parents
    client.call(make_request("parent again"), lambda _: None, interrupt)
    assert server.log()["totals"]["completed"] == 3


def test_two_servers_do_not_mix(interrupt, make_request):
    """The base URL given wins over the environment's."""
    with ScriptedServer({"a": lambda _: reply("A")}) as one, ScriptedServer({"b": lambda _: reply("B")}) as two:
        texts = [
            AnthropicClient(each.url, "k").call(make_request(), lambda _: None, interrupt).content[0]["text"]
            for each in (one, two)
        ]
    assert texts == ["A", "B"]


def test_128_calls_at_once_share_one_client(client, interrupt, make_request, answers, server):
    """Threads do not wait for each other's connections, and every call gets its own reply."""
    answers.reply = reply("x", pace=Pace(first_byte_delay_s=0.2))
    gate = threading.Barrier(128, timeout=PATIENCE_S)

    def run(number):
        gate.wait()
        return client.call(make_request(str(number)), lambda _: None, interrupt).message_id

    with ThreadPoolExecutor(128) as pool:
        ids = list(pool.map(run, range(128)))
    assert len(set(ids)) == 128
    assert server.log()["totals"]["completed"] == 128


def test_calls_leave_no_socket_and_no_thread(client, interrupt, make_request):
    """Each call gives back its descriptors and its deadline's thread."""

    def open_now():
        names = {thread.name for thread in threading.enumerate()}
        return len(list(Path("/proc/self/fd").iterdir())), "neuraphage-llm-deadline" in names

    client.call(make_request(), lambda _: None, interrupt)
    before, _ = open_now()
    for _ in range(20):
        client.call(make_request(), lambda _: None, interrupt)
    # The server's side of the last connection may still be closing, so a few are allowed; 20 leaks are not.
    assert open_now()[0] < before + 10
    for _ in range(2_000):
        if not open_now()[1]:
            return
        threading.Event().wait(0.005)
    raise AssertionError("the deadline's thread outlives the call")

"""What the scripted API answers, and the exact order in which it streams."""

# ruff: noqa: E501 - the golden stream is kept as it is on the wire

import json

import anthropic
import httpx2
import pytest
from anthropic.types import Message, RawMessageStreamEvent
from pydantic import TypeAdapter

from neuraphage.testing.scripted_api import ScriptedServer, ScriptRequest, reply
from neuraphage.testing.scripted_api.message import events_of, message_of, sse

BODY = {"model": "scripted-1", "max_tokens": 100, "messages": [{"role": "user", "content": "hi"}]}
HEADERS = {"x-api-key": "k", "anthropic-version": "2023-06-01"}
TOOLS = [{"name": name, "input_schema": {"type": "object"}} for name in ("bash", "read")]

GOLDEN = """\
event: message_start
data: {"type":"message_start","message":{"id":"msg_hash","type":"message","role":"assistant","model":"scripted-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"Hm"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig_f21e9c66b9500bcc5f48d74878fee5a906778f7308c0c7f0c13ee7240a5645be"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hello, wo"}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"rld"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_hash","name":"ls","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\\"p\\":\\"/\\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":9,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

"""


def test_golden_stream():
    """The order and shape of every event, as the API's documentation shows them."""
    request = ScriptRequest.of(BODY)
    answer = reply(
        "Hello, world", thinking="Hm", tools=[("ls", {"p": "/"})], usage={"input_tokens": 9, "output_tokens": 7}
    )
    message = message_of(request, answer)
    wire = b"".join(sse(event) for event in events_of(message, chunk_chars=9)).decode()
    wire = wire.replace(message["id"], "msg_hash").replace(message["content"][2]["id"], "toolu_hash")
    assert wire == GOLDEN


def test_messages_and_events_fit_the_sdk_types():
    """The SDK's own types, checked strictly, take the message and each event."""
    answer = reply("x" * 50, thinking="y", tools=[("bash", {"a": [1]})])
    message = message_of(ScriptRequest.of(BODY), answer)
    Message.model_validate(message)
    adapter = TypeAdapter(RawMessageStreamEvent)
    for event in events_of(message, 10):
        if event["type"] != "ping":
            assert adapter.validate_python(event).type == event["type"]


def _round(sdk, messages):
    with sdk.messages.stream(model="scripted-1", max_tokens=100, messages=messages, tools=TOOLS) as stream:
        return stream.get_final_message()


def test_an_agent_loop(sdk):
    """A script that follows the turns leads the real SDK through two tools to an answer."""
    messages = [{"role": "user", "content": "[script:agent] go"}]
    for result in ("README.md", "text of the file"):
        message = _round(sdk, messages)
        assert message.stop_reason == "tool_use"
        (call,) = [block for block in message.content if block.type == "tool_use"]
        messages.append(
            {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in message.content]}
        )
        messages.append(
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": result}]}
        )
    assert call.input == {"path": "README.md"}
    final = _round(sdk, messages)
    assert final.content[0].text == "README.md; text of the file"


def test_stream_and_whole_answer_agree(sdk):
    """Both ways of asking give the same message."""
    messages = [{"role": "user", "content": "[script:agent] go"}]
    whole = sdk.messages.create(model="scripted-1", max_tokens=100, messages=messages, tools=TOOLS)
    streamed = _round(sdk, messages)
    assert streamed.content == whole.content or [b.to_dict() for b in streamed.content] == [
        b.to_dict() for b in whole.content
    ]
    assert (streamed.id, streamed.usage.to_dict()) == (whole.id, whole.usage.to_dict())


def test_a_replay_is_byte_identical_on_any_server(server, scripts):
    """The same body gives the same bytes again, on a server that has just started too; another body does not."""
    body = {**BODY, "stream": True}

    def raw(url, sent):
        return httpx2.post(f"{url}/v1/messages", json=sent, headers=HEADERS).content

    first = raw(server.url, body)
    assert b"message_stop" in first
    assert raw(server.url, body) == first
    with ScriptedServer(scripts, default="hello") as other:
        assert raw(other.url, body) == first
    assert raw(server.url, {**body, "max_tokens": 101}) != first


@pytest.mark.parametrize("place", ["system", "system blocks", "prompt", "prompt blocks"])
def test_the_marker_is_found(sdk, place):
    """The script is named in the system prompt or in the first user message, plain or in blocks."""
    marker = "do it [script:agent] please"
    blocks = [{"type": "text", "text": marker}]
    system = {"system": marker, "system blocks": blocks}.get(place, "plain")
    prompt = {"prompt": marker, "prompt blocks": blocks}.get(place, "hi")
    message = sdk.messages.create(
        model="m", max_tokens=9, system=system, tools=TOOLS, messages=[{"role": "user", "content": prompt}]
    )
    assert message.content[-1].name == "bash"


def test_without_scripts_it_echoes():
    """A server without scripts answers with what it was told."""
    with ScriptedServer() as server, anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=0) as sdk:
        message = sdk.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "ping pong"}])
    assert message.content[0].text == "You said: ping pong"


def test_a_script_that_fails_is_a_500(sdk):
    """A bug in a script is told as such."""
    with pytest.raises(anthropic.InternalServerError, match="a bug in the script"):
        sdk.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": "[script:broken]"}])


def test_count_tokens_is_the_prompt_of_the_usage(sdk):
    """Both endpoints count alike."""
    messages = [{"role": "user", "content": "four score and seven years ago"}]
    counted = sdk.messages.count_tokens(model="m", messages=messages, system="be brief")
    message = sdk.messages.create(model="m", max_tokens=9, messages=messages, system="be brief")
    assert counted.input_tokens == message.usage.input_tokens > 0


def test_cache_fields_follow_the_breakpoint(sdk):
    """Written the first time; read when the next turn's request begins with it; the rest at full price."""
    long = {"type": "text", "text": "long prompt " * 2_000, "cache_control": {"type": "ephemeral"}}
    first = sdk.messages.create(model="m", max_tokens=9, messages=[{"role": "user", "content": [long]}]).usage
    assert (first.input_tokens, first.cache_read_input_tokens) == (0, 0)
    assert first.cache_creation_input_tokens > 4_096
    messages = [
        {"role": "user", "content": [{**long, "cache_control": None}]},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": [{**long, "text": "new"}, {"type": "text", "text": "after the mark"}]},
    ]
    second = sdk.messages.create(model="m", max_tokens=9, messages=messages).usage
    assert second.cache_read_input_tokens == first.cache_creation_input_tokens
    assert 0 < second.cache_creation_input_tokens < 50
    assert 0 < second.input_tokens < 50
    assert second.cache_creation.ephemeral_5m_input_tokens == second.cache_creation_input_tokens


def test_the_hash_leaves_out_what_does_not_change_the_answer():
    """Streaming or not, and metadata, make no other request; everything else does."""
    base = ScriptRequest.of(BODY).request_hash
    assert ScriptRequest.of({**BODY, "stream": True, "metadata": {"user_id": "u"}}).request_hash == base
    assert ScriptRequest.of(json.loads(json.dumps(BODY))).request_hash == base
    for change in ({"max_tokens": 1}, {"model": "x"}, {"system": "s"}, {"tools": TOOLS}):
        assert ScriptRequest.of({**BODY, **change}).request_hash != base

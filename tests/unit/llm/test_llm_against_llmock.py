"""Every adapter against llmock, a server written by others, so that our fake does not only agree with us."""

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm import AnthropicClient, OpenAIClient

TOOLS = [
    {
        "name": "get_weather",
        "description": "Weather of a city.",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }
]


MODELS = {"anthropic": "scripted-1", "openai": "openai:gpt-5"}


@pytest.fixture(params=MODELS)
def provider(request):
    """Whose API is spoken."""
    return request.param


@pytest.fixture
def connect(llmock, provider):
    """A client of llmock."""
    kind = {"anthropic": AnthropicClient, "openai": OpenAIClient}[provider]
    return lambda **timeouts: kind(llmock.base_url(provider), "llmock-key", **timeouts)


@pytest.fixture
def ask(connect, provider, interrupt, make_request):
    """Call llmock once."""
    client = connect(read_timeout_s=10, call_timeout_s=20)

    def run(**changes):
        return client.call(make_request(**({"model": MODELS[provider]} | changes)), lambda _: None, interrupt)

    yield run
    client.close()


def test_text(llmock, ask):
    """A streamed text arrives whole, with usage and a stop reason."""
    llmock.reply("The weather is fine.")
    got = ask()
    assert got.content == [{"type": "text", "text": "The weather is fine."}]
    assert got.stop_reason == "end_turn"
    assert got.usage.input_tokens > 0
    assert got.usage.output_tokens > 0


def test_a_tool_round(llmock, ask):
    """A tool call arrives with parsed input, and its result goes back."""
    llmock.call_tool("get_weather", {"city": "Lima"})
    first = ask(tools=TOOLS)
    (call,) = [block for block in first.content if block["type"] == "tool_use"]
    assert (call["name"], call["input"], first.stop_reason) == ("get_weather", {"city": "Lima"}, "tool_use")
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": "sunny"}
    llmock.reply("Sunny in Lima.")
    second = ask(
        tools=TOOLS,
        messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": first.content},
            {"role": "user", "content": [result]},
        ],
    )
    assert second.content == [{"type": "text", "text": "Sunny in Lima."}]


def test_broken_tool_input(llmock, ask):
    """llmock's malformed arguments end as invalid_inputs, not as a failed call."""
    llmock.call_tool("get_weather", {"city": "Lima"})
    llmock.break_tool_call("malformed_arguments")
    got = ask(tools=TOOLS)
    (call,) = [block for block in got.content if block["type"] == "tool_use"]
    assert call["input"] == {}
    assert list(got.invalid_inputs) == [call["id"]]


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FaultKind.BAD_REQUEST),
        (401, FaultKind.AUTHENTICATION),
        (403, FaultKind.PERMISSION),
        (404, FaultKind.NOT_FOUND),
        (429, FaultKind.RATE_LIMITED),
        (500, FaultKind.SERVER_ERROR),
        (503, FaultKind.OVERLOADED),
        (529, FaultKind.OVERLOADED),
    ],
)
def test_statuses(llmock, ask, status, kind):
    """Each status has its kind and reaches the server once."""
    llmock.fail(status, retry_after=2)
    with pytest.raises(ModelFault) as caught:
        ask()
    assert caught.value.kind is kind
    assert caught.value.retry_after_s == 2.0
    assert len(llmock.requests) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [("disconnect", FaultKind.NETWORK), ("truncate", FaultKind.TRUNCATED), ("corrupt", FaultKind.GARBAGE)],
)
def test_stream_faults(llmock, ask, fault, kind):
    """A stream that breaks is never taken for a reply, by llmock's own judgement too."""
    llmock.reply("a longer answer that takes several chunks to stream")
    getattr(llmock, fault)(after_chunks=2)
    with pytest.raises(ModelFault) as caught:
        ask()
    assert caught.value.kind is kind


def test_a_stall(llmock, connect, provider, interrupt, make_request):
    """Silence in mid-stream is a timeout."""
    llmock.stall(after_chunks=2, seconds=20)
    with pytest.raises(ModelFault) as caught:
        connect(read_timeout_s=0.2).call(make_request(model=MODELS[provider]), lambda _: None, interrupt)
    assert caught.value.kind is FaultKind.TIMEOUT

"""Streams as servers of Chat Completions were seen to send them, each with the public report that it is from."""

from __future__ import annotations

import json
from typing import Any

import pytest

from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.chat.collect import DONE, ChatCollector
from neuraphage.model.usage import Usage


def chunk(delta: Any = None, finish: Any = None, **fields: Any) -> dict[str, Any]:
    """One chunk."""
    return {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **fields}


def piece(arguments: Any = None, *, index: Any = 0, call_id: Any = None, name: Any = None) -> dict[str, Any]:
    """A chunk with one piece of a call; what is None is left out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    given = {"index": index, "id": call_id, "function": function}
    return chunk({"tool_calls": [{key: value for key, value in given.items() if value is not None}]})


def folded(*chunks: Any, asked: str = "openai:m") -> ChatCollector:
    """What they fold to."""
    collector = ChatCollector(lambda _: None, asked)
    for one in (*chunks, DONE):
        collector.take(one)
    return collector


def calls(*chunks: Any) -> list[tuple[str, dict[str, Any]]]:
    """Names and inputs of the calls."""
    got = folded(*chunks, chunk({}, "tool_calls"))
    assert got.invalid_inputs == {}
    assert len({block["id"] for block in got.content}) == len(got.content), "ids are unique"
    assert all(block["id"] for block in got.content), "and not empty"
    return [(block["name"], block["input"]) for block in got.content]


READ_A, READ_B = ("read", {"path": "a"}), ("read", {"path": "b"})
A, B = json.dumps(READ_A[1]), json.dumps(READ_B[1])

TWO_CALLS = {
    "by the documentation, interleaved (Qwen-Agent 943)": (
        piece("", call_id="1", name="read"),
        piece("", index=1, call_id="2", name="read"),
        piece(A[:5]),
        piece(B[:5], index=1),
        piece(A[5:]),
        piece(B[5:], index=1),
    ),
    "every call has index 0 (ollama 15457, vercel/ai 14277)": (
        piece(A, call_id="1", name="read"),
        piece(B, call_id="2", name="read"),
    ),
    "index 0, in pieces without an id (dynamo 4723, lmdeploy 3412)": (
        piece("", call_id="1", name="read"),
        piece(A, call_id=""),
        piece("", call_id="2", name="read"),
        piece(B, call_id=""),
    ),
    "no index at all (ollama 7881)": (
        piece(A, index=None, call_id="1", name="read"),
        piece(B, index=None, call_id="2", name="read"),
    ),
    "no index, in pieces": (
        piece("", index=None, call_id="1", name="read"),
        piece(A, index=None),
        piece("", index=None, call_id="2", name="read"),
        piece(B, index=None),
    ),
    "neither ids nor places (smolagents 1958)": (piece(A, name="read"), piece(B, name="read")),
    "empty ids (lmstudio 830)": (
        piece(A, call_id="", name="read"),
        piece(B, index=1, call_id="", name="read"),
    ),
    "one id for both": (piece(A, call_id="x", name="read"), piece(B, index=1, call_id="x", name="read")),
    "id and name with every piece (litellm 20480, spring-ai 5973)": (
        *(piece(part, call_id="1", name="read") for part in (A[:4], A[4:], "")),
        *(piece(part, index=1, call_id="2", name="read") for part in (B[:4], B[4:], "")),
    ),
    "each whole call comes once more (litellm 20480)": (
        piece(A[:4], call_id="1", name="read"),
        piece(A[4:], call_id="1"),
        piece(B, index=1, call_id="2", name="read"),
        piece(A, call_id="1", name="read"),
        piece(json.dumps(B), index=1, call_id="2", name="read"),
    ),
    "the id comes late": (
        piece("", name="read"),
        piece(A, call_id="1"),
        piece("", index=1, name="read"),
        piece(B, index=1, call_id="2"),
    ),
    "the name comes in pieces": (
        piece(call_id="1", name="re"),
        piece(name="ad"),
        piece(A),
        piece(B, index=1, call_id="2", name="read"),
    ),
    "arguments as an object (llama.cpp 20198, oh-my-pi 1779)": (
        piece(READ_A[1], call_id="1", name="read"),
        piece(READ_B[1], index=1, call_id="2", name="read"),
    ),
    "ids that are numbers": (piece(A, call_id=1, name="read"), piece(B, index=1, call_id=2, name="read")),
    "both in one chunk": (
        chunk(
            {
                "tool_calls": [
                    {"index": 0, "id": "1", "function": {"name": "read", "arguments": A}},
                    {"index": 1, "id": "2", "function": {"name": "read", "arguments": B}},
                ]
            }
        ),
    ),
}


@pytest.mark.parametrize("chunks", TWO_CALLS.values(), ids=TWO_CALLS.keys())
def test_two_calls(chunks: tuple[Any, ...]) -> None:
    """However they are told apart, they stay two, each with its own parameters."""
    assert calls(*chunks) == [READ_A, READ_B]


def test_different_tools_without_ids() -> None:
    """One place for two calls of which each is whole."""
    assert calls(piece("{}", name="list"), piece(A, name="read")) == [("list", {}), READ_A]


def test_a_call_without_parameters() -> None:
    """No arguments are no broken ones."""
    assert calls(piece(None, call_id="1", name="list")) == [("list", {})]
    assert calls(piece("", call_id="1", name="list"), piece("  ")) == [("list", {})]


@pytest.mark.parametrize(
    ("finish", "delta", "expected"),
    [
        ("stop", {"content": "x"}, "end_turn"),
        ("eos_token", {"content": "x"}, "end_turn"),
        ("length", {"content": "x"}, "max_tokens"),
        ("content_filter", {"content": "x"}, "refusal"),
        ("stop", {"refusal": "No."}, "refusal"),
        (
            "stop",
            {"tool_calls": [{"index": 0, "function": {"name": "a", "arguments": "{}"}}]},
            "tool_use",
        ),  # litellm 35663
        ("tool_calls", {"content": "x"}, "tool_use"),
        ("repetition", {"content": "x"}, "repetition"),
    ],
)
def test_finish_reasons(finish: str, delta: dict[str, Any], expected: str) -> None:
    """In the words of the Messages API. A reply with calls asks for them, whatever the reason is called."""
    assert folded(chunk(delta), chunk({}, finish)).stop_reason == expected


@pytest.mark.parametrize(
    ("finish", "kind"), [("error", FaultKind.SERVER_ERROR), ("insufficient_system_resource", FaultKind.OVERLOADED)]
)
def test_a_reason_that_says_that_it_failed(finish: str, kind: FaultKind) -> None:
    """Half a reply is none."""
    with pytest.raises(ModelFault) as caught:
        folded(chunk({"content": "x"}), chunk({}, finish))
    assert caught.value.kind is kind


def test_a_reason_that_is_empty_until_the_end() -> None:
    """Some servers write "" where null is meant."""
    assert folded(chunk({"content": "x"}, ""), chunk({}, "")).stop_reason is None


@pytest.mark.parametrize("names", [("reasoning_content",), ("reasoning",), ("reasoning_content", "reasoning")])
def test_thoughts(names: tuple[str, ...]) -> None:
    """Under either name (harness-sdk 2182), and not twice where a server sends both."""
    got = folded(chunk(dict.fromkeys(names, "hm ")), chunk(dict.fromkeys(names, "hm")), chunk({"content": "x"}, "stop"))
    assert got.content == [
        {"type": "thinking", "thinking": "hm hm", "signature": ""},
        {"type": "text", "text": "x"},
    ]


def test_usage_in_every_chunk_or_in_none() -> None:
    """The last one counts; a server that tells none has used none, as far as anybody knows."""
    one = {"prompt_tokens": 10, "completion_tokens": 1, "prompt_tokens_details": {"cached_tokens": 4}}
    two = {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None}
    assert folded(chunk({"content": "x"}, "stop", usage=one)).usage == Usage(
        input_tokens=6, output_tokens=1, cache_read_input_tokens=4
    )
    last = {"id": "c", "choices": [], "usage": two}
    assert folded(chunk({"content": "x"}, usage=one), chunk({}, "stop"), last).usage.output_tokens == 2
    assert folded(chunk({"content": "x"}, "stop", usage=None)).usage == Usage()
    strange = {"prompt_tokens": -1, "completion_tokens": "2", "prompt_tokens_details": {"cached_tokens": True}}
    assert folded(chunk({"content": "x"}, "stop", usage=strange)).usage == Usage()


@pytest.mark.parametrize(
    ("told", "expected"),
    [("m-2026-01-01", "openai:m-2026-01-01"), ("/models/m.gguf", "openai:m"), (None, "openai:m")],
)
def test_who_answers(told: str | None, expected: str) -> None:
    """A dated id says more; the place of a file on the server says nothing that a price could be known by."""
    assert folded(chunk({"content": "x"}, "stop", model=told)).model == expected


def test_forms_of_content() -> None:
    """Parts, null, no delta at all, other choices, a whole message in place of a delta."""
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"}]
    other = {"choices": [{"index": 1, "delta": {"content": "not this"}}]}
    whole = {"choices": [{"message": {"content": "c", "tool_calls": None}, "finish_reason": "stop"}]}
    got = folded(chunk({"content": parts}), chunk(None), chunk({"content": None}), other, whole)
    assert got.content == [{"type": "text", "text": "ac"}]
    assert got.stop_reason == "end_turn"


@pytest.mark.parametrize(
    "bad",
    [
        "text",
        {},
        {"choices": None},
        {"choices": 3},
        chunk("text"),
        chunk({"content": 3}),
        chunk({"tool_calls": [3]}),
        chunk({"tool_calls": [{"function": {"arguments": 3}}]}),
        chunk({"content": "x"}, 3),
        chunk({"content": "x"}, model=3),
    ],
)
def test_what_is_no_chunk(bad: Any) -> None:
    """Garbage is a fault that is tried again, not a reply."""
    with pytest.raises(ModelFault) as caught:
        folded(chunk({"content": "x"}), bad)
    assert caught.value.kind is FaultKind.GARBAGE


def test_halves_of_a_character() -> None:
    """They are joined; one alone is replaced, since it could not be stored."""
    got = folded(*(chunk({"content": half}) for half in ("\ud83c", "\udf88", "\ud800")), chunk({}, "stop"))
    assert got.content == [{"type": "text", "text": "🎈\ufffd"}]

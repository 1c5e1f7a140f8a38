"""Whatever a provider sent and is stored becomes a request that the API takes, checked by the scripted API's rules."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.conversation import GO_ON_TEXT, request_messages, result_block, with_own_ids
from neuraphage.decide.sendable import sendable, without_broken_signatures
from neuraphage.model.tool import ToolResult
from neuraphage.testing.scripted_api.rules import check_body
from neuraphage.testing.scripted_api.script import sign
from neuraphage.testing.scripted_api.shape import MessagesBody

Block = dict[str, Any]


def accepted(messages: list[Block]) -> None:
    """Raise what the API would answer; newer models also refuse a conversation that ends with their own words."""
    check_body({"model": "m", "max_tokens": 1, "messages": messages}, MessagesBody)
    last = messages[-1]
    assert last["role"] == "user" or last["content"][-1]["type"] == "server_tool_use"


def thought(words: str, signature: str | None = None) -> Block:
    return {"type": "thinking", "thinking": words, "signature": sign(words) if signature is None else signature}


texts = st.sampled_from(["", " \n", "\u200b", "word", "two words", "ends "])
odd_blocks = st.one_of(
    texts.map(lambda words: {"type": "text", "text": words}),
    st.just({"type": "text", "text": "x", "citations": [{"n": 1}], "annotations": []}),
    st.just({"type": "text", "text": "x", "citations": None}),
    st.sampled_from([thought("hm"), thought(""), thought("hm", ""), {"type": "thinking", "thinking": "no signature"}]),
    st.sampled_from([{"type": "redacted_thinking", "data": "AA=="}, {"type": "redacted_thinking", "data": ""}]),
    st.sampled_from([{"type": "hologram", "size": 3}, {"type": "mcp_tool_use", "id": "m1"}, {"type": ""}]),
    st.sampled_from(["t1", "t1", "", "a.b", "x" * 300]).map(
        lambda key: {"type": "tool_use", "id": key, "name": "act", "input": {}, "index": 0, "caller": None}
    ),
    st.sampled_from(["s1", "s2"]).map(
        lambda key: {"type": "server_tool_use", "id": key, "name": "web_search", "input": {}}
    ),
    st.sampled_from(["s1", "s3"]).map(
        lambda key: {"type": "web_search_tool_result", "tool_use_id": key, "content": []}
    ),
)
reasons = st.sampled_from(
    ["end_turn", "tool_use", "max_tokens", "pause_turn", "refusal", "model_context_window_exceeded", "other"]
)
turns = st.lists(st.tuples(st.lists(odd_blocks, max_size=5), reasons, st.booleans(), st.booleans()), max_size=5)


def stored(prompt: str, replies: list[tuple[list[Block], str, bool, bool]]) -> list[Block]:
    """A conversation as turns store it: replies under ids of their own, some calls answered, some words between."""
    entries: list[Block] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    taken: set[str] = set()
    for number, (blocks, reason, answered, spoken) in enumerate(replies):
        content = with_own_ids(blocks, taken, f"seed{number}")
        ids = [block["id"] for block in content if block["type"] == "tool_use"]
        taken.update(ids)
        entries.append({"role": "assistant", "content": content, "stop_reason": reason, "turn": number})
        for key in ids if answered else ids[1:]:
            result = result_block(key, ToolResult(text="r", is_error=spoken))
            entries.append({"role": "user", "content": [result]})
        if spoken:
            entries.append({"role": "user", "content": [{"type": "text", "text": "And?"}]})
    return entries


@settings(max_examples=400)
@given(st.sampled_from(["Do it.", " \n", "\u200b"]), turns, st.booleans())
def test_no_oddity_of_a_provider_makes_a_history_unusable(
    prompt: str, replies: list[tuple[list[Block], str, bool, bool]], plain: bool
) -> None:
    """Blank texts, thoughts alone or unsigned or changed, unknown blocks, odd ids, refusals, pauses, in any order."""
    accepted(request_messages(stored(prompt, replies), plain=plain))


def test_a_plain_request_holds_words_calls_and_results_alone() -> None:
    """What a provider signs or keeps itself is left out: it may not know it any more."""
    pair = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
    ]
    reply = {"role": "assistant", "content": [thought("hm"), *pair, {"type": "text", "text": "Found."}]}
    assert [block["type"] for block in sendable(reply, plain=True)] == ["text"]
    assert [block["type"] for block in sendable(reply)] == ["thinking", *(block["type"] for block in pair), "text"]


def test_a_paused_reply_goes_back_as_it_is() -> None:
    """The provider goes on with its own tool: nothing may be said behind the call."""
    call = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    entries = [
        {"role": "user", "content": [{"type": "text", "text": "Look it up."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I search."}, call], "stop_reason": "pause_turn"},
    ]
    assert request_messages(entries)[-1] == {"role": "assistant", "content": entries[1]["content"]}


def test_calls_stand_behind_the_words_of_their_reply() -> None:
    """Words behind a call would count as the beginning of the next reply; signed thoughts keep their places."""
    use = {"type": "tool_use", "id": "t1", "name": "act", "input": {}}
    words = {"type": "text", "text": "I act."}
    prompt = {"role": "user", "content": [{"type": "text", "text": "Go."}]}
    sent = request_messages([prompt, {"role": "assistant", "content": [use, words]}])
    assert sent[1]["content"] == [words, use]
    sent = request_messages([prompt, {"role": "assistant", "content": [thought("hm"), use, words]}])
    assert sent[1]["content"] == [thought("hm"), use, words]


def test_a_refused_reply_is_not_sent_back() -> None:
    """The model would go on refusing; the results of its calls go with it."""
    use = {"type": "tool_use", "id": "t1", "name": "act", "input": {}}
    entries = [
        {"role": "user", "content": [{"type": "text", "text": "Go."}]},
        {"role": "assistant", "content": [use], "stop_reason": "refusal"},
    ]
    assert request_messages(entries) == [entries[0]]


def test_a_prompt_without_words_is_answered_by_a_word() -> None:
    """A request has at least one message, and the first is a person's."""
    blank = [{"role": "user", "content": [{"type": "text", "text": " "}]}]
    assert request_messages(blank) == [{"role": "user", "content": [{"type": "text", "text": GO_ON_TEXT}]}]


@pytest.mark.parametrize(
    ("sent", "clean", "kept"),
    [
        (thought("my key is K"), thought("my key is [redacted]", sign("my key is K")), ""),
        (thought("hm"), thought("hm"), sign("hm")),
    ],
)
def test_a_thought_that_was_changed_loses_its_signature(sent: Block, clean: Block, kept: str) -> None:
    """A signature over other words is refused with every later request; a thought without one is not sent."""
    assert without_broken_signatures([sent], [clean])[0]["signature"] == kept
    hidden = {"type": "redacted_thinking", "data": "abc"}
    assert without_broken_signatures([hidden], [{**hidden, "data": "a[redacted]"}]) == [{**hidden, "data": ""}]

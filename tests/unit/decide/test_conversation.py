"""The conversation as the API takes it, for every stored conversation there can be."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.conversation import INTERRUPTED_TEXT, api_messages, final_text, result_block, tool_calls, visible
from neuraphage.model.tool import ToolResult

Message = dict[str, Any]


def said(role: str, *texts: str, **more: Any) -> Message:
    return {"role": role, "content": [{"type": "text", "text": text} for text in texts], **more}


def called(*ids: str) -> Message:
    return {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "act", "input": {}} for i in ids]}


def answered(*ids: str) -> Message:
    return {"role": "user", "content": [result_block(i, ToolResult(text=f"result of {i}")) for i in ids]}


# --- any stored conversation ---

texts = st.sampled_from(["", " \n", "word", "two words"])
ids = st.sampled_from([f"t{n}" for n in range(4)])
text_blocks = texts.map(lambda text: {"type": "text", "text": text})
uses = ids.map(lambda i: {"type": "tool_use", "id": i, "name": "act", "input": {}})
results = ids.map(lambda i: result_block(i, ToolResult(text=f"result of {i}")))


def unique_uses(content: list[Message]) -> bool:
    found = [block["id"] for block in content if block["type"] == "tool_use"]
    return len(found) == len(set(found))


assistant = st.lists(text_blocks | uses, max_size=4).filter(unique_uses)
entries = st.lists(
    st.builds(lambda content: {"role": "assistant", "content": content}, assistant)
    | st.builds(lambda content: {"role": "user", "content": content}, st.lists(text_blocks | results, max_size=4)),
    max_size=8,
)


def use_ids(message: Message) -> list[str]:
    return [block["id"] for block in message["content"] if block["type"] == "tool_use"]


def result_ids(message: Message) -> list[str]:
    return [block["tool_use_id"] for block in message["content"] if block["type"] == "tool_result"]


@settings(max_examples=300)
@given(entries)
def test_any_conversation_becomes_one_that_the_api_takes(stored: list[Message]) -> None:
    """Roles alternate, no message is empty, no text is blank, every call has its result right behind it."""
    sent = api_messages(stored)
    assert all(one["role"] != other["role"] for one, other in pairwise(sent))
    assert all(message["content"] for message in sent)
    blocks = [block for message in sent for block in message["content"]]
    assert all(block["text"].strip() for block in blocks if block["type"] == "text")
    for index, message in enumerate(sent):
        if message["role"] == "assistant":
            following = sent[index + 1] if index + 1 < len(sent) else {"content": []}
            assert result_ids(following) == use_ids(message)
        kinds = [block["type"] for block in message["content"]]
        wanted = use_ids(sent[index - 1]) if index else []
        if message["role"] == "user":
            assert result_ids(message) == wanted
            assert kinds[: len(wanted)] == ["tool_result"] * len(wanted)


@settings(max_examples=300)
@given(entries)
def test_nothing_that_was_said_is_lost(stored: list[Message]) -> None:
    """Every text with words is sent, in its order; merging and repairing drop none."""

    def words(messages: list[Message]) -> list[str]:
        blocks = [block for message in messages for block in message["content"]]
        return [block["text"] for block in blocks if block["type"] == "text" and block["text"].strip()]

    assert words(api_messages(stored)) == words(stored)


@settings(max_examples=100)
@given(entries)
def test_what_is_stored_is_never_changed(stored: list[Message]) -> None:
    """The same conversation twice gives the same messages: the first reading left the stored entries alone."""
    assert api_messages(stored) == api_messages(stored)


@settings(max_examples=100)
@given(entries)
def test_sending_what_was_sent_changes_nothing(stored: list[Message]) -> None:
    """A repaired conversation is sound: repairing it again is the same one."""
    sent = api_messages(stored)
    assert api_messages(sent) == sent


# --- by hand ---


def test_results_that_landed_one_by_one_are_one_message_in_the_order_of_the_calls() -> None:
    """Each result is its own entry; the API gets them together, whatever their order, and words behind them."""
    sent = api_messages([called("t1", "t2"), answered("t2"), said("user", "And?"), answered("t1")])
    assert result_ids(sent[1]) == ["t1", "t2"]
    assert sent[1]["content"][2] == {"type": "text", "text": "And?"}


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    """The missing half of a pair is an error that asks to look first."""
    sent = api_messages([said("user", "Go."), called("t1", "t2"), answered("t1")])
    assert sent[-1]["content"][1] == {
        "type": "tool_result", "tool_use_id": "t2", "content": INTERRUPTED_TEXT, "is_error": True,
    }  # fmt: skip


def test_a_result_without_its_call_is_not_sent() -> None:
    """The API refuses a stray result, for ever."""
    assert api_messages([said("user", "Go."), answered("t9")]) == [said("user", "Go.")]


def test_roles_alternate_where_an_empty_message_was_dropped() -> None:
    """A reply of blank text between two messages of a person leaves one message, not two of the same role."""
    sent = api_messages([said("user", "One."), said("assistant", " \n"), said("user", "Two.")])
    assert sent == [said("user", "One.", "Two.")]


def test_roles_alternate_where_a_stray_result_was_dropped() -> None:
    """A message that held nothing but a stray result goes whole, and its neighbours become one."""
    sent = api_messages([said("user", "Go."), said("assistant", "a"), answered("t9"), said("assistant", "b")])
    assert sent == [said("user", "Go."), said("assistant", "a", "b")]


def test_superseded_entries_are_hidden_and_kept() -> None:
    """A later entry replaces those from an index on; a second one may reach back over the first."""
    first = [said("user", "0"), said("assistant", "1"), said("user", "2")]
    once = [*first, said("user", "3", supersedes=1)]
    assert [entry["content"][0]["text"] for entry in visible(once)] == ["0", "3"]
    twice = [*once, said("assistant", "4"), said("user", "5", supersedes=3)]
    assert [entry["content"][0]["text"] for entry in visible(twice)] == ["0", "5"]
    all_of_it = [*twice, said("user", "6", supersedes=0)]
    assert [entry["content"][0]["text"] for entry in visible(all_of_it)] == ["6"]


def test_superseding_in_the_middle_leaves_the_front_alone() -> None:
    """Index 0 supersedes nothing before it: falsy is not none."""
    assert len(visible([said("user", "0"), said("user", "1", supersedes=0)])) == 1
    assert len(visible([said("user", "0"), said("user", "1", supersedes=None)])) == 2


def test_thinking_is_sent_verbatim() -> None:
    """Thinking blocks and their signatures go back as they came."""
    block = {"type": "thinking", "thinking": "Hm.", "signature": "s=="}
    stored = {"role": "assistant", "content": [block, *called("t1")["content"]]}
    assert api_messages([said("user", "Go."), stored])[1]["content"][0] == block


def test_a_result_block_tells_of_errors_only() -> None:
    """is_error stands only where it is true."""
    assert "is_error" not in result_block("t1", ToolResult(text="x"))
    assert result_block("t1", ToolResult(text="x", is_error=True))["is_error"] is True


def test_calls_and_text_of_a_message() -> None:
    """Only tool_use blocks are calls, only text blocks are text."""
    content = [{"type": "text", "text": "a"}, *called("t1", "t2")["content"], {"type": "text", "text": "b"}]
    assert [call.tool_use_id for call in tool_calls(content)] == ["t1", "t2"]
    assert final_text(content) == "a\nb"

"""What a Chat Completions server is sent: whole bodies, written out."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from neuraphage.decide.conversation import request_messages
from neuraphage.llm.chat.request import ERROR_MARK, chat_body
from neuraphage.model.message import ModelRequest
from neuraphage.testing.scripted_api.chat_message import script_body

IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="}}


def request(messages: list[dict[str, Any]], **changes: Any) -> ModelRequest:
    fields: dict[str, Any] = {
        "request_id": "r",
        "model": "openai:llama3:8b",
        "system": [],
        "messages": messages,
        "tools": [],
        "max_tokens": 100,
    }
    return ModelRequest(**(fields | changes))


def said(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages that are sent for these."""
    sent: list[dict[str, Any]] = chat_body(request(list(messages)))["messages"]
    return sent


def test_a_whole_body() -> None:
    """The prefix is not sent; the system prompt is the first message; a text is a text and no list of parts."""
    tools = [
        {"name": "bash", "description": "Runs.", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "web_search"},
    ]
    system = [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Be kind."}]
    assert chat_body(request([{"role": "user", "content": "hi"}], system=system, tools=tools)) == {
        "model": "llama3:8b",
        "messages": [{"role": "system", "content": "Be brief.\n\nBe kind."}, {"role": "user", "content": "hi"}],
        "max_tokens": 100,
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {"name": "bash", "description": "Runs.", "parameters": {"type": "object"}},
            }
        ],
    }


def test_a_round_of_calls() -> None:
    """Thoughts stay here; each result is a message of its own, a failed one says so; no content is null."""
    calls = [
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {"command": "é"}},
        {"type": "tool_use", "id": "toolu_2", "name": "bash", "input": {}},
    ]
    results = [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": "exit 1", "is_error": True},
        {"type": "tool_result", "tool_use_id": "toolu_2", "content": [{"type": "text", "text": "a"}]},
        {"type": "text", "text": "Go on."},
        {"type": "text", "text": "Please."},
    ]
    assert said({"role": "assistant", "content": calls}, {"role": "user", "content": results}) == [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "toolu_1", "type": "function", "function": {"name": "bash", "arguments": '{"command":"é"}'}},
                {"id": "toolu_2", "type": "function", "function": {"name": "bash", "arguments": "{}"}},
            ],
        },
        {"role": "tool", "tool_call_id": "toolu_1", "content": f"{ERROR_MARK}\nexit 1"},
        {"role": "tool", "tool_call_id": "toolu_2", "content": "a"},
        {"role": "user", "content": "Go on.\n\nPlease."},
    ]


def test_images_and_documents() -> None:
    """As parts; those of a result follow it in a message of the user, which says whose they are."""
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWNvbg=="}}
    remote = {"type": "image", "source": {"type": "url", "url": "https://h/i.png"}}
    words = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "words"}}
    pdf = {
        "type": "document",
        "title": "a.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
    }
    result = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "seen"}, IMAGE]}
    strange = {"type": "hologram"}
    assert said({"role": "user", "content": [result, remote, words, pdf, strange]}) == [
        {"role": "tool", "tool_call_id": "t1", "content": "seen"},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Image from the result of call t1:"},
                shown,
                {"type": "image_url", "image_url": {"url": "https://h/i.png"}},
                {"type": "text", "text": "words"},
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,cGRm"},
                },
            ],
        },
    ]


def test_ids_and_names_that_openai_refuses() -> None:
    """autogen 6377, camel 2215: ids over 40 characters; they are shortened alike in call and result."""
    long = "x" * 53
    call = {"type": "tool_use", "id": long, "name": "my tool." + "y" * 70, "input": {}}
    first, second = said(
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": long, "content": ""}]},
    )
    sent = first["tool_calls"][0]
    assert len(sent["id"]) <= 40
    assert second == {"role": "tool", "tool_call_id": sent["id"], "content": ""}
    assert sent["function"]["name"] == ("my_tool_" + "y" * 70)[:64]


def test_extra_fields_win_and_null_takes_one_out() -> None:
    """For servers that refuse a field that others need."""
    body = chat_body(
        request([{"role": "user", "content": "hi"}], extra={"temperature": 0.5, "stream_options": None}),
        completion_tokens=True,
    )
    assert body["temperature"] == 0.5
    assert "stream_options" not in body
    assert (body["max_completion_tokens"], "max_tokens" in body) == (100, False)


_TEXT = st.text(alphabet="ab \n", max_size=4)
_USE = st.builds(
    lambda number, name: {"type": "tool_use", "id": f"call_{number}" * 9, "name": name or "?", "input": {}},
    st.integers(0, 9),
    _TEXT,
)
_BLOCKS = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, _TEXT),
    _USE,
    st.just({"type": "thinking", "thinking": "hm", "signature": "s"}),
    st.just({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
    st.just({"type": "hologram"}),
)
_ENTRIES = st.lists(
    st.one_of(
        st.builds(lambda content: {"role": "assistant", "content": content}, st.lists(_BLOCKS, max_size=4)),
        st.builds(lambda text: {"role": "user", "content": [{"type": "text", "text": text}]}, _TEXT),
        st.just({"role": "user", "content": [IMAGE]}),
    ),
    max_size=6,
)


@settings(max_examples=300, deadline=None)
@given(_ENTRIES)
def test_any_stored_conversation_is_taken(entries: list[dict[str, Any]]) -> None:
    """Whatever is stored becomes a body that a strict server takes: pairs, ids, names, the last word."""
    seen: set[str] = set()
    for entry in entries:  # ids are unique in a task
        for block in entry["content"]:
            if block["type"] == "tool_use":
                block["id"] += str(len(seen))
                seen.add(block["id"])
    script_body(chat_body(request(request_messages(entries))))

"""Builds the body of a Chat Completions call from a request in the form of the Messages API. Pure.

Where servers differ, the form is taken that most of them accept: plain text as a text and not as a list of parts, no
null content, arguments as JSON text, ids and names within OpenAI's limits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from neuraphage.decide.conversation import GO_ON_TEXT
from neuraphage.decide.hashing import sha256_hex
from neuraphage.decide.model_ids import split_model
from neuraphage.model.message import Block, ModelRequest

MAX_ID_CHARS = 40
MAX_NAME_CHARS = 64
"""OpenAI refuses longer ids of calls and names of functions, also in what it had sent itself."""
ERROR_MARK = "The call failed."
"""Stands before the result of a call that failed: the API has no field for that."""
RESULT_IMAGE_TEXT = "Image from the result of call {id}:"

_NOT_IN_NAMES = re.compile(r"[^a-zA-Z0-9_-]")


def chat_body(request: ModelRequest, *, completion_tokens: bool = False) -> dict[str, Any]:
    """The JSON body of a streamed Chat Completions call.

    Args:
        request: left as it is.
        completion_tokens: whether the limit of the reply is called `max_completion_tokens`, as newer models of OpenAI
            demand, and not `max_tokens`, which every other server knows.

    Returns:
        The body. Fields of `request.extra` come last and win; one that is null is left out.
    """
    body: dict[str, Any] = {
        "model": split_model(request.model).name,
        "messages": [*_system(request.system), *_with_end(list(_messages(request.messages)))],
        "max_completion_tokens" if completion_tokens else "max_tokens": request.max_tokens,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    tools = [_tool(tool) for tool in request.tools if tool.get("type", "custom") == "custom"]
    if tools:
        body["tools"] = tools
    return {name: value for name, value in {**body, **request.extra}.items() if value is not None}


def _system(blocks: Iterable[Block]) -> Iterator[dict[str, Any]]:
    text = "\n\n".join(block["text"] for block in blocks if block.get("text"))
    if text:
        yield {"role": "system", "content": text}


def _with_end(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A reply that another provider had paused in a tool of its own ends with the model's words here."""
    if not messages or messages[-1]["role"] == "assistant":
        messages.append({"role": "user", "content": GO_ON_TEXT})
    return messages


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    function = {"name": _name(tool["name"]), "parameters": tool["input_schema"]}
    if tool.get("description"):
        function["description"] = tool["description"]
    return {"type": "function", "function": function}


def _messages(messages: Iterable[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for message in messages:
        content = message["content"]
        blocks: Sequence[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        yield from (_assistant(blocks) if message["role"] == "assistant" else _user(blocks))


def _assistant(blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """Words and calls. Thoughts, and what the tools of another provider left, do not travel."""
    text = _joined(blocks)
    calls = [
        {
            "id": _call_id(block["id"]),
            "type": "function",
            "function": {"name": _name(block["name"]), "arguments": _compact(block["input"])},
        }
        for block in blocks
        if block.get("type") == "tool_use"
    ]
    if calls:
        yield {"role": "assistant", "content": text, "tool_calls": calls}
    elif text:
        yield {"role": "assistant", "content": text}


def _user(blocks: Sequence[Block]) -> Iterator[dict[str, Any]]:
    """Results of calls as messages of their own; what they show follows with the words, as results hold text alone."""
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if block.get("type") == "tool_result":
            yield _result(block)
            parts += _shown(block)
        else:
            parts += _part(block)
    if not parts:
        return
    if all(part["type"] == "text" for part in parts):
        yield {"role": "user", "content": "\n\n".join(part["text"] for part in parts)}
    else:
        yield {"role": "user", "content": parts}


def _result(block: Block) -> dict[str, Any]:
    content = block.get("content") or ""
    text = content if isinstance(content, str) else _joined(content)
    if block.get("is_error"):
        text = f"{ERROR_MARK}\n{text}" if text else ERROR_MARK
    return {"role": "tool", "tool_call_id": _call_id(block["tool_use_id"]), "content": text}


def _shown(block: Block) -> list[dict[str, Any]]:
    content = block.get("content")
    if not isinstance(content, list):
        return []
    parts = [part for inner in content if inner.get("type") != "text" for part in _part(inner)]
    named = RESULT_IMAGE_TEXT.format(id=_call_id(block["tool_use_id"]))
    return [{"type": "text", "text": named}, *parts] if parts else []


def _part(block: Block) -> list[dict[str, Any]]:
    """A block of a person's message as a part of one; nothing of a kind that the API has no part for."""
    source = block.get("source") or {}
    match block.get("type"), source.get("type"):
        case "text", _:
            return [{"type": "text", "text": block["text"]}]
        case "image", "base64":
            return [{"type": "image_url", "image_url": {"url": f"data:{source['media_type']};base64,{source['data']}"}}]
        case "image", "url":
            return [{"type": "image_url", "image_url": {"url": source["url"]}}]
        case "document", "text":
            return [{"type": "text", "text": source["data"]}]
        case "document", "base64":
            data = f"data:{source['media_type']};base64,{source['data']}"
            return [{"type": "file", "file": {"filename": block.get("title") or "document", "file_data": data}}]
    return []


def _joined(blocks: Iterable[Block]) -> str:
    return "\n\n".join(block["text"] for block in blocks if block.get("type") == "text" and block.get("text"))


def _call_id(given: str) -> str:
    """The same id for call and result; one that is too long is replaced by its digest."""
    return given if len(given) <= MAX_ID_CHARS else f"call_{sha256_hex(given)[:24]}"


def _name(given: str) -> str:
    """A model may have called what is no name; it is sent back as one."""
    return _NOT_IN_NAMES.sub("_", given)[:MAX_NAME_CHARS] or "unnamed"


def _compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)

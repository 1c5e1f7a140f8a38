"""Chat Completions on both sides of a script, which knows the Messages API alone. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from neuraphage.testing.scripted_api.chat_shape import ChatBody
from neuraphage.testing.scripted_api.message import compact
from neuraphage.testing.scripted_api.rules import Refused
from neuraphage.testing.scripted_api.script import ScriptRequest
from neuraphage.testing.scripted_api.wire import Wire

FINISH_REASONS = {"end_turn": "stop", "tool_use": "tool_calls", "max_tokens": "length", "refusal": "content_filter"}
DONE = b"data: [DONE]\n\n"


def script_body(body: Any) -> dict[str, Any]:
    """A body as a script sees it: in the form of the Messages API.

    Raises:
        Refused: it breaks a rule of Chat Completions; the first broken one is told.
    """
    if not isinstance(body, dict):
        raise Refused("the body is no object")
    try:
        ChatBody.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise Refused(f"Invalid '{_place(first['loc'])}': {first['msg']}") from None
    _check_pairs(body["messages"])
    system = [_text(message["content"]) for message in body["messages"] if message["role"] in ("system", "developer")]
    kept = {
        name: body[name] for name in ("model", "stream", "stream_options", "tool_choice") if body.get(name) is not None
    }
    tools = [
        {"name": tool["function"]["name"], "input_schema": tool["function"].get("parameters") or {}}
        for tool in body.get("tools") or ()
    ]
    return {**kept, "system": system, "tools": tools, "messages": _merged(body["messages"])}


def _place(loc: tuple[int | str, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc).lstrip(".")


def _check_pairs(messages: list[dict[str, Any]]) -> None:
    open_ids: list[str] = []
    for index, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                raise Refused(
                    f"Invalid parameter: messages[{index}]: messages with role 'tool' must be a response to a"
                    " preceding message with 'tool_calls'."
                )
            open_ids.remove(message["tool_call_id"])
            continue
        if open_ids:
            raise Refused(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
                f" 'tool_call_id'. The following did not have response messages: {', '.join(open_ids)}"
            )
        open_ids = [call["id"] for call in message.get("tool_calls") or ()]
    if open_ids or messages[-1]["role"] == "assistant":
        raise Refused("the last message must be one of the user or of a tool")


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    merged: list[dict[str, Any]] = []
    for message in messages:
        role = {"tool": "user", "user": "user", "assistant": "assistant"}.get(message["role"])
        if role is None:
            continue
        blocks = list(_blocks(message))
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += blocks
        else:
            merged.append({"role": role, "content": blocks})
    return merged


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if message["role"] == "tool":
        yield {"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}
        return
    content = message["content"]
    parts = [_text(content)] if isinstance(content, str) else content
    for part in parts:
        if part["type"] != "text" or part["text"]:
            yield dict(part)
    for call in message.get("tool_calls") or ():
        function = call["function"]
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": function["name"],
            "input": json.loads(function["arguments"]),
        }


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def whole_completion(message: Mapping[str, Any]) -> dict[str, Any]:
    """A script's message as an answer that is not streamed."""
    said: dict[str, Any] = {"role": "assistant", "content": "", "refusal": None}
    for delta in _deltas(message, chunk_chars=1_000_000_000):
        for piece in delta.pop("tool_calls", ()):
            calls = said.setdefault("tool_calls", [])
            if "id" in piece:
                calls.append(piece)
            else:
                calls[-1]["function"]["arguments"] += piece["function"]["arguments"]
        for name, text in delta.items():
            said[name] = (said.get(name) or "") + text
    choice = {"index": 0, "message": said, "finish_reason": _finish(message)}
    head = _head(message) | {"object": "chat.completion"}
    return {**head, "choices": [choice], "usage": _usage(message)}


def chat_wire(asked: ScriptRequest, message: dict[str, Any], chunk_chars: int) -> Wire:
    """The stream of a script's message: pieces, the reason, the usage if it was asked for, and the end mark."""
    head = _head(message)
    deltas = [{"role": "assistant", "content": ""}, *_deltas(message, chunk_chars)]
    frames = [_chunk(head, [{"index": 0, "delta": delta, "finish_reason": None}]) for delta in deltas]
    frames.append(_chunk(head, [{"index": 0, "delta": {}, "finish_reason": _finish(message)}]))
    if (asked.body.get("stream_options") or {}).get("include_usage"):
        frames.append(_chunk({**head, "usage": _usage(message)}, []))
    frames.append(DONE)
    return Wire(
        frames,
        ending=len(frames) - len(deltas),
        garbage=b'data: {"choices": [{"delta": <<garbage\n\n',
        ping=b": keep-alive\n\n",
        error=lambda kind, text: _data({"error": {"message": text, "type": kind, "param": None, "code": None}}),
    )


def _deltas(message: Mapping[str, Any], chunk_chars: int) -> Iterator[dict[str, Any]]:
    number = 0
    for block in message["content"]:
        if block["type"] in ("text", "thinking"):
            name = "content" if block["type"] == "text" else "reasoning_content"
            for piece in _pieces(block[block["type"]], chunk_chars):
                yield {name: piece}
        elif block["type"] == "tool_use":
            raw = block["input"] if isinstance(block["input"], str) else compact(block["input"])
            function = {"name": block["name"], "arguments": ""}
            yield {"tool_calls": [{"index": number, "id": block["id"], "type": "function", "function": function}]}
            for piece in _pieces(raw, chunk_chars):
                yield {"tool_calls": [{"index": number, "function": {"arguments": piece}}]}
            number += 1
        else:
            raise ValueError(f"Chat Completions has nothing like a block of type {block['type']!r}")


def _pieces(text: str, chunk_chars: int) -> Iterator[str]:
    step = max(1, chunk_chars)
    return (text[start : start + step] for start in range(0, len(text), step))


def _head(message: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-" + message["id"].removeprefix("msg_"),
        "object": "chat.completion.chunk",
        "created": 0,  # the same answer for the same request
        "model": message["model"],
    }


def _finish(message: Mapping[str, Any]) -> str:
    reason = str(message["stop_reason"])
    return FINISH_REASONS.get(reason, reason)


def _usage(message: Mapping[str, Any]) -> dict[str, Any]:
    usage = message["usage"]
    cached = usage["cache_read_input_tokens"]
    prompt = usage["input_tokens"] + usage["cache_creation_input_tokens"] + cached
    return {
        "prompt_tokens": prompt,
        "completion_tokens": usage["output_tokens"],
        "total_tokens": prompt + usage["output_tokens"],
        "prompt_tokens_details": {"cached_tokens": cached},
    }


def _chunk(head: Mapping[str, Any], choices: list[dict[str, Any]]) -> bytes:
    return _data({**head, "choices": choices})


def _data(value: Any) -> bytes:
    return f"data: {compact(value)}\n\n".encode()

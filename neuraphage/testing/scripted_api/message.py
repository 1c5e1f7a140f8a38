"""Turns a script's answer into the API's message and its stream of events. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

from neuraphage.testing.scripted_api.script import ScriptedReply, ScriptRequest

CHARS_A_TOKEN = 4

Event = dict[str, Any]

# Block type -> (field that is streamed, delta type, field of the delta).
_STREAMED = {
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
    "server_tool_use": ("input", "input_json_delta", "partial_json"),
}


def message_of(request: ScriptRequest, answer: ScriptedReply) -> dict[str, Any]:
    """The whole message; its ids are hashes of the request, so the same request gets the same ids."""
    content = [_with_id(block, request.request_hash, index) for index, block in enumerate(answer.blocks)]
    usage = {**count_prompt(request.body), "output_tokens": _tokens(answer.blocks), **answer.usage}
    return {
        "id": f"msg_{request.request_hash[:24]}",
        "type": "message",
        "role": "assistant",
        "model": request.body["model"],
        "content": content,
        "stop_reason": answer.stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }


def count_prompt(body: Any) -> dict[str, int]:
    """Tokens of the prompt, about four characters each, told apart as the prompt cache would.

    What ends at a breakpoint counts as cached. Of that, the part that the previous turn's request held
    already (all before the last assistant message) counts as read, the rest as written. So the numbers
    follow from the request alone.
    """
    head = [*(body.get("tools") or ()), *_as_list(body.get("system"))]
    messages = body["messages"]
    assistants = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    parts = [(part, bool(assistants)) for part in head]
    for index, message in enumerate(messages):
        known = bool(assistants) and index < assistants[-1]
        parts.extend((part, known) for part in _as_list(message["content"]))
    marked = [index for index, (part, _) in enumerate(parts) if part.get("cache_control")]
    cached = parts[: marked[-1] + 1] if marked else []
    return {
        "input_tokens": sum(_tokens(_bare(part)) for part, _ in parts[len(cached) :]),
        "cache_creation_input_tokens": sum(_tokens(_bare(part)) for part, known in cached if not known),
        "cache_read_input_tokens": sum(_tokens(_bare(part)) for part, known in cached if known),
    }


def events_of(message: dict[str, Any], chunk_chars: int) -> Iterator[Event]:
    """The stream's events, in the order of the API's documentation.

    Args:
        message: from message_of.
        chunk_chars: characters of text, thinking or tool input in one delta.
    """
    opening = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": opening}
    for index, block in enumerate(message["content"]):
        yield {"type": "content_block_start", "index": index, "content_block": _emptied(block)}
        if index == 0:
            yield {"type": "ping"}
        for delta in _deltas(block, chunk_chars):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    yield {
        "type": "message_delta",
        "delta": {"stop_reason": message["stop_reason"], "stop_sequence": message["stop_sequence"]},
        "usage": message["usage"],
    }
    yield {"type": "message_stop"}


def sse(event: Event) -> bytes:
    """One event on the wire."""
    return f"event: {event['type']}\ndata: {compact(event)}\n\n".encode()


def compact(value: Any) -> str:
    """JSON without spaces."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _deltas(block: dict[str, Any], chunk_chars: int) -> Iterator[dict[str, Any]]:
    if block["type"] not in _STREAMED:
        return
    name, delta_type, field = _STREAMED[block["type"]]
    value = block[name]
    text = value if isinstance(value, str) else compact(value)
    if name == "input":
        # The API opens every tool input with an empty piece.
        yield {"type": delta_type, field: ""}
    for start in range(0, len(text), max(1, chunk_chars)):
        yield {"type": delta_type, field: text[start : start + max(1, chunk_chars)]}
    if block["type"] == "thinking":
        yield {"type": "signature_delta", "signature": block["signature"]}


def _with_id(block: dict[str, Any], request_hash: str, index: int) -> dict[str, Any]:
    if block["type"] != "tool_use":
        return dict(block)
    digest = hashlib.sha256(f"{request_hash}:{index}".encode()).hexdigest()
    return {"type": "tool_use", "id": f"toolu_{digest[:24]}", "name": block["name"], "input": block["input"]}


def _emptied(block: dict[str, Any]) -> dict[str, Any]:
    if block["type"] in ("tool_use", "server_tool_use"):
        return {**block, "input": {}}
    if block["type"] == "thinking":
        return {**block, "thinking": "", "signature": ""}
    return {**block, "text": ""} if block["type"] == "text" else block


def _as_list(content: Any) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _bare(part: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name != "cache_control"}


def _tokens(value: Any) -> int:
    return -(-len(compact(value)) // CHARS_A_TOKEN)

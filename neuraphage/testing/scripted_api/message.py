"""Turns a script's answer into the API's message and its stream of events. Pure."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from neuraphage.testing.scripted_api.script import ScriptedReply, ScriptRequest

CHARS_A_TOKEN = 4
UNCACHED = {"input_tokens": 0, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
WINDOW_FULL = "model_context_window_exceeded"

Event = dict[str, Any]

# Block type -> (field that is streamed, delta type, field of the delta).
_STREAMED = {
    "text": ("text", "text_delta", "text"),
    "thinking": ("thinking", "thinking_delta", "thinking"),
    "tool_use": ("input", "input_json_delta", "partial_json"),
    "server_tool_use": ("input", "input_json_delta", "partial_json"),
}


def message_of(
    request: ScriptRequest,
    answer: ScriptedReply,
    room_tokens: int | None = None,
    prompt: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole message; its ids are hashes of the request, so the same request gets the same ids.

    Args:
        request: what was asked.
        answer: what the script says.
        room_tokens: what the context window has left; a longer answer is cut off there.
        prompt: fields of `usage` about the prompt; by default all of it counts in full.
    """
    if room_tokens is not None and tokens_in(answer.blocks) > room_tokens:
        answer = replace(answer, blocks=_cut(answer.blocks, room_tokens), stop_reason=WINDOW_FULL)
    content = [_with_id(block, request.request_hash, index) for index, block in enumerate(answer.blocks)]
    prompt = UNCACHED | {"input_tokens": prompt_tokens(request.body)} if prompt is None else prompt
    usage = {**prompt, "output_tokens": tokens_in(answer.blocks), **answer.usage}
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


def prompt_tokens(body: Any) -> int:
    """Tokens of the whole prompt."""
    parts = [*(body.get("tools") or ()), *as_list(body.get("system"))]
    parts += [part for message in body["messages"] for part in as_list(message["content"])]
    return sum(tokens_in(bare(part)) for part in parts)


def _cut(blocks: Sequence[dict[str, Any]], room_tokens: int) -> tuple[dict[str, Any], ...]:
    """What fits: whole blocks, and of the first text that does not fit its beginning."""
    kept: list[dict[str, Any]] = []
    for block in blocks:
        left = room_tokens - tokens_in(kept)
        if tokens_in(block) <= left:
            kept.append(block)
            continue
        chars = (left - tokens_in({**block, "text": ""})) * CHARS_A_TOKEN if block["type"] == "text" else 0
        if chars > 0:
            kept.append({**block, "text": block["text"][:chars]})
        break
    return tuple(kept)


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


def as_list(content: Any) -> list[dict[str, Any]]:
    """Content as blocks."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def bare(part: dict[str, Any]) -> dict[str, Any]:
    """A block without its breakpoint."""
    return {name: value for name, value in part.items() if name != "cache_control"}


def tokens_in(value: Any) -> int:
    """Tokens of a value, about four characters each."""
    return -(-len(compact(value)) // CHARS_A_TOKEN)

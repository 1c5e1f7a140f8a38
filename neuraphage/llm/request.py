"""Builds the body of a request, with the prompt cache breakpoints. Pure, on copies.

The cache holds prefixes in the order tools, system, messages. Breakpoints end the parts that stay the same:
the tools (shared by all tasks), the system prompt (shared by all turns of a task) and the last two user messages:
the next turn's request begins with everything up to the last one, and the one before it ended the former request.
The API looks for that end no further than 20 blocks back by itself, and a turn of ten tool calls is longer. All of them
ask for one lifetime, which `decide/prompt_cache.py` chooses: the API refuses a longer one behind a shorter one.
"""

from __future__ import annotations

from typing import Any

from neuraphage.decide.model_ids import split_model
from neuraphage.model.message import Block, ModelRequest

MAX_BREAKPOINTS = 4
"""The API refuses more."""

_MARKED_USER_MESSAGES = 2
_NEVER_CACHED = frozenset({"thinking", "redacted_thinking"})


def request_body(request: ModelRequest) -> dict[str, Any]:
    """The JSON body of a streamed Messages call.

    Args:
        request: left as it is; the body shares no changed part with it.

    Returns:
        The body, without `stream`; empty `system` and `tools` are left out, as the API wants it. Fields of
        `request.extra` come last and win.
    """
    system, tools, messages = list(request.system), list(request.tools), list(request.messages)
    mark = {"type": "ephemeral"} if request.cache_ttl == "5m" else {"type": "ephemeral", "ttl": request.cache_ttl}
    most = 0 if request.cache_ttl == "none" else MAX_BREAKPOINTS
    budget = most - _count_breakpoints(tools) - _count_breakpoints(system)
    budget -= sum(_count_breakpoints(message.get("content")) for message in messages)
    for blocks in (system, tools):
        if budget > 0 and _mark_last(blocks, mark):
            budget -= 1
    _mark_user_messages(messages, min(budget, _MARKED_USER_MESSAGES), mark)
    body: dict[str, Any] = {
        "model": split_model(request.model).name,
        "max_tokens": request.max_tokens,
        "messages": messages,
    }
    if system:
        body["system"] = system
    if tools:
        body["tools"] = tools
    return {**body, **request.extra}


def _mark_last(blocks: list[Block], mark: dict[str, str]) -> bool:
    """Replace the last block that may carry a breakpoint by a copy that does."""
    for index in range(len(blocks) - 1, -1, -1):
        block = blocks[index]
        if "cache_control" in block:
            return False
        if _may_be_marked(block):
            blocks[index] = {**block, "cache_control": dict(mark)}
            return True
    return False


def _mark_user_messages(messages: list[dict[str, Any]], wanted: int, mark: dict[str, str]) -> None:
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    for index in users[::-1][: max(wanted, 0)]:
        content = messages[index].get("content")
        blocks: list[Block] = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or [])
        if _mark_last(blocks, mark):
            messages[index] = {**messages[index], "content": blocks}


def _may_be_marked(block: Block) -> bool:
    if block.get("type") in _NEVER_CACHED:
        return False
    return block.get("type") != "text" or bool(str(block.get("text", "")).strip())


def _count_breakpoints(blocks: object) -> int:
    if not isinstance(blocks, list):
        return 0
    own = sum("cache_control" in block for block in blocks if isinstance(block, dict))
    return own + sum(_count_breakpoints(block.get("content")) for block in blocks if isinstance(block, dict))

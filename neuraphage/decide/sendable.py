"""What of a stored entry the API takes back. What a provider sent stays stored as it came; this is what is sent.

Whatever is stored becomes a request that is not refused: a history with one block that the API does not take back
would fail every later turn of its task.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from neuraphage.decide.blank import is_blank
from neuraphage.model.message import Block, StopReason

_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SERVER_CALLS = frozenset({"server_tool_use"})
_SERVER_RESULTS = frozenset(
    {
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
    }
)
_CITATIONS = frozenset(
    {
        "char_location",
        "page_location",
        "content_block_location",
        "web_search_result_location",
        "search_result_location",
    }
)


def sendable(entry: Mapping[str, Any], *, plain: bool = False) -> list[Block]:
    """The blocks of a stored entry that may be sent.

    Args:
        entry: one entry of the conversation.
        plain: only words, calls and results: for a provider that refused the thoughts and the like which it had sent.

    Returns:
        None of a refused reply: the model would go on refusing. No block of an unknown type, no field that is only
        sent and never taken back, no thought without its signature or at the end.
    """
    content: Sequence[Block] = entry["content"]
    if entry["role"] != "assistant":
        return [block for block in content if not _is_blank_text(block)]
    if entry.get("stop_reason") == StopReason.REFUSAL.value:
        return []
    blocks = [kept for block in content if (kept := _of_reply(block, plain=plain)) is not None]
    return _without_end_thoughts(blocks)


def without_thoughts(blocks: Sequence[Block]) -> list[Block]:
    """The blocks of an old reply without its thoughts: the API wants back those of the last turns alone."""
    return [block for block in blocks if block["type"] not in _THOUGHTS]


def _without_end_thoughts(blocks: list[Block]) -> list[Block]:
    while blocks and blocks[-1]["type"] in _THOUGHTS:  # refused at the end of a message, and it says nothing there
        blocks.pop()
    return blocks


def _is_blank_text(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "text" and is_blank(str(block.get("text") or ""))


def _of_reply(block: Block, *, plain: bool) -> Block | None:
    match block.get("type"):
        case "text":
            return None if _is_blank_text(block) else _text(block, plain=plain)
        case "tool_use":
            return {name: block[name] for name in ("type", "id", "name", "input")}
        case "thinking":
            whole = isinstance(block.get("thinking"), str) and bool(block.get("signature"))
            return {name: block[name] for name in ("type", "thinking", "signature")} if whole and not plain else None
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": block["data"]} if block.get("data") and not plain else None
        case kind if kind in _SERVER_CALLS or kind in _SERVER_RESULTS:
            return None if plain else block
    return None


def _text(block: Block, *, plain: bool) -> Block:
    kept: Block = {"type": "text", "text": block["text"]}
    cited = block.get("citations")
    if isinstance(cited, list) and not plain:
        known = [one for one in cited if isinstance(one, dict) and one.get("type") in _CITATIONS]
        if known:
            kept["citations"] = known
    return kept


def in_order(content: list[Block], *, last: bool) -> list[Block]:
    """The blocks of one assistant message as the API wants them together.

    A call of the provider's own tools needs its result in the same message, except at the end of a paused reply; calls
    of ours stand last, or the words behind them count as the beginning of the next reply.

    Args:
        content: sendable blocks, of one or several replies.
        last: whether the message ends the conversation.
    """
    called = {str(block.get("id")) for block in content if block["type"] in _SERVER_CALLS}
    answered = {str(block.get("tool_use_id")) for block in content if block["type"] in _SERVER_RESULTS}
    paused = str(content[-1].get("id")) if last and content and content[-1]["type"] in _SERVER_CALLS else None
    kept = [
        block
        for block in content
        if (block["type"] not in _SERVER_CALLS or str(block.get("id")) in answered | {paused})
        and (block["type"] not in _SERVER_RESULTS or str(block.get("tool_use_id")) in called)
    ]
    while kept and kept[-1]["type"] in _THOUGHTS:
        kept.pop()
    if any(block["type"] in _THOUGHTS for block in kept):  # signed thoughts stand where they stood
        return kept
    calls = [block for block in kept if block["type"] == "tool_use"]
    return [block for block in kept if block["type"] != "tool_use"] + calls


def is_paused(content: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a message ends in a call that the provider itself goes on with, so that nothing may be said behind it."""
    return bool(content) and content[-1]["type"] in _SERVER_CALLS


def without_broken_signatures(sent: Sequence[Block], stored: Sequence[Block]) -> list[Block]:
    """The stored blocks of a reply, each thought that was changed on the way without the signature of the former one.

    A signature over other words is refused with every later request; without one the thought is not sent back.

    Args:
        sent: as the provider sent them.
        stored: as they are to be stored, with secrets taken out.
    """
    return [
        {**new, ("data" if new.get("type") == "redacted_thinking" else "signature"): ""}
        if new.get("type") in _THOUGHTS and new != old
        else new
        for old, new in zip(sent, stored, strict=True)
    ]

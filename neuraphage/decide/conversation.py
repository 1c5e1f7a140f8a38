"""The stored conversation as the model is to see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from neuraphage.model.message import Block
from neuraphage.model.tool import ToolCall, ToolResult

INTERRUPTED_TEXT = (
    "This tool call was interrupted before its result was recorded. It may or may not have run. "
    "Look at the present state before repeating it."
)
CONTINUE_TEXT = "Your reply reached the length limit. Go on from where it stopped."


def result_block(tool_use_id: str, result: ToolResult) -> Block:
    """A tool result as the API takes it."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": result.text}
    if result.is_error:
        block["is_error"] = True
    return block


def tool_calls(content: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """The tool_use blocks of one assistant message, in order."""
    return tuple(
        ToolCall(tool_use_id=block["id"], name=block["name"], params=block["input"])
        for block in content
        if block.get("type") == "tool_use"
    )


def visible(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Entries without those that a later one supersedes."""
    kept: list[Mapping[str, Any]] = []
    origin: list[int] = []
    for index, entry in enumerate(entries):
        first = entry.get("supersedes")
        if first is not None:
            while origin and origin[-1] >= first:
                origin.pop()
                kept.pop()
        kept.append(entry)
        origin.append(index)
    return kept


def api_messages(entries: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Messages for the API: superseded entries gone, roles alternating, every tool_use paired.

    Tool results come first in their message, as the API demands. A tool_use without a result gets one that
    says so (requirement R123): a broken pair would make every later request fail.
    """
    merged: list[dict[str, Any]] = []
    for entry in visible(entries):
        content = [block for block in entry["content"] if not _is_blank(block)]
        if merged and merged[-1]["role"] == entry["role"]:
            merged[-1]["content"].extend(content)
        else:
            merged.append({"role": entry["role"], "content": content})
    repaired: list[dict[str, Any]] = []
    for message in merged:
        wanted = _open_calls(repaired)
        if message["role"] == "user":
            message["content"] = _paired(message["content"], wanted)
        elif wanted:
            repaired.append({"role": "user", "content": _paired([], wanted)})
        if not message["content"]:
            continue
        if repaired and repaired[-1]["role"] == message["role"]:  # what stood between them was empty
            repaired[-1]["content"].extend(message["content"])
        else:
            repaired.append(message)
    wanted = _open_calls(repaired)
    if wanted:
        repaired.append({"role": "user", "content": _paired([], wanted)})
    return repaired


def _is_blank(block: Mapping[str, Any]) -> bool:
    """A text block without text: the model may send one, and the API refuses it when it comes back."""
    return block.get("type") == "text" and not block["text"].strip()


def _open_calls(messages: list[dict[str, Any]]) -> list[str]:
    if not messages or messages[-1]["role"] != "assistant":
        return []
    return [block["id"] for block in messages[-1]["content"] if block.get("type") == "tool_use"]


def _paired(content: list[Block], wanted: list[str]) -> list[Block]:
    """Results for exactly the wanted calls, in their order, then everything else."""
    results = {b["tool_use_id"]: b for b in content if b.get("type") == "tool_result"}
    others = [b for b in content if b.get("type") != "tool_result"]
    return [results.get(call) or _interrupted(call) for call in wanted] + others


def _interrupted(tool_use_id: str) -> Block:
    return result_block(tool_use_id, ToolResult(text=INTERRUPTED_TEXT, is_error=True))


def final_text(content: Iterable[Mapping[str, Any]]) -> str:
    """The text blocks of one message, joined."""
    return "\n".join(block["text"] for block in content if block.get("type") == "text")

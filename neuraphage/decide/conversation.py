"""The stored conversation as the model is to see it."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from neuraphage.decide.attachments import reference
from neuraphage.decide.compacted import compaction_in, sent_blocks
from neuraphage.decide.hashing import sha256_hex
from neuraphage.decide.sendable import in_order, is_paused
from neuraphage.model.effect import MODEL_ENTRY, EffectState, ModelEffect
from neuraphage.model.message import Block, StopReason
from neuraphage.model.tool import ToolCall, ToolResult

INTERRUPTED_TEXT = (
    "This tool call was interrupted before its result was recorded. It may or may not have run. "
    "Look at the present state before repeating it."
)
CONTINUE_TEXT = "Your reply reached the length limit. Go on from where it stopped."
GO_ON_TEXT = "Go on."
"""Ends a conversation whose last words are the model's: newer models refuse one that does not end with a person's."""
NAME_MAX_CHARS = 200
"""Longest name of a tool that the API takes back."""

_CALL_ID = re.compile(r"[A-Za-z0-9_-]{1,200}")


def result_block(tool_use_id: str, result: ToolResult) -> Block:
    """A tool result as the API takes it."""
    block: Block = {"type": "tool_result", "tool_use_id": tool_use_id, "content": result.text}
    if result.media:
        block["content"] = [{"type": "text", "text": result.text}, *map(reference, result.media)]
    if result.is_error:
        block["is_error"] = True
    return block


def result_of(entries: Sequence[Mapping[str, Any]], tool_use_id: str) -> str | None:
    """The text of a call's result as it is stored, also where it is sent shortened; None where there is none."""
    for entry in reversed(entries):
        for block in entry["content"] if entry["role"] == "user" else ():
            if block.get("type") == "tool_result" and block["tool_use_id"] == tool_use_id:
                content = block.get("content")
                return content if isinstance(content, str) else final_text(content or ())
    return None


def tool_calls(content: Iterable[Mapping[str, Any]]) -> tuple[ToolCall, ...]:
    """The tool_use blocks of one assistant message, in order."""
    return tuple(
        ToolCall(tool_use_id=block["id"], name=block["name"], params=block["input"])
        for block in content
        if block.get("type") == "tool_use"
    )


def reply_of_turn(entries: Sequence[Mapping[str, Any]], iteration: int) -> Sequence[Block]:
    """The blocks of a turn's reply; none while there is none. Older releases stored no entry of an empty one."""
    for stored in reversed(entries):
        if stored["role"] == "assistant":
            return list(stored["content"]) if stored.get("turn") == iteration else []
    return []


def calls_of_turn(
    model: ModelEffect | None, entries: Sequence[Mapping[str, Any]], iteration: int
) -> tuple[ToolCall, ...]:
    """The tool calls of a turn's reply, once it is there. A reply that the provider broke off asks for nothing."""
    if model is None or model.state is not EffectState.COMPLETED or model.stop_reason == StopReason.REFUSAL.value:
        return ()
    return tool_calls(reply_of_turn(entries, iteration))


def call_ids(entries: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Ids of every tool call of a conversation."""
    return frozenset(call.tool_use_id for e in entries if e["role"] == "assistant" for call in tool_calls(e["content"]))


def with_own_ids(content: Sequence[Block], taken: Container[str], seed: str) -> list[Block]:
    """The blocks of a reply, each of its calls under an id that no other call of the task has.

    Journal, results and spool know a call by its id, and the API refuses one that comes twice. The API's own ids are
    unique and stay; servers that only speak its language begin to count anew with each reply, or send none.

    Args:
        content: blocks of the reply.
        taken: ids of the calls before it.
        seed: makes new ids; the same for the same reply.
    """
    used = {MODEL_ENTRY}
    blocks: list[Block] = []
    for index, block in enumerate(content):
        if block.get("type") == "tool_use":
            if block["id"] in used or block["id"] in taken or not _CALL_ID.fullmatch(block["id"]):
                block = {**block, "id": f"toolu_{sha256_hex([seed, index])[:24]}"}  # noqa: PLW2901 - the block, mended
            if not 0 < len(block["name"]) <= NAME_MAX_CHARS:
                block = {**block, "name": block["name"][:NAME_MAX_CHARS] or "unnamed"}  # noqa: PLW2901 - likewise
            used.add(block["id"])
        blocks.append(block)
    return blocks


def visible(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Entries without those that a later one supersedes."""
    return [entry for _, entry in numbered_visible(entries)]


def numbered_visible(entries: Sequence[Mapping[str, Any]]) -> list[tuple[int, Mapping[str, Any]]]:
    """Entries without those that a later one supersedes, each with its number.

    A compaction of what comes before those stays: it is about nothing that is hidden, and was paid for.
    """
    kept: list[tuple[int, Mapping[str, Any]]] = []
    for index, entry in enumerate(entries):
        first = entry.get("supersedes")
        if first is not None:
            hidden = []
            while kept and kept[-1][0] >= first:
                hidden.append(kept.pop())
            kept += [row for row in reversed(hidden) if _stands_before(row[1], first)]
        kept.append((index, entry))
    return kept


def _stands_before(entry: Mapping[str, Any], first: int) -> bool:
    """Whether an entry is a compaction that says nothing of the entry with this number, nor of those behind it."""
    point = entry.get("compaction")
    ends = ("to", "results_to", "thoughts_to", "images_to")
    return point is not None and max(point.get(name, 0) for name in ends) <= first


def request_messages(entries: Sequence[Mapping[str, Any]], *, plain: bool = False) -> list[dict[str, Any]]:
    """The messages of a request: those of `api_messages`, with words of a person first and last.

    Args:
        entries: the stored conversation, whatever it holds.
        plain: only words, calls and results; see `sendable`.
    """
    return with_ends(api_messages(entries, plain=plain))


def with_ends(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same list, with words of a person first and last where they are missing."""
    go_on = {"role": "user", "content": [{"type": "text", "text": GO_ON_TEXT}]}
    if not messages or messages[0]["role"] != "user":  # a prompt without words
        messages.insert(0, go_on)
    if messages[-1]["role"] == "assistant" and not is_paused(messages[-1]["content"]):
        messages.append(go_on)
    return messages


def api_messages(entries: Sequence[Mapping[str, Any]], *, plain: bool = False) -> list[dict[str, Any]]:
    """Messages for the API: superseded entries gone, roles alternating, every tool_use paired.

    Tool results come first in their message, as the API demands. A tool_use without a result gets one that
    says so: a broken pair would make every later request fail.
    """
    return paired([], merged_from(entries, plain=plain)[0])


def merged_from(entries: Sequence[Mapping[str, Any]], *, plain: bool = False) -> tuple[list[dict[str, Any]], list[int]]:
    """Entries that are sent, those of one role in a row as one message, each with the number of its first."""
    merged: list[dict[str, Any]] = []
    starts: list[int] = []
    rows = numbered_visible(entries)
    for index, role, content in sent_blocks(rows, compaction_in(rows), plain=plain):
        _append(merged, role, content)
        starts += [index] * (len(merged) - len(starts))
    return merged, starts


def paired(
    before: list[dict[str, Any]], merged: Sequence[dict[str, Any]], *, is_end: bool = True
) -> list[dict[str, Any]]:
    """Add messages to those before them, which are paired already, each call with its result.

    Args:
        before: added to.
        merged: of alternating roles.
        is_end: whether the conversation ends with them; a call that is open then gets its result, too.
    """
    for index, message in enumerate(merged):
        wanted = _open_calls(before)
        content = message["content"]
        if message["role"] == "user":
            content = _paired(content, wanted)
        else:
            if wanted:
                before.append({"role": "user", "content": _paired([], wanted)})
            content = in_order(content, last=is_end and index == len(merged) - 1)
        _append(before, message["role"], content)  # what stood between may have been empty
    wanted = _open_calls(before) if is_end else []
    if wanted:
        before.append({"role": "user", "content": _paired([], wanted)})
    return before


def _append(messages: list[dict[str, Any]], role: str, content: list[Block]) -> None:
    """Add to the last message when it is of the same role; nothing is no message."""
    if not content:
        return
    if messages and messages[-1]["role"] == role:
        # a new one: others may hold the old
        messages[-1] = {"role": role, "content": messages[-1]["content"] + content}
    else:
        messages.append({"role": role, "content": list(content)})


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


def calls_in(content: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The blocks of a reply that call tools, in order."""
    return [block for block in content if block.get("type") == "tool_use"]


def begins_with(entries: Sequence[Mapping[str, Any]], count: int, last: Mapping[str, Any] | None) -> bool:
    """Whether the first so many are those that were seen. Conversations only grow, so the last of them tells."""
    return count == 0 or (len(entries) >= count and entries[count - 1] is last)

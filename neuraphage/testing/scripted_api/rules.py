"""The API's rules about whole conversations: order, pairing, signatures, breakpoints. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError

from neuraphage.testing.scripted_api.script import sign
from neuraphage.testing.scripted_api.shape import SERVER_BLOCKS

MAX_BREAKPOINTS = 4

Body = dict[str, Any]


class Refused(Exception):
    """The request breaks a rule; the message is what the API would say."""


def check_body(body: Any, shape: type[BaseModel]) -> None:
    """Check a parsed body.

    Args:
        body: what the client sent.
        shape: the endpoint's body.

    Raises:
        Refused: it breaks a rule; the first broken one is told.
    """
    if not isinstance(body, dict):
        raise Refused("body: Input should be a valid dictionary")
    try:
        shape.model_validate(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Refused(f"{where}: {first['msg']}") from None
    _check_messages(body)
    _check_tools(body)
    _check_blocks(body)
    _check_pairs(body)


def _check_messages(body: Body) -> None:
    messages = body["messages"]
    if not messages:
        raise Refused("messages: at least one message is required")
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    last = len(messages) - 1
    for index, message in enumerate(messages):
        if not message["content"] and not (index == last and message["role"] == "assistant"):
            raise Refused(
                f"messages.{index}: all messages must have non-empty content"
                " except for the optional final assistant message"
            )
    final = blocks_of(messages[last])
    if messages[last]["role"] == "assistant" and final and final[-1]["type"] == "text":
        text = final[-1]["text"]
        if text != text.rstrip():
            raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _check_tools(body: Body) -> None:
    names = [tool["name"] for tool in body.get("tools") or ()]
    if len(set(names)) != len(names):
        raise Refused("tools: Tool names must be unique.")
    choice = body.get("tool_choice")
    if choice and not names:
        raise Refused("tool_choice may only be specified while providing tools.")
    if choice and choice.get("type") == "tool" and choice.get("name") not in names:
        raise Refused(f"Tool '{choice.get('name')}' not found in provided tools")


def _check_blocks(body: Body) -> None:
    allowed = {
        "user": {"text", "image", "document", "tool_result"},
        "assistant": {"text", "thinking", "redacted_thinking", "tool_use", *SERVER_BLOCKS},
    }
    breakpoints, shorter = 0, False
    for index, message in enumerate(body["messages"]):
        final = blocks_of(message)[-1:]
        if message["role"] == "assistant" and final and final[0]["type"] in ("thinking", "redacted_thinking"):
            kind = final[0]["type"]
            raise Refused(f"messages.{index}: The final block in an assistant message cannot be `{kind}`.")
    for where, role, block in _walk(body):
        if role in allowed and block["type"] not in allowed[role]:
            raise Refused(f"{where}: `{block['type']}` blocks are not allowed in `{role}` messages")
        if block.get("cache_control") is not None:
            breakpoints += 1
            hour = block["cache_control"].get("ttl") == "1h"
            if hour and shorter:
                raise Refused(f"{where}.cache_control.ttl: a ttl='1h' block must not come after a ttl='5m' block")
            shorter = shorter or not hour
            if block.get("text") == "":
                raise Refused(f"{where}.cache_control: cache_control cannot be set for empty text blocks")
        if block.get("type") == "text" and not block["text"].strip():
            raise Refused(f"{where}: text content blocks must contain non-whitespace text")
        if block.get("type") == "tool_result" and block.get("is_error") and not block.get("content"):
            raise Refused(f"{where}.tool_result: content cannot be empty if `is_error` is true")
        if block.get("type") == "thinking" and block["signature"] != sign(block["thinking"]):
            raise Refused(f"{where}: Invalid `signature` in `thinking` block")
    if breakpoints > MAX_BREAKPOINTS:
        raise Refused(f"A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {breakpoints}.")


def _walk(body: Body) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(place, role, block) of everything that may carry a breakpoint."""
    for index, tool in enumerate(body.get("tools") or ()):
        yield f"tools.{index}", "tools", {**tool, "type": "tool"}
    if not isinstance(body.get("system"), str):
        for index, block in enumerate(body.get("system") or ()):
            yield f"system.{index}", "system", block
    for index, message in enumerate(body["messages"]):
        for number, block in enumerate(blocks_of(message)):
            where = f"messages.{index}.content.{number}"
            yield where, message["role"], block
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                for part, inner in enumerate(block["content"]):
                    yield f"{where}.tool_result.content.{part}", "tool_result", inner


def _check_pairs(body: Body) -> None:
    """Every tool_use is answered in the next user message, results first; no result without its call."""
    spans = list(_spans(body["messages"]))
    seen: Counter[str] = Counter()
    expected: list[str] = []
    for position, (index, role, blocks) in enumerate(spans):
        found = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        _check_results(index, role, blocks, expected, found)
        expected = [block["id"] for block in blocks if block["type"] == "tool_use"]
        seen.update(expected)
        if any(count > 1 for count in seen.values()):
            raise Refused(f"messages.{index}: `tool_use` ids must be unique")
        if expected and position == len(spans) - 1:
            raise Refused(_unanswered(index, expected))


def _check_results(index: int, role: str, blocks: list[Body], expected: list[str], found: list[str]) -> None:
    if role != "user":
        return
    missing = [tool_use_id for tool_use_id in expected if tool_use_id not in found]
    if missing:
        raise Refused(_unanswered(index - 1, missing))
    orphans = [tool_use_id for tool_use_id in found if tool_use_id not in expected]
    if orphans:
        raise Refused(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {', '.join(orphans)}."
            " Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
    if len(set(found)) != len(found):
        raise Refused(f"messages.{index}: each tool_use must have a single result. Found multiple `tool_result` blocks")
    if any(block["type"] != "tool_result" for block in blocks[: len(found)]):
        raise Refused(f"messages.{index}: `tool_result` blocks must come first in the message that answers `tool_use`")


def _unanswered(index: int, ids: list[str]) -> str:
    return (
        f"messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after:"
        f" {', '.join(ids)}. Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )


def _spans(messages: list[Body]) -> Iterator[tuple[int, str, list[Body]]]:
    """Consecutive messages of one role count as one message: (index of the last, role, blocks)."""
    blocks: list[Body] = []
    for index, message in enumerate(messages):
        blocks = [*blocks, *blocks_of(message)]
        if index + 1 == len(messages) or messages[index + 1]["role"] != message["role"]:
            yield index, message["role"], blocks
            blocks = []


def blocks_of(message: Body) -> list[Body]:
    """A message's content as blocks."""
    content = message["content"]
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content)

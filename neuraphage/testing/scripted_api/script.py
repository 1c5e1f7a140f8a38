"""Scripts: how the scripted model answers, and the request as a script sees it.

A script is a pure function of the request. It keeps no state, so a request that is sent again after a crash
gets the same answer, byte for byte, whatever else happened in between.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

MARKER = re.compile(r"\[script:([A-Za-z0-9_.-]{1,64})\]")
"""Names the script inside the system prompt or the first user message."""

# Fields that do not change the answer.
_NOT_HASHED = frozenset({"stream", "metadata"})


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a reply is streamed.

    Args:
        first_byte_delay_s: seconds between the response's headers and its first event.
        between_events_s: seconds between two events.
        chunk_chars: characters of text, thinking or tool input in one delta.
        until: at its middle the stream waits until this file is there, with pings as the API sends them; so a test is
            as slow as it has to be, and no reply ends before what should happen in its midst.
    """

    first_byte_delay_s: float = 0.0
    between_events_s: float = 0.0
    chunk_chars: int = 24
    until: Path | None = None


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One answer of a script; made by `reply`.

    Args:
        blocks: content blocks. A tool_use block may hold text as `input`: it is streamed as it is, so that a
            script can write broken JSON.
        stop_reason: as the API spells it.
        usage: usage fields that replace the counted ones.
        pace: how fast it is streamed.
    """

    blocks: tuple[dict[str, Any], ...]
    stop_reason: str
    usage: Mapping[str, int] = field(default_factory=dict)
    pace: Pace = Pace()


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A tool result as a script sees it.

    Args:
        tool_use_id: the call's id.
        name: the tool's name.
        input: the call's input.
        text: the result's text.
        is_error: whether it tells of a failure.
    """

    tool_use_id: str
    name: str
    input: dict[str, Any]
    text: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class ScriptRequest:
    """The request as a script sees it; everything in it comes from the request's body.

    Args:
        body: the validated body.
        request_hash: hash of the canonical body; equal for a request that is sent again.
        turn: number of assistant messages in the conversation.
    """

    body: Mapping[str, Any]
    request_hash: str
    turn: int

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> ScriptRequest:
        """Look at a validated body."""
        turn = sum(message["role"] == "assistant" for message in body["messages"])
        return cls(body=body, request_hash=hash_of(body), turn=turn)

    @property
    def prompt(self) -> str:
        """Text of the first user message."""
        return text_of(self.body["messages"][0]["content"])

    @property
    def system(self) -> str:
        """Text of the system prompt."""
        return text_of(self.body.get("system") or "")

    @property
    def last_text(self) -> str:
        """Text of the last message, without tool results."""
        return text_of(self.body["messages"][-1]["content"])

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the tools on offer."""
        return tuple(tool["name"] for tool in self.body.get("tools") or ())

    @property
    def script_name(self) -> str | None:
        """Name in the first marker of the system prompt, else of the first user message."""
        found = MARKER.search(self.system) or MARKER.search(self.prompt)
        return found.group(1) if found else None

    @property
    def tool_results(self) -> tuple[ToolOutcome, ...]:
        """All tool results of the conversation, oldest first."""
        calls: dict[str, dict[str, Any]] = {}
        outcomes: list[ToolOutcome] = []
        for message in self.body["messages"]:
            for block in _blocks(message["content"]):
                if block["type"] == "tool_use":
                    calls[block["id"]] = block
                elif block["type"] == "tool_result":
                    outcomes.append(_outcome(calls[block["tool_use_id"]], block))
        return tuple(outcomes)

    @property
    def last_tool_results(self) -> tuple[ToolOutcome, ...]:
        """Results of the last assistant message's calls; empty when it called none."""
        last = [message for message in self.body["messages"] if message["role"] == "assistant"][-1:]
        ids = {block["id"] for message in last for block in _blocks(message["content"]) if block["type"] == "tool_use"}
        return tuple(outcome for outcome in self.tool_results if outcome.tool_use_id in ids)


Script = Callable[[ScriptRequest], ScriptedReply]
"""Answers one request."""


def reply(
    text: str = "",
    *,
    tools: Sequence[tuple[str, dict[str, Any] | str]] = (),
    thinking: str | None = None,
    blocks: Sequence[dict[str, Any]] = (),
    stop_reason: str | None = None,
    usage: Mapping[str, int] | None = None,
    pace: Pace | None = None,
) -> ScriptedReply:
    """Write an answer: thinking, then `blocks`, then text, then tool calls.

    Args:
        text: a text block; empty for none.
        tools: (name, input) of each call; an input that is text is streamed as it is.
        thinking: a thinking block; the server signs it and refuses it when it comes back changed.
        blocks: further blocks, sent as they are.
        stop_reason: None for tool_use with tools, else end_turn.
        usage: usage fields that replace the counted ones.
        pace: how fast it is streamed; None for at once.
    """
    content: list[dict[str, Any]] = []
    if thinking is not None:
        content.append({"type": "thinking", "thinking": thinking, "signature": sign(thinking)})
    content.extend(blocks)
    if text:
        content.append({"type": "text", "text": text})
    content.extend({"type": "tool_use", "name": name, "input": tool_input} for name, tool_input in tools)
    return ScriptedReply(
        blocks=tuple(content),
        stop_reason=stop_reason or ("tool_use" if tools else "end_turn"),
        usage=dict(usage or {}),
        pace=pace or Pace(),
    )


def echo(request: ScriptRequest) -> ScriptedReply:
    """The script of a server that was given none: says what it was told."""
    return reply(f"You said: {request.last_text or request.prompt}"[:10_000])


def sign(thinking: str) -> str:
    """The signature of a thinking text."""
    return "sig_" + hashlib.sha256(b"thinking:" + thinking.encode("utf-8", "replace")).hexdigest()


def hash_of(body: Mapping[str, Any]) -> str:
    """Hash of the canonical body, without the fields that do not change the answer."""
    kept = {name: value for name, value in body.items() if name not in _NOT_HASHED}
    canonical = json.dumps(kept, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def text_of(content: Any) -> str:
    """The joined texts of a content (plain text, or blocks)."""
    return "\n".join(block["text"] for block in _blocks(content) if block["type"] == "text")


def _blocks(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _outcome(call: Mapping[str, Any], block: Mapping[str, Any]) -> ToolOutcome:
    return ToolOutcome(
        tool_use_id=block["tool_use_id"],
        name=call["name"],
        input=dict(call["input"]),
        text=text_of(block.get("content") or ""),
        is_error=bool(block.get("is_error")),
    )

"""Messages, exactly as the Messages API takes them, and the entries that store them.

The conversation is a list of entries that is only ever appended to. Each entry is one message (or a part
of one: consecutive entries of the same role are one message to the API), so a tool's result is written
once, when it lands. Thinking blocks and signatures are kept verbatim.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from neuraphage.model.anomaly import AnomalyNote
from neuraphage.model.base import SCHEMA_VERSION, Frozen
from neuraphage.model.cache_use import CacheUse
from neuraphage.model.capacity import ToldLimits
from neuraphage.model.compaction import Compaction
from neuraphage.model.tool import FileSight
from neuraphage.model.tool_traits import RatedKind
from neuraphage.model.usage import Usage

Block = dict[str, Any]
"""One content block as the API spells it: text, thinking, redacted_thinking, tool_use, tool_result."""


class Entry(Frozen):
    """One stored piece of the conversation.

    Args:
        role: user or assistant.
        content: content blocks, in order.
        turn: the iteration that wrote it (0 for the first turn).
        stop_reason: of an assistant entry: why the model stopped.
        unusable_calls: of an assistant entry: calls whose input could not be used (see ModelReply.invalid_inputs).
        supersedes: index of the first entry that this one replaces for the model, with all behind it (another try); the
            replaced entries stay stored. None for an ordinary entry.
        compaction: from this entry on the conversation is sent in a shorter form; what it stands for stays stored.
        tokens: of an assistant entry: tokens of the request that it answers and of itself, as the provider counted
            them; 0 where it told none.
        cache: of an assistant entry: what of its request the provider had in its cache.
        first_token_ms: of what the model wrote: milliseconds from its call to the first event of the stream, as the
            worker saw it that read it to its end; one that went on with the call of another counts from there.
        total_ms: likewise, to the last one; 0 where it is not known. Of the result of a call that took a second or
            longer: how long, as the worker saw it that ran or read it.
        began: of the result of a call that counts for a rate: of which kind, and when the call began (server time,
            milliseconds).
        file: of a tool's result: the file that the call read or wrote. Never sent to the model.
        media: images and documents that this entry brings into the conversation: digest to base64. Blocks of this and
            later entries refer to them; no reader for people is given it (`decide/attachments.py`).
        said: whether a person wrote it.
        anomaly: the words are ours, about an anomaly.
        schema_version: version of this shape.
    """

    role: Literal["user", "assistant"]
    content: list[Block]
    turn: int = 0
    stop_reason: str | None = None
    unusable_calls: int = 0
    supersedes: int | None = None
    compaction: Compaction | None = None
    tokens: int = 0
    cache: CacheUse | None = None
    first_token_ms: int = 0
    total_ms: int = 0
    began: tuple[RatedKind, int] | None = None
    file: FileSight | None = None
    media: dict[str, str] | None = None
    said: bool = False
    anomaly: AnomalyNote | None = None
    schema_version: int = Field(default=SCHEMA_VERSION, alias="v")

    model_config = Frozen.model_config | {"populate_by_name": True}


class StopReason(StrEnum):
    """Why the model stopped (all reasons of the current API)."""

    END_TURN = "end_turn"
    STOP_SEQUENCE = "stop_sequence"
    TOOL_USE = "tool_use"
    MAX_TOKENS = "max_tokens"
    PAUSE_TURN = "pause_turn"
    REFUSAL = "refusal"
    CONTEXT_WINDOW_EXCEEDED = "model_context_window_exceeded"


class ModelRequest(Frozen):
    """One request to the Messages API.

    Args:
        request_id: ours; the same for a repeated call, sent as a header for the provider's logs.
        model: model id.
        system: system prompt blocks.
        messages: API messages, roles alternating, ending with user.
        tools: tool definitions.
        max_tokens: reply limit.
        cache_ttl: how long the provider is to keep what of this request it caches; none where no request follows.
        extra: further body fields, passed through (thinking, temperature, ...).
        call_id: names this call for a relay, which sends it once at most; empty for a call that is not to outlive its
            process.
        task_id: whose request it is.
    """

    request_id: str
    model: str
    system: list[Block]
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    max_tokens: int
    cache_ttl: Literal["5m", "1h", "none"] = "5m"
    extra: dict[str, Any] = Field(default_factory=dict)
    call_id: str = ""
    task_id: str = ""


class ModelReply(Frozen):
    """One whole reply of the model.

    Args:
        content: content blocks verbatim; every tool_use input is parsed JSON.
        stop_reason: one of StopReason; an unknown one is kept as text so that the turn can say so.
        usage: tokens.
        model: the model that answered.
        message_id: the provider's id.
        invalid_inputs: tool_use id -> what the model wrote as that block's input where it cannot be used
            (see `decide.tool_input`; the block's own input is then `{}`); such a call is answered with an error,
            never run.
        first_token_ms: milliseconds to the first event of the stream.
        total_ms: milliseconds to the last.
        told: what the provider's headers say of the limits of this key; None where they say nothing.
    """

    content: list[Block]
    stop_reason: str
    usage: Usage
    model: str
    message_id: str
    invalid_inputs: dict[str, str] = Field(default_factory=dict)
    first_token_ms: int = 0
    total_ms: int = 0
    told: ToldLimits | None = None

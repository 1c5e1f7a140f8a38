"""The shape of a request's body, by the API's own rules.

pydantic's messages are the API's messages ("max_tokens: Field required"), so a client meets here what it
would meet there. Rules that need the whole conversation are in `rules.py`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _CacheControl(_Strict):
    type: Literal["ephemeral"]
    ttl: Literal["5m", "1h"] | None = None


class _Text(_Strict):
    type: Literal["text"]
    text: str
    citations: list[dict[str, Any]] | None = None
    cache_control: _CacheControl | None = None


class _Media(_Strict):
    type: Literal["image", "document"]
    source: dict[str, Any]
    title: str | None = None
    context: str | None = None
    citations: dict[str, Any] | None = None
    cache_control: _CacheControl | None = None


class _Thinking(_Strict):
    type: Literal["thinking"]
    thinking: str
    signature: str


class _RedactedThinking(_Strict):
    type: Literal["redacted_thinking"]
    data: str


class _ToolUse(_Strict):
    type: Literal["tool_use"]
    id: str = Field(pattern=r"^[a-zA-Z0-9_-]+$")
    name: str = Field(min_length=1, max_length=200)
    input: dict[str, Any]
    caller: dict[str, Any] | None = None
    toolset_name: str | None = None
    cache_control: _CacheControl | None = None


class _ServerBlock(BaseModel):
    """What the provider's own tools left in a reply; it goes back as it came, and only its kind is checked."""

    model_config = ConfigDict(extra="allow", strict=True)
    type: Literal[
        "server_tool_use",
        "web_search_tool_result",
        "web_fetch_tool_result",
        "code_execution_tool_result",
        "bash_code_execution_tool_result",
        "text_editor_code_execution_tool_result",
        "tool_search_tool_result",
        "container_upload",
    ]


SERVER_BLOCKS = frozenset(get_args(_ServerBlock.model_fields["type"].annotation))
"""Kinds of the blocks that the provider's own tools leave in a reply."""


def _as_blocks(content: Any) -> Any:
    """Plain text stands for one text block; empty text for no block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return content


_ResultBlocks = Annotated[
    list[Annotated[_Text | _Media, Field(discriminator="type")]],
    BeforeValidator(_as_blocks),
]


class _ToolResult(_Strict):
    type: Literal["tool_result"]
    tool_use_id: str = Field(pattern=r"^[a-zA-Z0-9_-]+$")
    content: _ResultBlocks | None = None
    is_error: bool | None = None
    cache_control: _CacheControl | None = None


_Block = Annotated[
    _Text | _Media | _Thinking | _RedactedThinking | _ToolUse | _ToolResult | _ServerBlock,
    Field(discriminator="type"),
]


class _Message(_Strict):
    role: Literal["user", "assistant"]
    content: Annotated[list[_Block], BeforeValidator(_as_blocks)]


class _InputSchema(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)
    type: Literal["object"]
    properties: dict[str, Any] | None = None
    required: list[str] | None = None


class _Tool(_Strict):
    type: Literal["custom"] | None = None
    name: str = Field(pattern=r"^[a-zA-Z0-9_-]{1,128}$")
    description: str | None = None
    input_schema: _InputSchema
    strict: bool | None = None
    input_examples: list[dict[str, Any]] | None = None
    allowed_callers: list[str] | None = None
    defer_loading: bool | None = None
    eager_input_streaming: bool | None = None
    cache_control: _CacheControl | None = None


class CountTokensBody(_Strict):
    """Body of POST /v1/messages/count_tokens."""

    model: str = Field(min_length=1, max_length=256)
    messages: list[_Message] = Field(max_length=100_000)
    system: Annotated[list[_Text], BeforeValidator(_as_blocks)] | None = None
    tools: list[_Tool] | None = None
    tool_choice: dict[str, Any] | None = None
    thinking: dict[str, Any] | None = None
    output_config: dict[str, Any] | None = None
    cache_control: _CacheControl | None = None


class MessagesBody(CountTokensBody):
    """Body of POST /v1/messages."""

    max_tokens: int = Field(ge=1)
    stream: bool | None = None
    metadata: dict[str, Any] | None = None
    stop_sequences: list[str] | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    container: Any = None
    inference_geo: str | None = None
    temperature: float | None = Field(default=None, ge=0, le=1)
    top_k: int | None = Field(default=None, ge=0)
    top_p: float | None = Field(default=None, ge=0, le=1)

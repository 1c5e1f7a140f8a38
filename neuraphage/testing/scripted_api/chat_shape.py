"""The shape of a Chat Completions body, as strict as the strictest server that speaks the API."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


_NAME = r"^[a-zA-Z0-9_-]{1,64}$"
_ID = Field(min_length=1, max_length=40)


class _TextPart(_Strict):
    type: Literal["text"]
    text: str


class _ImageUrl(_Strict):
    url: str = Field(pattern=r"^(data:image/[a-z+]+;base64,|https?://)")
    detail: str | None = None


class _ImagePart(_Strict):
    type: Literal["image_url"]
    image_url: _ImageUrl


class _File(_Strict):
    filename: str | None = None
    file_data: str | None = None
    file_id: str | None = None


class _FilePart(_Strict):
    type: Literal["file"]
    file: _File


_Part = Annotated[_TextPart | _ImagePart | _FilePart, Field(discriminator="type")]


class _Function(_Strict):
    name: str = Field(pattern=_NAME)
    arguments: str


class _Call(_Strict):
    id: str = _ID
    type: Literal["function"]
    function: _Function


class _System(_Strict):
    role: Literal["system", "developer"]
    content: str


class _User(_Strict):
    role: Literal["user"]
    content: str | Annotated[list[_Part], Field(min_length=1)]


class _Assistant(_Strict):
    role: Literal["assistant"]
    content: str  # null is the API's own, and some servers refuse it
    tool_calls: Annotated[list[_Call], Field(min_length=1)] | None = None


class _Result(_Strict):
    role: Literal["tool"]
    tool_call_id: str = _ID
    content: str


_Message = Annotated[_System | _User | _Assistant | _Result, Field(discriminator="role")]


class _Declared(_Strict):
    name: str = Field(pattern=_NAME)
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class _Tool(_Strict):
    type: Literal["function"]
    function: _Declared


class _StreamOptions(_Strict):
    include_usage: bool | None = None


class ChatBody(_Strict):
    """Body of POST /v1/chat/completions."""

    model: str = Field(min_length=1, max_length=256)
    messages: list[_Message] = Field(min_length=1, max_length=100_000)
    tools: Annotated[list[_Tool], Field(min_length=1, max_length=128)] | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)
    stream: bool | None = None
    stream_options: _StreamOptions | None = None
    stop: str | list[str] | None = None
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, ge=0, le=1)
    seed: int | None = None
    reasoning_effort: str | None = None
    response_format: dict[str, Any] | None = None
    metadata: dict[str, str] | None = None

"""What of a request is looked at before a script is asked: key, version, size, JSON and the API's rules."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import orjson
from pydantic import BaseModel
from starlette.requests import Request

from neuraphage.testing.scripted_api.chat_message import script_body
from neuraphage.testing.scripted_api.rules import Refused, check_body
from neuraphage.testing.scripted_api.shape import MessagesBody

MAX_BODY_BYTES = 32 * 1024 * 1024


class ApiError(Exception):
    """An answer in the API's error shape.

    Args:
        status: HTTP status.
        message: text of the error.
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


async def accepted_body(request: Request, keys: Collection[str], shape: type[BaseModel]) -> dict[str, Any]:
    """The checked body of a request of the Messages API.

    Args:
        request: from a client.
        keys: that are let in; empty for any that is not empty.
        shape: of the body.

    Raises:
        ApiError: key, version, size, JSON or the API's rules.
    """
    # The current SDK sends its API key as a bearer token, older ones as x-api-key; the API takes both.
    key = request.headers.get("x-api-key", "") or _bearer(request)
    if not key:
        raise ApiError(401, "x-api-key header is required")
    if keys and key not in keys:
        raise ApiError(401, "invalid x-api-key")
    if not request.headers.get("anthropic-version"):
        raise ApiError(400, "anthropic-version: header is required")

    def checked(body: Any) -> dict[str, Any]:
        check_body(body, shape)
        whole: dict[str, Any] = body
        return whole

    return await _parsed(request, checked)


async def accepted_chat(request: Request, keys: Collection[str]) -> dict[str, Any]:
    """The checked body of Chat Completions, as a script sees it. As a local server it wants no key unless it has some.

    Raises:
        ApiError: key, size, JSON or the API's rules.
    """
    if keys and _bearer(request) not in keys:
        raise ApiError(401, "Incorrect API key provided")
    return await _parsed(request, script_body)


async def accepted_messages(request: Request, keys: Collection[str]) -> dict[str, Any]:
    """The checked body of a request for a message; see `accepted_body`."""
    return await accepted_body(request, keys, MessagesBody)


def _bearer(request: Request) -> str:
    return request.headers.get("authorization", "").removeprefix("Bearer ")


async def _parsed(request: Request, checked: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    raw = await read_body(request)
    try:
        # As strict as the API, which takes neither NaN nor half a character.
        return checked(orjson.loads(raw))
    except Refused as refused:
        raise ApiError(400, str(refused)) from None
    except (ValueError, RecursionError) as error:
        raise ApiError(400, f"The request body is not valid JSON: {error}") from None


async def read_body(request: Request) -> bytes:
    """The body, at most MAX_BODY_BYTES; a longer one is read to its end, so that the client gets the answer."""
    chunks: list[bytes] = []
    total_bytes = 0
    async for chunk in request.stream():
        total_bytes += len(chunk)
        if total_bytes <= MAX_BODY_BYTES:
            chunks.append(chunk)
    if total_bytes > MAX_BODY_BYTES:
        raise ApiError(413, "Request exceeds the maximum allowed number of bytes.")
    return b"".join(chunks)

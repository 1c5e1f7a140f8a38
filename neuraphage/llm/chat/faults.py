"""Maps every foreign exception of a Chat Completions call to ModelFault. Importing this module imports the SDK."""

from __future__ import annotations

from typing import Any

import httpx2
import openai

from neuraphage.decide.learned_limits import exhausted_s
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.rate_headers import limits_told
from neuraphage.llm.transport_faults import (
    BY_STATUS,
    HISTORY,
    MEDIA,
    NEVER_FITS,
    OVERFLOW,
    describe,
    kind_of_transport,
    own_fault,
    retry_after_s,
    shorten,
)

WRONG_ADDRESS_TEXT = (
    "the server knows neither this model nor, perhaps, this address; most want /v1 at the end of the base URL"
)

_BY_CODE = {
    "insufficient_quota": FaultKind.PERMISSION,  # comes with 429, and no wait helps
    "billing_hard_limit_reached": FaultKind.PERMISSION,
    "billing_not_active": FaultKind.PERMISSION,
    "account_deactivated": FaultKind.PERMISSION,
    "access_terminated": FaultKind.PERMISSION,
    "context_length_exceeded": FaultKind.CONTEXT_OVERFLOW,
    "exceed_context_size_error": FaultKind.CONTEXT_OVERFLOW,
    "string_above_max_length": FaultKind.BAD_HISTORY,
    "model_not_found": FaultKind.NOT_FOUND,
    "invalid_api_key": FaultKind.AUTHENTICATION,
    "rate_limit_exceeded": FaultKind.RATE_LIMITED,
    "rate_limit_error": FaultKind.RATE_LIMITED,
    "overloaded_error": FaultKind.OVERLOADED,
    "engine_overloaded": FaultKind.OVERLOADED,
    "unavailable_error": FaultKind.OVERLOADED,  # a server that loads its model
}
"""By an error's code or type, which say more than its status."""
_BY_TYPE = {
    "invalid_request_error": FaultKind.BAD_REQUEST,
    "badrequesterror": FaultKind.BAD_REQUEST,
    "authentication_error": FaultKind.AUTHENTICATION,
    "permission_error": FaultKind.PERMISSION,
    "not_found_error": FaultKind.NOT_FOUND,
}
"""Of an error inside a stream, which has no status."""
_BY_CLASS: tuple[tuple[type[BaseException], FaultKind], ...] = (
    (openai.APITimeoutError, FaultKind.TIMEOUT),
    (openai.APIConnectionError, FaultKind.NETWORK),
    (openai.APIError, FaultKind.GARBAGE),
    (openai.OpenAIError, FaultKind.SERVER_ERROR),
)


def fault_of(error: Exception, *, streaming: bool, now_s: float) -> ModelFault:
    """Map a foreign exception.

    Args:
        error: what the SDK let out.
        streaming: whether the reply had begun (a ValueError is then a bad reply, before it a bad request).
        now_s: wall clock in Unix seconds, for a retry-after that is a date.

    Returns:
        The fault; its message still has to be cleared of secrets.
    """
    if (own := own_fault(error)) is not None:
        return own
    if isinstance(error, openai.APIStatusError):
        message, codes = _words(error.body)
        kind = _kind(kind_of_status(error.status_code), codes, message)
        request = f" to request {error.request_id}" if error.request_id else ""
        told = f"the API answered {error.status_code}{request}: {message or 'nothing'}"
        if kind is FaultKind.NOT_FOUND:
            told = f"{told} ({WRONG_ADDRESS_TEXT})"
        headers = error.response.headers
        limits, wait_s = limits_told(headers, now_s), retry_after_s(headers, now_s)
        return ModelFault(
            kind,
            shorten(told),
            exhausted_s(limits) if wait_s is None else wait_s,
            told=None if limits is None else limits.model_dump(),
        )
    kind = kind_of(error, streaming=streaming) or FaultKind.NETWORK
    return ModelFault(kind, shorten(describe(error)))


def kind_of(error: BaseException, *, streaming: bool) -> FaultKind | None:
    """The kind of a foreign exception; None when no rule knows its class."""
    if isinstance(error, openai.APIStatusError):
        return kind_of_status(error.status_code)
    if isinstance(error, httpx2.HTTPStatusError):
        return kind_of_status(error.response.status_code)
    if type(error) is openai.APIConnectionError and error.__cause__ is not None:
        # The SDK wraps whatever the HTTP client raised; the cause says more (a bad URL never gets better).
        return kind_of(error.__cause__, streaming=streaming) or FaultKind.NETWORK
    for known, kind in _BY_CLASS:
        if isinstance(error, known):
            return kind
    return kind_of_transport(error, streaming=streaming)


def kind_of_status(status: int) -> FaultKind:
    """The kind of an HTTP status. 503 means here that a server is full, or still loads its model."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status == 503:
        return FaultKind.OVERLOADED
    if status >= 500:
        return FaultKind.SERVER_ERROR
    return FaultKind.BAD_REQUEST if status >= 400 else FaultKind.GARBAGE


def fault_of_chunk(data: Any) -> ModelFault | None:
    """The fault that the data of a chunk tells; None for an ordinary chunk.

    Args:
        data: parsed. An error is under `error`, as an object or a text, or is the object itself.
    """
    if not isinstance(data, dict):
        return None
    error = data if data.get("object") == "error" else data.get("error")
    if not error:
        return None
    message, codes = _words(error)
    status = next((int(code) for code in codes if code.isdigit()), 0)
    of_type = next((_BY_TYPE[code] for code in codes if code in _BY_TYPE), FaultKind.SERVER_ERROR)
    kind = _kind(kind_of_status(status) if status >= 400 else of_type, codes, message)
    return ModelFault(kind, shorten(f"the stream told of an error: {message or error!r}"))


def _words(body: object) -> tuple[str, list[str]]:
    """What a body says, and its codes: servers write an object, a text, a list of complaints, or `detail`."""
    if not isinstance(body, dict):
        return ("" if body is None else str(body)), []
    inner = body.get("error")
    if isinstance(inner, dict | str) and inner:
        return _words(inner)
    codes = [str(body[name]).lower() for name in ("code", "type") if body.get(name)]
    return str(body.get("message") or body.get("detail") or body), codes


def _kind(by_status: FaultKind, codes: list[str], message: str) -> FaultKind:
    if by_status is FaultKind.CONTEXT_OVERFLOW or NEVER_FITS.search(message):  # Groq tells a 413 by a code of 429s
        return FaultKind.CONTEXT_OVERFLOW
    if by_status in (FaultKind.BAD_REQUEST, FaultKind.SERVER_ERROR) and MEDIA.search(" ".join([message, *codes])):
        return FaultKind.BAD_HISTORY
    found = next((_BY_CODE[code] for code in codes if code in _BY_CODE), None)
    if found is not None:
        return found
    if OVERFLOW.search(message) and by_status is not FaultKind.RATE_LIMITED:  # with 500, too, of some servers
        return FaultKind.CONTEXT_OVERFLOW
    return FaultKind.BAD_HISTORY if by_status is FaultKind.BAD_REQUEST and HISTORY.search(message) else by_status

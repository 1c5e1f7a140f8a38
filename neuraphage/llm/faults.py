"""Maps every foreign exception of a model call to ModelFault.

Measured on anthropic 2.14: a dropped stream, a stalled stream and a garbage chunk are not exceptions of the
SDK's own tree, and an `error` event in a stream arrives with HTTP status 200. So three trees are mapped (the
SDK's, httpx2's, Python's), and a test enumerates the first two.
"""

from __future__ import annotations

from typing import Any

import anthropic
import httpx2

from neuraphage.decide.learned_limits import exhausted_s
from neuraphage.errors import FaultKind, ModelFault
from neuraphage.llm.rate_headers import limits_told
from neuraphage.llm.transport_faults import (
    BY_STATUS,
    HISTORY,
    MEDIA,
    OVERFLOW,
    describe,
    kind_of_transport,
    own_fault,
    retry_after_s,
    shorten,
)

_BY_ERROR_TYPE = {
    "invalid_request_error": FaultKind.BAD_REQUEST,
    "authentication_error": FaultKind.AUTHENTICATION,
    "billing_error": FaultKind.PERMISSION,
    "permission_error": FaultKind.PERMISSION,
    "not_found_error": FaultKind.NOT_FOUND,
    "request_too_large": FaultKind.CONTEXT_OVERFLOW,
    "rate_limit_error": FaultKind.RATE_LIMITED,
    "timeout_error": FaultKind.TIMEOUT,
    "api_error": FaultKind.SERVER_ERROR,
    "overloaded_error": FaultKind.OVERLOADED,
}

# The account is at fault, whatever the status says: with 429 too no wait helps, and with 400 the request was right.
_ACCOUNT_CODES = frozenset(
    {
        "enforced_spend_limit_reached",
        "contract_spend_limit_reached",
        "organization_on_hold",
        "cmek_key_disabled",
        "cmek_key_network_blocked",
    }
)
# These two come as 400 without a code.
_ACCOUNT_WORDS = ("credit balance is too low", "specified api usage limits")

# First match wins, so each class stands before its bases.
_BY_CLASS: tuple[tuple[type[BaseException], FaultKind], ...] = (
    (anthropic.APITimeoutError, FaultKind.TIMEOUT),
    (anthropic.APIConnectionError, FaultKind.NETWORK),
    (anthropic.APIError, FaultKind.GARBAGE),
    (anthropic.CredentialsError, FaultKind.AUTHENTICATION),
    (anthropic.AnthropicError, FaultKind.SERVER_ERROR),
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
    if isinstance(error, anthropic.APIStatusError):
        message = str(error.api_message or error.message)
        kind = _by_words(kind_of_status(error.status_code, error.type), error.error_code, message)
        request = f" to request {error.request_id}" if error.request_id else ""
        told = f"the API answered {error.status_code}{request}: {message}"
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
    if isinstance(error, anthropic.APIStatusError):
        return kind_of_status(error.status_code, error.type)
    if isinstance(error, httpx2.HTTPStatusError):
        return kind_of_status(error.response.status_code, None)
    if type(error) is anthropic.APIConnectionError and error.__cause__ is not None:
        # The SDK wraps whatever the HTTP client raised; the cause says more (a bad URL never gets better).
        return kind_of(error.__cause__, streaming=streaming) or FaultKind.NETWORK
    for known, kind in _BY_CLASS:
        if isinstance(error, known):
            return kind
    return kind_of_transport(error, streaming=streaming)


def kind_of_status(status: int, error_type: str | None) -> FaultKind:
    """The kind of an HTTP status; inside a stream (status 200) the error's type decides."""
    if status in BY_STATUS:
        return BY_STATUS[status]
    if status < 400:
        return kind_of_error_type(error_type) if error_type else FaultKind.GARBAGE
    if status >= 500:
        return FaultKind.OVERLOADED if error_type == "overloaded_error" else FaultKind.SERVER_ERROR
    return FaultKind.BAD_REQUEST


def kind_of_error_type(error_type: str) -> FaultKind:
    """The kind of an `error.type`; an unknown one counts as a failure of the server."""
    return _BY_ERROR_TYPE.get(error_type, FaultKind.SERVER_ERROR)


def fault_of_event(data: Any) -> ModelFault:
    """The fault told by an `error` event inside a stream.

    Args:
        data: the event's parsed data, or its text when it is not JSON.
    """
    error = data.get("error") if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return ModelFault(FaultKind.SERVER_ERROR, shorten(f"the stream told of an error: {data!r}"))
    error_type, message, details = (
        str(error.get("type", "api_error")),
        str(error.get("message", "")),
        error.get("details"),
    )
    code = details.get("error_code") if isinstance(details, dict) else None
    kind = _by_words(kind_of_error_type(error_type), code, message)
    return ModelFault(kind, shorten(f"the stream told of {error_type}: {message}"))


def _by_words(kind: FaultKind, error_code: object, message: str) -> FaultKind:
    """What the code and the words of an error tell beyond its status.

    PERMISSION when a person must put the account in order first, and the same request is right after that. Of a bad
    request: whether the conversation is too long, or holds what is not taken back.
    """
    if isinstance(error_code, str) and error_code in _ACCOUNT_CODES:
        return FaultKind.PERMISSION
    if kind not in (FaultKind.BAD_REQUEST, FaultKind.CONTEXT_OVERFLOW):
        return kind
    if any(words in message.lower() for words in _ACCOUNT_WORDS):
        return FaultKind.PERMISSION
    if OVERFLOW.search(message) or error_code == "context_length_exceeded":
        return FaultKind.CONTEXT_OVERFLOW
    is_history = HISTORY.search(message) or MEDIA.search(message)
    return FaultKind.BAD_HISTORY if kind is FaultKind.BAD_REQUEST and is_history else kind

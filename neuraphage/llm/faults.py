"""Maps every foreign exception of a model call to ModelFault.

Measured on anthropic 2.14: a dropped stream, a stalled stream and a garbage chunk are not exceptions of the
SDK's own tree, and an `error` event in a stream arrives with HTTP status 200. So three trees are mapped (the
SDK's, httpx2's, Python's), and a test enumerates the first two.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any

import anthropic
import httpcore2
import httpx2

from neuraphage.errors import FaultKind, ModelFault

MAX_RETRY_AFTER_S = 3600.0
MAX_DETAIL_CHARS = 20_000
"""Far more than is kept of it: what this cut leaves half of a secret is gone when the rest has been redacted."""

_BY_STATUS = {
    401: FaultKind.AUTHENTICATION,
    402: FaultKind.PERMISSION,  # billing: a person must act, as with 403
    403: FaultKind.PERMISSION,
    404: FaultKind.NOT_FOUND,
    408: FaultKind.TIMEOUT,
    409: FaultKind.SERVER_ERROR,  # a lock on the provider's side: the SDK retries it too
    413: FaultKind.TOO_LARGE,
    429: FaultKind.RATE_LIMITED,
    499: FaultKind.NETWORK,  # a proxy between says that we hung up; we did not
    529: FaultKind.OVERLOADED,
}

_BY_ERROR_TYPE = {
    "invalid_request_error": FaultKind.BAD_REQUEST,
    "authentication_error": FaultKind.AUTHENTICATION,
    "billing_error": FaultKind.PERMISSION,
    "permission_error": FaultKind.PERMISSION,
    "not_found_error": FaultKind.NOT_FOUND,
    "request_too_large": FaultKind.TOO_LARGE,
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

# 400s of which the words alone tell what is wrong; those of servers that speak the API's language too.
_OVERFLOW = re.compile(
    r"prompt is too long|input is too long|too many (?:total text bytes|tokens)"
    r"|exceeds? (?:the )?(?:available )?context|context[ _](?:length|window|limit)[ _](?:is )?exceed"
    r"|maximum context length|maximum prompt length|greater than the context length|reduce the length of the messages",
    re.IGNORECASE,
)
_HISTORY = re.compile(r"\bmessages(?:\.\d+|\[\d+\]|:)|`?(?:redacted_)?thinking`? block|`?signature`? in", re.IGNORECASE)

# First match wins, so each class stands before its bases.
_BY_CLASS: tuple[tuple[type[BaseException], FaultKind], ...] = (
    (anthropic.APITimeoutError, FaultKind.TIMEOUT),
    (anthropic.APIConnectionError, FaultKind.NETWORK),
    (anthropic.APIError, FaultKind.GARBAGE),
    (anthropic.CredentialsError, FaultKind.AUTHENTICATION),
    (anthropic.AnthropicError, FaultKind.SERVER_ERROR),
    (httpx2.TimeoutException, FaultKind.TIMEOUT),
    (httpx2.UnsupportedProtocol, FaultKind.BAD_REQUEST),
    (httpx2.LocalProtocolError, FaultKind.BAD_REQUEST),
    (httpx2.InvalidURL, FaultKind.BAD_REQUEST),
    (httpx2.CookieConflict, FaultKind.BAD_REQUEST),
    (httpx2.DecodingError, FaultKind.GARBAGE),
    (httpx2.TooManyRedirects, FaultKind.GARBAGE),
    (httpx2.HTTPError, FaultKind.NETWORK),
    (httpx2.StreamError, FaultKind.NETWORK),
    (httpcore2.TimeoutException, FaultKind.TIMEOUT),
    (httpcore2.UnsupportedProtocol, FaultKind.BAD_REQUEST),
    (httpcore2.NetworkError, FaultKind.NETWORK),
    (httpcore2.ProtocolError, FaultKind.NETWORK),
    (httpcore2.ProxyError, FaultKind.NETWORK),
    (httpcore2.ConnectionNotAvailable, FaultKind.NETWORK),
    (json.JSONDecodeError, FaultKind.GARBAGE),
    (UnicodeDecodeError, FaultKind.GARBAGE),
    (TimeoutError, FaultKind.TIMEOUT),
    (OSError, FaultKind.NETWORK),  # sockets and ssl
)

# What the SDK raises for arguments it cannot send, and for bytes it cannot read.
_PROGRAMMING = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def fault_of(error: Exception, *, streaming: bool, now_s: float) -> ModelFault:
    """Map a foreign exception.

    Args:
        error: what the SDK let out.
        streaming: whether the reply had begun (a ValueError is then a bad reply, before it a bad request).
        now_s: wall clock in Unix seconds, for a retry-after that is a date.

    Returns:
        The fault; its message still has to be cleared of secrets.
    """
    if isinstance(error, ModelFault):
        return error
    if isinstance(error.__cause__, ModelFault):  # from a hook of ours; the SDK wraps whatever the HTTP client raised
        return error.__cause__
    if isinstance(error, anthropic.APIStatusError):
        message = str(error.api_message or error.message)
        kind = _by_words(kind_of_status(error.status_code, error.type), error.error_code, message)
        request = f" to request {error.request_id}" if error.request_id else ""
        told = f"the API answered {error.status_code}{request}: {message}"
        return ModelFault(kind, shorten(told), retry_after_s(error.response.headers, now_s))
    kind = kind_of(error, streaming=streaming) or FaultKind.NETWORK
    return ModelFault(kind, shorten(_describe(error)))


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
    if isinstance(error, _PROGRAMMING):
        return FaultKind.GARBAGE if streaming else FaultKind.BAD_REQUEST
    return None


def kind_of_status(status: int, error_type: str | None) -> FaultKind:
    """The kind of an HTTP status; inside a stream (status 200) the error's type decides."""
    if status in _BY_STATUS:
        return _BY_STATUS[status]
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
    if kind not in (FaultKind.BAD_REQUEST, FaultKind.TOO_LARGE):
        return kind
    if any(words in message.lower() for words in _ACCOUNT_WORDS):
        return FaultKind.PERMISSION
    if _OVERFLOW.search(message) or error_code == "context_length_exceeded":
        return FaultKind.CONTEXT_OVERFLOW
    return FaultKind.BAD_HISTORY if kind is FaultKind.BAD_REQUEST and _HISTORY.search(message) else kind


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """The wait that the provider asks for, in seconds, within 0 and MAX_RETRY_AFTER_S.

    Args:
        headers: response headers; `retry-after-ms` is finer and goes first.
        now_s: wall clock in Unix seconds.

    Returns:
        None when no header says anything readable.
    """
    wait_s = _number(headers.get("retry-after-ms"))
    if wait_s is not None:
        return _clamp(wait_s / 1000)
    text = headers.get("retry-after")
    wait_s = _number(text)
    if wait_s is None and text:
        try:
            date = parsedate_to_datetime(text)
        except (ValueError, IndexError, OverflowError):
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        wait_s = date.timestamp() - now_s
    return None if wait_s is None else _clamp(wait_s)


def shorten(text: str) -> str:
    """At most MAX_DETAIL_CHARS of a message."""
    return text if len(text) <= MAX_DETAIL_CHARS else text[:MAX_DETAIL_CHARS] + "..."


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _clamp(wait_s: float) -> float:
    return min(max(wait_s, 0.0), MAX_RETRY_AFTER_S)


def _describe(error: BaseException) -> str:
    cause = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return text if cause is None else f"{text} (because of {type(cause).__name__}: {cause})"

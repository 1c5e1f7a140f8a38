"""What the faults of all providers share: HTTP, its libraries, and the words of refusals. Imports no SDK."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime

import httpcore2
import httpx2

from neuraphage.errors import FaultKind, ModelFault

MAX_RETRY_AFTER_S = 3600.0
MAX_DETAIL_CHARS = 20_000
"""Far more than is kept of it: what this cut leaves half of a secret is gone when the rest has been redacted."""

BY_STATUS = {
    401: FaultKind.AUTHENTICATION,
    402: FaultKind.PERMISSION,  # billing: a person must act, as with 403
    403: FaultKind.PERMISSION,
    404: FaultKind.NOT_FOUND,
    408: FaultKind.TIMEOUT,
    409: FaultKind.SERVER_ERROR,  # a lock on the provider's side: the SDK retries it too
    413: FaultKind.CONTEXT_OVERFLOW,  # in bytes, as the others in tokens: a shorter conversation is what helps
    429: FaultKind.RATE_LIMITED,
    499: FaultKind.NETWORK,  # a proxy between says that we hung up; we did not
    529: FaultKind.OVERLOADED,
}

# 400s of which the words alone tell what is wrong; those of servers that speak an API's language too. That too many
# tokens come and one is to wait (Bedrock) says nothing of the length.
OVERFLOW = re.compile(
    r"(?:prompt|input|request|conversation) (?:is )?too (?:long|large)"
    r"|too many (?:total text bytes|tokens(?!, please wait))"
    r"|exceed(?:s|ed)? (?:the )?(?:(?:model'?s? |available |max(?:imum)? )*context|max(?:imum)? allowed input length)"
    r"|exceeded model token limit|token limit exceeded|surpass\w* the (?:model'?s )?context"
    r"|(?:context|model_context)[ _](?:length|window|limit|size)[ _](?:is |has been )?exceed"
    r"|(?:input|prompt) token count.{0,40} exceeds|input tokens exceed"
    r"|max(?:imum)? (?:model )?(?:context|prompt) (?:length|size)|context size is \d"
    r"|(?:greater|longer) than the (?:model'?s |maximum )*context length"
    r"|reduce the length of the (?:messages|input|prompt)",
    re.IGNORECASE,
)
NEVER_FITS = re.compile(r"request too large for .{1,200} tokens per min", re.IGNORECASE | re.DOTALL)
"""Told as a refusal for too many calls, but one request alone is over what a minute has: no wait helps."""
HISTORY = re.compile(r"\bmessages(?:\.\d+|\[\d+\]|:)|`?(?:redacted_)?thinking`? block|`?signature`? in", re.IGNORECASE)

MEDIA = re.compile(
    r"could not process (?:the )?(?:image|pdf|document)|image_parse_error|invalid_image|unsupported image"
    r"|image input is not supported|(?:not|n't) support(?: \w+){0,3} (?:images?|image_url|vision|files?)\b",
    re.IGNORECASE,
)
"""An image or a document is refused: damaged, of a kind or a size that is not taken, or by a model that sees none."""

# First match wins, so each class stands before its bases.
_BY_CLASS: tuple[tuple[type[BaseException], FaultKind], ...] = (
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

# What an SDK raises for arguments it cannot send, and for bytes it cannot read.
_PROGRAMMING = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def own_fault(error: BaseException) -> ModelFault | None:
    """What a hook of ours raised; the SDKs wrap whatever comes out of the HTTP client."""
    return next((one for one in (error, error.__cause__) if isinstance(one, ModelFault)), None)


def kind_of_transport(error: BaseException, *, streaming: bool) -> FaultKind | None:
    """The kind of an exception of HTTP or of Python; None when no rule knows its class.

    Args:
        error: what came out of a call.
        streaming: whether the reply had begun (a ValueError is then a bad reply, before it a bad request).
    """
    for known, kind in _BY_CLASS:
        if isinstance(error, known):
            return kind
    if isinstance(error, _PROGRAMMING):
        return FaultKind.GARBAGE if streaming else FaultKind.BAD_REQUEST
    return None


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


def describe(error: BaseException) -> str:
    """Class and words of an exception, and of what caused it."""
    cause = error.__cause__
    text = f"{type(error).__name__}: {error}"
    return text if cause is None else f"{text} (because of {type(cause).__name__}: {cause})"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return None if math.isnan(value) else value


def _clamp(wait_s: float) -> float:
    return min(max(wait_s, 0.0), MAX_RETRY_AFTER_S)

"""The connection to the state server, and the translation of its errors.

redis-py's own retries are off for blocking waits and kept small elsewhere: every script here may be
repeated (claim id, commit token, signal key), so a lost reply is answered by sending it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.retry import Retry

from neuraphage.errors import CorruptRecord, SettingsError, StoreError, StoreUnavailable

RedisClient = Any
"""A redis.Redis whose replies are bytes. Untyped, because redis-py types each reply as a union over all
protocols and decodings; every reply is turned into our own values in this room."""

SOCKET_TIMEOUT_S = 5.0
"""Longest wait for one reply. Scripts take milliseconds; a frozen server must not hold a heartbeat."""
RETRIES = 3
"""Replays of one call: 3 tries in about half a second; the callers above wait longer where it pays."""
MAX_CONNECTIONS = 256
"""One a thread of the largest pool we recommend (32 slots), the heartbeat, watchers and viewers."""

_UNAVAILABLE = (
    redis.exceptions.ConnectionError,  # refused, broken, LOADING (BusyLoadingError)
    redis.exceptions.TimeoutError,
    redis.exceptions.ReadOnlyError,
    redis.exceptions.OutOfMemoryError,
)
_UNAVAILABLE_PREFIXES = (
    "MISCONF",
    "OOM",
    "READONLY",
    "LOADING",
    "BUSY",
    "MASTERDOWN",
    "NOREPLICAS",
    "CLUSTERDOWN",
)


def connect(url: str, *, client_name: str | None = None, socket_timeout_s: float = SOCKET_TIMEOUT_S) -> RedisClient:
    """A client of the state server; connections are made when first used.

    Args:
        url: redis://, rediss:// or unix://, with password and database.
        client_name: name shown by CLIENT LIST.
        socket_timeout_s: longest wait for one reply.

    Raises:
        SettingsError: the URL cannot be read.
    """
    try:
        return redis.Redis.from_url(
            url,
            client_name=client_name,
            socket_timeout=socket_timeout_s,
            socket_connect_timeout=socket_timeout_s,
            retry=Retry(ExponentialBackoff(cap=0.25, base=0.05), RETRIES),
            max_connections=MAX_CONNECTIONS,
        )
    except ValueError as error:
        raise SettingsError(
            f"state_url cannot be read ({error}); write redis://host:port/db or unix:///path?db=1"
        ) from None


def is_unavailable(error: redis.exceptions.RedisError) -> bool:
    """Whether waiting and repeating is right."""
    text = str(error)
    if text.startswith("Command # "):  # inside a pipeline, redis-py puts the command before the server's words
        text = text.rpartition("caused error: ")[2]
    return isinstance(error, _UNAVAILABLE) or text.lstrip("-").startswith(_UNAVAILABLE_PREFIXES)


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn redis errors into ours.

    Args:
        what: what was tried, for the message.

    Raises:
        StoreUnavailable: the server is away, loading, read-only or full.
        StoreError: it refused for another reason (wrong password, no permission, a script error).
    """
    try:
        yield
    except redis.exceptions.RedisError as error:
        if is_unavailable(error):
            raise StoreUnavailable(
                f"{what}: the state server did not answer ({type(error).__name__}: {error}); "
                "nothing was half done, repeat when it is back"
            ) from error
        raise StoreError(f"{what}: the state server refused ({type(error).__name__}: {error})") from error


def corrupt(what: str, found: object) -> CorruptRecord:
    """The error for a stored record that breaks its own rules."""
    return CorruptRecord(f"{what}: the stored record cannot be read ({found}); it was left untouched")

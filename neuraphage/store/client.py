"""The connection to the state server, and the translation of its errors.

redis-py's own retries are off for blocking waits and kept small elsewhere: every script here may be
repeated (claim id, commit token, signal key), so a lost reply is answered by sending it again.

Relies on: `redis_connect_func`, `on_connect` and `handshake_metadata` of a connection, and on a pool that makes its
connections of its `connection_class` and `connection_kwargs`. So the server's version, and that the server is no
replica, cost no round trip of their own. See tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis
from redis.backoff import ExponentialBackoff
from redis.driver_info import DriverInfo
from redis.retry import Retry

from neuraphage.decide.server_url import is_sentinel, parse_sentinel
from neuraphage.errors import BadInput, CorruptRecord, SettingsError
from neuraphage.store.failover import leaving_replicas
from neuraphage.store.refusals import OLDEST_SERVER, ServerTooOld, store_error, too_old_text
from neuraphage.store.sentinel import LoginRefused, sentinel_client

RedisClient = Any
"""A redis.Redis whose replies are bytes. Untyped, because redis-py types each reply as a union over all
protocols and decodings; every reply is turned into our own values in this room."""

SOCKET_TIMEOUT_S = 5.0
"""Longest wait for one reply. Scripts take milliseconds; a frozen server must not hold a heartbeat."""
RETRIES = 3
"""Replays of one call: 3 tries in about half a second; the callers above wait longer where it pays."""
MAX_CONNECTIONS = 256
"""One a thread of the largest pool we recommend (32 slots), the heartbeat, watchers and viewers."""

DRIVER = DriverInfo(lib_version=redis.__version__)
"""What CLIENT LIST shows of the library. Without it redis-py reads the installed metadata for every connection."""

FILES_OF_TLS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")


def connect(
    url: str,
    *,
    client_name: str | None = None,
    socket_timeout_s: float = SOCKET_TIMEOUT_S,
    setting: str = "state_url",
    retries: int = RETRIES,
) -> RedisClient:
    """A client of the state server, or of the broker; connections are made when first used.

    Args:
        url: redis://, rediss://, unix:// or sentinel://, with user, password and database; see decide/server_url.py.
        client_name: name shown by CLIENT LIST.
        socket_timeout_s: longest wait for one reply.
        setting: where the URL comes from, for errors.
        retries: how often a call is sent again.

    Raises:
        SettingsError: the URL cannot be read, or names a file that is not there.
    """
    options: dict[str, Any] = {
        "client_name": client_name,
        "socket_timeout": socket_timeout_s,
        "socket_connect_timeout": socket_timeout_s,
        "retry": Retry(ExponentialBackoff(cap=0.25, base=0.05), retries),
        "max_connections": MAX_CONNECTIONS,
        "redis_connect_func": _greet,
        "driver_info": DRIVER,
    }
    if not url.startswith("unix://"):
        options["socket_keepalive"] = True  # a path that a firewall forgot is noticed
    try:
        client = (
            sentinel_client(parse_sentinel(url), options) if is_sentinel(url) else redis.Redis.from_url(url, **options)
        )
        pool = client.connection_pool
        pool.connection_class = leaving_replicas(pool.connection_class)
        pool.connection_class(**pool.connection_kwargs)  # a word that no connection takes is met here, not later
    except (ValueError, TypeError) as error:
        raise SettingsError(
            f"{setting} cannot be read ({error}); write redis://host:port/db, rediss://..., unix:///path?db=1 or"
            " sentinel://host:port,host:port/db?service_name=name"
        ) from None
    for name in FILES_OF_TLS:
        path = pool.connection_kwargs.get(name)
        if path and not Path(path).is_file():
            raise SettingsError(f"{setting}: {name} names {path}, and there is no such file")
    return client


def _greet(connection: Any) -> None:
    """What a new connection begins with; the server's version comes with its greeting and costs nothing."""
    try:
        connection.on_connect()
    except redis.exceptions.AuthenticationError as error:
        raise LoginRefused(str(error)) from error  # of another branch than what redis-py tries again
    greeting = connection.handshake_metadata or {}
    version = str_of(greeting.get(b"version", greeting.get("version", "")))
    numbers = tuple(int(part) for part in version.split(".")[:2] if part.isdecimal())
    if len(numbers) == 2 and numbers < OLDEST_SERVER:
        raise ServerTooOld(f"the state server is too old: {too_old_text(version)}")


def str_of(text: str | bytes) -> str:
    """A reply as text."""
    return text.decode() if isinstance(text, bytes) else text


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn redis errors into ours.

    Args:
        what: what was tried, for the message.

    Raises:
        StoreUnavailable: the server is away, loading, read-only or full.
        AccessRefused: it does not let this process in; the message says what to correct.
        StoreError: it refused for another reason.
        BadInput: a text holds half a character, which no server takes.
    """
    try:
        yield
    except UnicodeEncodeError:
        raise BadInput(f"{what}: a text is not UTF-8 (it holds half a character); correct it") from None
    except redis.exceptions.RedisError as error:
        raise store_error(what, error) from error


def corrupt(what: str, found: object) -> CorruptRecord:
    """The error for a stored record that breaks its own rules."""
    return CorruptRecord(f"{what}: the stored record cannot be read ({found}); it was left untouched")

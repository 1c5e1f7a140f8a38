"""What a server tells about itself: its version, its memory, how it writes to disk, its clock.

Relies on: the number of the database in a pool's `connection_kwargs`, since no server tells it. See
tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import redis

from neuraphage.decide.server_findings import ServerInfo
from neuraphage.store.client import RedisClient, connect, translated

TIMEOUT_S = 3.0


def read_server(url: str) -> ServerInfo:
    """Ask the state server.

    Args:
        url: see store.client.connect.

    Raises:
        StoreError: it does not answer or does not let this user in; the message says which.
        SettingsError: the URL cannot be read.
    """
    client = connect(url, socket_timeout_s=TIMEOUT_S)
    try:
        with translated("ask the state server"):
            client.ping()
            return info_of(client)
    finally:
        client.close()


def info_of(client: RedisClient) -> ServerInfo:
    """Ask the server of a client; also of the broker's, which kombu makes.

    Raises:
        redis.exceptions.RedisError: it does not answer.
    """
    info: Mapping[str, Any] = _allowed(client.info) or {}
    aof = info.get("aof_enabled")
    return ServerInfo(
        version=str(info.get("redis_version", "unknown")),
        run_id=str(info.get("run_id", "")),
        db=client.connection_pool.connection_kwargs.get("db") or 0,
        appendonly=None if aof is None else bool(aof),
        appendfsync=_configured(client, "appendfsync"),
        maxmemory_policy=info.get("maxmemory_policy") or _configured(client, "maxmemory-policy"),
        used_bytes=int(info.get("used_memory", 0)),
        limit_bytes=int(info.get("maxmemory", 0)),
        ahead_ms=_ahead_ms(client),
    )


def _ahead_ms(client: RedisClient) -> int | None:
    sent_s = time.time()
    told = _allowed(client.time)
    if told is None:
        return None
    seconds, micros = told
    return int((seconds + micros / 1e6 - (sent_s + time.time()) / 2) * 1000)


def _configured(client: RedisClient, name: str) -> str | None:
    found = _allowed(client.config_get, name) or {}
    value = found.get(name, found.get(name.encode()))
    return value.decode() if isinstance(value, bytes) else value


def _allowed(ask: Any, *arguments: str) -> Any:
    """The answer, or None when this user may not ask, or the server knows no such command."""
    try:
        return ask(*arguments)
    except redis.exceptions.ResponseError:
        return None

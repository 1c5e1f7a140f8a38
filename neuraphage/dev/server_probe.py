"""Ask an embedded server how it is, and find its process. The only Redis commands outside the store."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

CLIENT_TIMEOUT_S = 2.0

Answer = Literal["ready", "loading", "refused", "silent"]
"""ready; reading its data; another password; no answer."""


def ask(socket_path: Path, password: str) -> Answer:
    """Ask a server whether it works, with one PING and no retry.

    Args:
        socket_path: its unix socket.
        password: of the default user.
    """
    try:
        with _client(socket_path, password) as client:
            client.ping()
    except redis.BusyLoadingError:
        return "loading"
    except redis.AuthenticationError:
        return "refused"
    except redis.RedisError:
        return "silent"
    return "ready"


def take_over(socket_path: Path, password: str, *, port: int, fsync: str) -> bool:
    """Make a running server what was asked for.

    Args:
        socket_path: its unix socket.
        password: of the default user.
        port: the port that it must have.
        fsync: always or everysec; set if it is another one.

    Returns:
        False when it must be started anew for that.
    """
    try:
        with _client(socket_path, password) as client:
            client.config_set("appendfsync", fsync)
            return int(client.config_get("port")["port"]) == port
    except redis.RedisError:
        return False


def find_process(config: Path) -> psutil.Process | None:
    """Find a running server that was started with this configuration file."""
    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or []
        if len(argv) >= 2 and Path(argv[0]).name in ("valkey-server", "redis-server") and argv[1] == str(config):
            return process
    return None


def _client(socket_path: Path, password: str) -> redis.Redis:
    return redis.Redis(
        unix_socket_path=str(socket_path),
        password=password,
        socket_timeout=CLIENT_TIMEOUT_S,
        socket_connect_timeout=CLIENT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )

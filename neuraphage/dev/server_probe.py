"""Ask an embedded server how it is, and find its process. The only Redis commands outside the store."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import psutil
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

CLIENT_TIMEOUT_S = 2.0
_PROC = Path("/proc")
"""Its links lead to a folder itself, also when that was moved or removed. Not there on macOS."""

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
    """Find a running server of the folder of this configuration file, whatever the folder was called at its start."""
    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or []
        is_server = len(argv) >= 2 and Path(argv[0]).name in ("valkey-server", "redis-server")
        if is_server and _serves(process, config, is_named=argv[1] == str(config)):
            return process
    return None


def _serves(process: psutil.Process, config: Path, *, is_named: bool) -> bool:
    """Whether a server works in the folder; its command line may name it by a link, or by a name of the past.

    Args:
        process: a server.
        config: its configuration file, if it serves the folder.
        is_named: whether its command line names just this file.
    """
    try:
        place = _PROC / str(process.pid) / "cwd" if _PROC.is_dir() else Path(process.cwd())
        if place.samefile(config.parent):
            return True
        return is_named and not (place / config.name).exists()  # it begins, or its folder is gone; else that has moved
    except (OSError, psutil.Error):
        return is_named


def _client(socket_path: Path, password: str) -> redis.Redis:
    return redis.Redis(
        unix_socket_path=str(socket_path),
        password=password,
        socket_timeout=CLIENT_TIMEOUT_S,
        socket_connect_timeout=CLIENT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )

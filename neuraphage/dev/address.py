"""Where a server is reached, and what URLs say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from neuraphage.decide.server_pair import BROKER_DB, STATE_DB


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """URLs of one server. They hold its password, so they are never shown.

    Args:
        state_url: for the store (unix://, redis:// or rediss://).
        broker_url: for Celery; another database of the same or of another server.
        socket_path: unix socket of an embedded server; None for a server elsewhere.
        port: loopback port of an embedded server; None for a server elsewhere.
    """

    state_url: str = field(repr=False)
    broker_url: str = field(repr=False)
    socket_path: Path | None = None
    port: int | None = None


def embedded_address(password: str, socket_path: Path, port: int) -> ServerAddress:
    """Address a server of this machine: state over its socket, the broker over loopback.

    Args:
        password: of the default user.
        socket_path: absolute path of the unix socket.
        port: loopback port.
    """
    secret = quote(password, safe="")
    return ServerAddress(
        state_url=f"unix://:{secret}@{quote(str(socket_path))}?db={STATE_DB}",
        broker_url=f"redis://:{secret}@127.0.0.1:{port}/{BROKER_DB}",
        socket_path=socket_path,
        port=port,
    )

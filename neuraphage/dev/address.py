"""Where a server is reached, and what URLs say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlsplit, urlunsplit

from neuraphage.errors import SettingsError

BROKER_DB = 0
STATE_DB = 1


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


def external_address(state_url: str | None, broker_url: str | None) -> ServerAddress:
    """Address a server that someone else runs; a missing URL is the other one with the other database.

    Args:
        state_url: NEURAPHAGE_STATE_URL, if set.
        broker_url: NEURAPHAGE_BROKER_URL, if set.

    Raises:
        SettingsError: neither is set, both name one database, or the missing one cannot be derived.
    """
    state = state_url or _with_db(broker_url, STATE_DB, "NEURAPHAGE_STATE_URL")
    broker = broker_url or _with_db(state_url, BROKER_DB, "NEURAPHAGE_BROKER_URL")
    if state.rstrip("/") == broker.rstrip("/"):
        raise SettingsError(
            "NEURAPHAGE_STATE_URL and NEURAPHAGE_BROKER_URL name the same database: a purge of the queue would delete"
            " every task; give one of them another database number"
        )
    return ServerAddress(state_url=state, broker_url=broker)


def _with_db(url: str | None, db: int, missing: str) -> str:
    parts = urlsplit(url or "")
    if parts.scheme not in ("redis", "rediss", "sentinel") or ";" in (url or ""):
        raise SettingsError(
            f"{missing} is not set and cannot be derived from a {parts.scheme or 'missing'} URL: set it"
        )
    return urlunsplit(parts._replace(path=f"/{db}"))

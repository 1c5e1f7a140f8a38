"""The state server behind Sentinels: every new connection asks them who the master is now.

Relies on: `discover_master` being asked at each connection, and on the clients in `sentinels`. redis-py itself tells a
name that nobody knows, where waiting does not help, like a master that is away. See
tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0.
"""

from __future__ import annotations

from typing import Any

import redis
from redis import sentinel as _untyped
from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import MasterNotFoundError

from neuraphage.decide.server_url import SentinelUrl, sentinel_login

_sentinel: Any = _untyped
"""Its classes carry no types."""


class NoSuchService(redis.exceptions.RedisError):
    """The Sentinels answer and know no master of this name: waiting does not help."""


class LoginRefused(redis.exceptions.RedisError):
    """A wrong user name or password: waiting does not help."""


def sentinel_client(found: SentinelUrl, options: dict[str, Any]) -> redis.Redis:
    """A client of the master that the Sentinels name; connects when first used.

    Args:
        found: the Sentinels, and what they call the master.
        options: of every connection to the master, in redis-py's words.
    """
    sentinels = _Sentinels(
        found.sentinels, sentinel_kwargs=sentinel_login(found) | {"retry": Retry(NoBackoff(), 0), "protocol": 2}
    )
    tls = {"connection_class": _sentinel.SentinelManagedSSLConnection, **found.tls_options} if found.tls else {}
    login = {"db": found.db, "username": found.username, "password": found.password}
    return redis.Redis(
        connection_pool=_sentinel.SentinelConnectionPool(found.service_name, sentinels, **login, **tls, **options)
    )


class _Sentinels(_sentinel.Sentinel):  # type: ignore[misc]  # as above
    """Tells a name that nobody knows from a master that is away."""

    def discover_master(self, service_name: str) -> tuple[str, int]:
        try:
            address: tuple[str, int] = super().discover_master(service_name)
        except MasterNotFoundError as error:
            known = self._known_services()
            if known is not None and service_name not in known:
                names = ", ".join(sorted(known)) or "none"
                raise NoSuchService(f"the Sentinels know no service {service_name!r}, only: {names}") from error
            said = "the Sentinels name no master now" if known else "no Sentinel answers"
            raise MasterNotFoundError(f"{said} (service {service_name!r})") from error
        return address

    def _known_services(self) -> set[str] | None:
        """Names that the Sentinels know; None when none of them answers."""
        refused: redis.exceptions.AuthenticationError | None = None
        known: set[str] | None = None
        for sentinel in self.sentinels:
            try:
                known = (known or set()) | set(sentinel.sentinel_masters())
            except redis.exceptions.AuthenticationError as error:
                refused = error
            except redis.exceptions.RedisError:
                continue
        if known is None and refused is not None:
            raise LoginRefused(f"{refused}; a Sentinel said so: see sentinel_password")
        return known

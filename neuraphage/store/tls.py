"""Connections to the state server by TLS that refuse a port which speaks none."""

from __future__ import annotations

from functools import partial
from typing import Any

import redis
from redis import sentinel as _untyped

from neuraphage.tls_port import ADVICE, PlainPort, shake_hands

_sentinel: Any = _untyped
"""Its classes carry no types."""
_PLAIN: Any = redis.Connection
"""Nor do the inner methods of this one."""


class SpeaksNoTls(redis.exceptions.RedisError):
    """The server speaks no TLS on this port: waiting does not help."""


class TlsConnection(redis.SSLConnection):
    """A connection by TLS. What speaks none is refused once: the error is of another branch than what is retried."""

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        dial = partial(_PLAIN._connect, self)
        try:
            return shake_hands(sock, super()._wrap_socket_with_ssl, dial, (self.host, self.port))
        except PlainPort as error:
            raise SpeaksNoTls(f"the state server {ADVICE}") from error


class MasterByTls(_sentinel.SentinelManagedConnection, TlsConnection):  # type: ignore[misc]  # as above
    """The same, to the master that Sentinels name."""

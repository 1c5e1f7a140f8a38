"""kombu's Redis transport, with connections by TLS that refuse a port which speaks none.

kombu waits `socket_timeout` for a handshake, half a minute here, and as long again at each try. `queue.make_app` puts
this transport into kombu's table under the name `rediss`; kombu writes that name into URLs that Flower and people read,
so it is no name of our own.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import redis
from kombu.transport import redis as _untyped

from neuraphage.tls_port import ADVICE, PlainPort, shake_hands

_redis_transport: Any = _untyped
"""Its classes carry no types."""
_PLAIN: Any = redis.Connection
"""Nor do the inner methods of this one."""


class BrokerTlsConnection(redis.SSLConnection):
    """A connection by TLS; kombu hears of a plain port as of a server that is away, with the reason."""

    def _wrap_socket_with_ssl(self, sock: Any) -> Any:
        dial = partial(_PLAIN._connect, self)
        try:
            return shake_hands(sock, super()._wrap_socket_with_ssl, dial, (self.host, self.port))
        except PlainPort as error:
            raise redis.exceptions.ConnectionError(f"the broker {ADVICE}") from error


class Channel(_redis_transport.Channel):  # type: ignore[misc]  # as above
    """kombu's, with that connection."""

    connection_class_ssl = BrokerTlsConnection


class Transport(_redis_transport.Transport):  # type: ignore[misc]  # as above
    """kombu's, with that channel."""

    Channel = Channel

"""kombu's Redis transport, with connections by TLS that refuse a port which speaks none.

kombu waits `socket_timeout` for a handshake, half a minute here, and as long again at each try. `queue.make_app` puts
this transport into kombu's table under the name `rediss`; kombu writes that name into URLs that Flower and people read,
so it is no name of our own.
"""

from __future__ import annotations

from typing import Any

import redis
from kombu.transport import redis as _untyped

from neuraphage.tls_port import TlsOrRefusal

_redis_transport: Any = _untyped
"""Its classes carry no types."""


class BrokerTlsConnection(TlsOrRefusal):
    """kombu hears of a plain port as of a server that is away, with the reason."""

    server = "the broker"
    refusal = redis.exceptions.ConnectionError


class Channel(_redis_transport.Channel):  # type: ignore[misc]  # as above
    """kombu's, with that connection."""

    connection_class_ssl = BrokerTlsConnection


class Transport(_redis_transport.Transport):  # type: ignore[misc]  # as above
    """kombu's, with that channel."""

    Channel = Channel

"""kombu's Redis transport, with connections by TLS that refuse a port which speaks none.

kombu waits `socket_timeout` for a handshake, half a minute here, and as long again at each try. The connections of our
app get this transport where kombu's own table says `rediss`: that name stays, since kombu writes it into URLs that
Flower and people read, and so does the table, which other apps of the process use too.

Changes: `get_transport_cls` and `ensure_connection` of the connections of our app.
Read against: Celery 5.7.0, kombu 5.7.0, redis-py 8.1.0.
"""

from __future__ import annotations

from typing import Any

import kombu
import redis
from celery.app.amqp import AMQP
from kombu.transport import redis as _untyped

from neuraphage.tls_port import TlsOrRefusal

_kombu: Any = kombu
_redis_transport: Any = _untyped
"""Their classes carry no types."""


RECONNECTING = {"interval_start": 1, "interval_step": 1, "interval_max": 2}
"""Seconds between two tries to reach the broker, in kombu's words."""


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


class BrokerConnection(_kombu.Connection):  # type: ignore[misc]  # as above
    """kombu's, with that transport for `rediss`."""

    def get_transport_cls(self) -> Any:
        """See kombu."""
        return Transport if self.transport_cls == "rediss" else super().get_transport_cls()

    def ensure_connection(self, *args: Any, **options: Any) -> Any:
        """See kombu. After a long absence it would wait for half a minute between two tries, and a worker with it."""
        return super().ensure_connection(*args, **RECONNECTING | options)


class BrokerAmqp(AMQP):  # type: ignore[misc]  # as above
    """Celery's, with those connections."""

    Connection = BrokerConnection

"""Connections to the state server by TLS that refuse a port which speaks none."""

from __future__ import annotations

from typing import Any

import redis
from redis import sentinel as _untyped

from neuraphage.tls_port import TlsOrRefusal

_sentinel: Any = _untyped
"""Its classes carry no types."""


class SpeaksNoTls(redis.exceptions.RedisError):
    """The server speaks no TLS on this port: waiting does not help."""


class TlsConnection(TlsOrRefusal):
    """What speaks none is refused once: the error is of another branch than what is retried."""

    server = "the state server"
    refusal = SpeaksNoTls


class MasterByTls(_sentinel.SentinelManagedConnection, TlsConnection):  # type: ignore[misc]  # as above
    """The same, to the master that Sentinels name."""

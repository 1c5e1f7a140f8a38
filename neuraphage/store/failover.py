"""Connections that leave a server which has become a replica: its name may belong to another one by now.

Relies on: every reply coming through `read_response` of a connection, and `disconnect` of it and of a pool. redis-py
does this behind Sentinels alone. See tests/unit/store/test_redis_py_parts.py.
Read against: redis-py 8.1.0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import redis

from neuraphage.store.refusals import words_of


def is_read_only(error: redis.exceptions.RedisError) -> bool:
    """Whether a server refused a write because it is a replica."""
    return isinstance(error, redis.exceptions.ReadOnlyError) or words_of(error).startswith("READONLY")


class _LeavesReplicas:
    """Mixed into a connection: a READONLY ends it, so that the next command looks the address up anew.

    After a failover behind one name (DNS, a proxy, a moved address) the former master lives on as a replica and keeps
    its connections. Over them a process would be refused for ever, while the new master takes writes.
    """

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        """See redis.connection.AbstractConnection."""
        try:
            return super().read_response(*args, **kwargs)  # type: ignore[misc]  # of the class it is mixed into
        except redis.exceptions.ResponseError as error:
            if is_read_only(error):
                self.disconnect()  # type: ignore[attr-defined]  # as above
            raise


GREETING = "HELLO"
"""A command whose reply tells the role of the server; every user may send it."""


def refuse_replica(client: Any, greeting: Any) -> None:
    """See that what is only read, or heard, comes from a master: reads tell nobody that their server was demoted.

    Args:
        client: whose connections are left, so that the next command looks the address up anew.
        greeting: the reply to GREETING, as a map or as a flat list.

    Raises:
        redis.exceptions.ReadOnlyError: it is a replica.
    """
    pairs = greeting if isinstance(greeting, dict) else dict(zip(greeting[::2], greeting[1::2], strict=True))
    role = pairs.get(b"role", pairs.get("role"))
    if role not in (b"master", "master"):
        client.connection_pool.disconnect(inuse_connections=False)
        raise redis.exceptions.ReadOnlyError("the server at this address has become a replica")


@cache
def leaving_replicas(connection_class: type) -> type:
    """A subclass of a connection class whose connections end when their server refuses a write as a replica."""
    return type(f"LeavingReplicas{connection_class.__name__}", (_LeavesReplicas, connection_class), {})

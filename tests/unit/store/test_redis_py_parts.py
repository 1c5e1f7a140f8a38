"""What the store relies on of redis-py beyond its commands is there in the installed version.

These are parts that a new release may change without a word. One that does is noticed here, by the name of the module
that has to be looked at again, and not in a worker.
"""

from __future__ import annotations

import importlib
import re

import hiredis
import pytest
import redis
from redis import sentinel
from redis.connection import AbstractConnection, Connection, ConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.driver_info import DriverInfo
from redis.sentinel import (
    MasterNotFoundError,
    Sentinel,
    SentinelConnectionPool,
    SentinelManagedConnection,
    SentinelManagedSSLConnection,
)

from neuraphage.store.client import connect
from neuraphage.store.standby_order import _NEEDS_REDIS_PY
from reliedon import method, read_against, sets, takes, tell_unread
from source_tree import ROOT, source_files

BENEATH = re.compile(
    r"connection_pool|connection_class|connection_kwargs|read_response|send_packed_command|\bon_connect\b"
    r"|handshake_metadata|driver_info|pack_command|redis[. ](?:import )?sentinel|redis\.(?:connection|parsers|_)"
)
"""What is beneath redis-py's commands."""
URL = "rediss://u:p@h:1/2?ssl_ca_certs=/ca"


def words_of(url: str) -> dict[str, object]:
    """What a pool makes its connections with."""
    return dict(redis.Redis.from_url(url).connection_pool.connection_kwargs)


def refuses_an_unknown_word() -> bool:
    """Whether a connection that is made with a word that nobody knows says so at once."""
    with pytest.raises(TypeError):
        Connection(nonsense=1)
    return True


RELIED_ON = {
    "client": lambda: [
        takes(Connection, "socket_keepalive", "redis_connect_func", "driver_info", "client_name", "retry"),
        takes(UnixDomainSocketConnection, "redis_connect_func", "driver_info", "client_name", "retry"),
        sets(AbstractConnection.connect_check_health, "redis_connect_func", "disconnect"),
        method(AbstractConnection, "on_connect"),
        sets(AbstractConnection.on_connect_check_health, "handshake_metadata"),
        Connection().handshake_metadata is None,
        takes(DriverInfo, "lib_version"),
        sets(ConnectionPool.make_connection, "connection_class", "connection_kwargs"),
        refuses_an_unknown_word(),
        issubclass(redis.AuthenticationError, redis.ConnectionError),
    ],
    "failover": lambda: [
        method(AbstractConnection, "read_response"),
        sets(redis.Redis.parse_response, "read_response"),
        sets(redis.client.PubSub.parse_response, "read_response"),
        method(AbstractConnection, "disconnect"),
        method(ConnectionPool, "disconnect", "inuse_connections"),
        issubclass(redis.ReadOnlyError, redis.ResponseError),
    ],
    "round_trip": lambda: [
        method(AbstractConnection, "connect"),
        sets(AbstractConnection.connect_check_health, "_sock"),
        method(AbstractConnection, "send_packed_command", "command"),
        sets(AbstractConnection.send_packed_command, "sendall"),
        sets(AbstractConnection.read_response, "ResponseError"),
        b"".join([hiredis.pack_command(("GET", b"k", 1))]) == b"*3\r\n$3\r\nGET\r\n$1\r\nk\r\n$1\r\n1\r\n",
    ],
    "sentinel": lambda: [
        takes(SentinelConnectionPool, "service_name", "sentinel_manager"),
        sets(sentinel.SentinelConnectionPoolProxy.get_master_address, "discover_master"),
        sets(SentinelManagedConnection.connect, "_connect_retry"),
        sets(SentinelManagedConnection._connect_retry, "_sock", "get_master_address"),
        issubclass(SentinelManagedSSLConnection, SentinelManagedConnection),
        takes(Sentinel, "sentinels", "sentinel_kwargs"),
        sets(Sentinel.__init__, "sentinels"),
        method(Sentinel, "discover_master", "service_name"),
        sets(Sentinel.discover_master, "sentinels", "sentinel_masters"),
        issubclass(MasterNotFoundError, redis.ConnectionError),
    ],
    "server_info": lambda: [words_of(URL)["db"] == 2, "db" not in words_of("redis://h")],
    "standby_order": lambda: [
        words_of(URL).items() >= {"host": "h", "port": 1, "db": 2, "username": "u", "password": "p"}.items(),
        words_of(URL)["ssl_ca_certs"] == "/ca",
        words_of("unix:///s?db=3").items() >= {"path": "/s", "db": 3}.items(),
        takes(SSLConnection, *_NEEDS_REDIS_PY),
        issubclass(connect(URL.partition("?")[0]).connection_pool.connection_class, redis.SSLConnection),
    ],
}
"""For each module of the store: what it calls, overrides or reads."""


@pytest.mark.parametrize("name", RELIED_ON)
def test_what_a_module_relies_on_is_there(name: str) -> None:
    """By signature, by attribute, or by what comes of it, each at its place in the list."""
    assert [place for place, is_there in enumerate(RELIED_ON[name]()) if not is_there] == []


def test_each_of_them_says_what_and_of_which_version() -> None:
    """In its docstring; and whatever else reaches beneath the commands must have a row above."""
    reaching = [path for path in source_files() if BENEATH.search(path.read_text(encoding="utf-8"))]
    patched = ROOT / "neuraphage" / "queue" / "patched"
    modules = {path.stem for path in reaching if patched not in path.parents}
    assert modules == RELIED_ON.keys()
    for name in modules:
        said = importlib.import_module(f"neuraphage.store.{name}").__doc__ or ""
        assert re.search(r"^Relies on: \S", said, re.MULTILINE), name
        assert "redis" in read_against(said), name
        tell_unread(name, said)

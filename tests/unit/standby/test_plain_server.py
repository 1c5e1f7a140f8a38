"""The small client beside a worker reaches whatever the worker's own URL names, as the same user."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest

from neuraphage.settings import Settings
from neuraphage.standby.plain_server import PlainServer
from neuraphage.store.client import connect
from neuraphage.store.standby_order import standby_order
from neuraphage.wiring import build_store
from remotekit import PASSWORD, SERVICE, TcpServer, TlsFront, make_certificates, running, sentinel_group
from turnkit import until

pytestmark = pytest.mark.real_redis
KEY = "where"


def beside(url: str) -> PlainServer:
    """The client that a worker with this URL starts beside itself."""
    settings = Settings(state_url=url, broker_url="redis://127.0.0.1:1/0")  # type: ignore[arg-type]  # pydantic reads it
    order = standby_order(build_store(settings).context)
    assert order is not None
    return PlainServer(order)


def test_a_user_of_an_access_list_and_a_database(tmp_path: Path) -> None:
    """Name, password with letters that a URL quotes, and database are those of the URL."""
    acl = f'user worker on ">{PASSWORD}" ~* &* +@all'
    server = TcpServer(tmp_path / "s", (acl,))
    with running(server):
        url = f"redis://worker:{quote(PASSWORD, safe='')}@127.0.0.1:{server.port}/3"
        connect(url).set(KEY, "three")
        client = beside(url)
        assert client.call("GET", KEY) == b"three"
        assert client.call("ACL", "WHOAMI") == b"worker"
        assert client.call("EVAL", "return {1, 'a', {}, false}", 0) == [b"1", b"a", [], None]


def test_a_refusal_ends_the_connection_and_the_next_call_makes_one(tmp_path: Path) -> None:
    """A server that was restarted is found again, and one that refuses is no crash."""
    server = TcpServer(tmp_path / "s")
    with running(server):
        client = beside(f"redis://127.0.0.1:{server.port}/0")
        with pytest.raises(OSError, match="unknown command"):
            client.call("NONSENSE")
        assert client.call("PING") == b"PONG"
        server.kill()
        with pytest.raises(OSError, match=r"."):
            client.call("PING")
        server.start()
        assert client.call("PING") == b"PONG"


def test_tls_with_the_authority_of_the_url(tmp_path: Path) -> None:
    """The same trust as the worker's: the named authority is believed, and a stranger is not."""
    certificates = make_certificates(tmp_path)
    server = TcpServer(tmp_path / "s")
    with running(server), TlsFront(certificates, server.port) as front:
        url = f"rediss://127.0.0.1:{front.port}/0"
        client = beside(f"{url}?ssl_ca_certs={certificates.authority}")
        assert client.call("PING") == b"PONG"
        client.close()
        with pytest.raises(OSError, match="CERTIFICATE_VERIFY_FAILED"):
            beside(url).call("PING")


def test_the_new_master_after_a_failover(tmp_path: Path) -> None:
    """Each connection asks the Sentinels, and one to the former master is left when that refuses."""
    group = sentinel_group(tmp_path, PASSWORD, "other")
    with running(group.master, group.replica, group.sentinel):
        until(lambda: group.is_whole)
        hosts = ",".join(group.hosts)
        secret = quote(PASSWORD, safe="")
        url = f"sentinel://:{secret}@{hosts}/1?service_name={SERVICE}&sentinel_password=other"
        client = beside(url)
        assert client.call("SET", KEY, "1") == b"OK"
        group.master.kill()

        def written() -> bool:
            try:
                return bool(client.call("SET", KEY, "2") == b"OK")
            except OSError:
                return False

        until(written)
        with group.replica.client(db=1) as new_master:
            assert new_master.get(KEY) == b"2"

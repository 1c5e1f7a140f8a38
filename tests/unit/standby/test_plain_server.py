"""The small client beside a worker reaches whatever the worker's own URL names, as the same user."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis

from neuraphage.settings import Settings
from neuraphage.standby.plain_server import PlainServer, Refused, tls_context
from neuraphage.store.client import connect
from neuraphage.store.standby_order import standby_order
from neuraphage.wiring import build_store
from remotekit import PASSWORD, SERVICE, Certificates, TcpServer, TlsFront, make_certificates, running, sentinel_group
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
        with pytest.raises(Refused, match="unknown command"):
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


# --- what a server may do, by one that says what it is told to ---


class Scripted:
    """Answers each command with the next of these pieces, and ends the connection with None.

    Args:
        listener: where it listens.
        answers: each a list of pieces, sent one by one; an empty one is no answer at all.
    """

    def __init__(self, listener: socket.socket, *answers: Sequence[bytes | None]) -> None:
        self._listener, self._answers = listener, list(answers)
        self.heard: list[bytes] = []
        self.ended = threading.Event()

    def __enter__(self) -> Scripted:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    @property
    def address(self) -> tuple[str, int]:
        host, port = self._listener.getsockname()
        return host, port

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                with client:
                    self._talk(client)
                self.ended.set()

    def _talk(self, client: socket.socket) -> None:
        while heard := client.recv(65_536):
            self.heard.append(heard)
            for piece in self._answers.pop(0):
                if piece is None:
                    return
                client.sendall(piece)


def told(*answers: Sequence[bytes | None]) -> Scripted:
    """One on a loopback port."""
    return Scripted(socket.create_server(("127.0.0.1", 0)), *answers)


def to(server: Scripted | None = None, **words: Any) -> PlainServer:
    """A client of it, without a password, that waits for a minute."""
    host, port = server.address if server is not None else ("", 0)
    order: dict[str, Any] = {"path": None, "host": host, "port": port, "db": 0, "username": None, "password": None}
    return PlainServer(order | {"tls": None, "sentinels": [], "timeout_s": 60.0} | words)


LARGE = b"x" * 200_000


def test_a_reply_in_any_pieces_is_one_reply() -> None:
    """However the network cuts it, also between the two bytes that end a line; what comes behind it waits."""
    reply = b"*4\r\n$3\r\na\r\n\r\n:12\r\n*-1\r\n$-1\r\n"
    large = b"$%d\r\n%b\r\n" % (len(LARGE), LARGE)
    with told([reply[at : at + 1] for at in range(len(reply))], [large], [b"+OK\r\n"]) as server:
        client = to(server)
        assert client.call("GET", b"\xff", 7) == [b"a\r\n", b"12", [], None]
        assert client.call("GET", "large") == LARGE
        assert client.call("PING") == b"OK"
        assert server.heard[0] == b"*3\r\n$3\r\nGET\r\n$1\r\n\xff\r\n$1\r\n7\r\n"


@pytest.mark.parametrize("half", [b"*2\r\n$1\r\na\r\n", b"$5\r\nab", b"+O"])
def test_half_a_reply_is_none(half: bytes) -> None:
    """The server went away in its midst: an error, and nothing of it is left for the next connection."""
    with told([half, None], [b"+OK\r\n"]) as server:
        client = to(server)
        with pytest.raises(OSError, match="closed"):
            client.call("GET", "key")
        assert client.call("PING") == b"OK"


@pytest.mark.parametrize("by_path", [True, False])
def test_a_server_that_stands_still_is_left(tmp_path: Path, by_path: bool) -> None:
    """It holds the process no longer than it would hold the worker."""
    path = str(tmp_path / "s")
    listener = socket.socket(socket.AF_UNIX) if by_path else socket.create_server(("127.0.0.1", 0))
    if by_path:
        listener.bind(path)
        listener.listen()
    with Scripted(listener, []) as server:
        client = to(path=path, timeout_s=0.05) if by_path else to(server, timeout_s=0.05)
        with pytest.raises(TimeoutError):
            client.call("PING")
        assert server.ended.wait(60), "the connection is ended"


def test_a_password_without_a_name_and_a_name_without_a_password() -> None:
    """The second is no login: the server takes the default user without one."""
    with told([b"+OK\r\n"], [b"+PONG\r\n"]) as server:
        assert to(server, password="secret").call("PING") == b"PONG"
        assert server.heard[0] == b"*2\r\n$4\r\nAUTH\r\n$6\r\nsecret\r\n"
    with told([b"+PONG\r\n"]) as server:
        assert to(server, username="worker").call("PING") == b"PONG"


@pytest.mark.parametrize("found", [True, False])
def test_each_sentinel_is_asked_until_one_knows_the_master(found: bool) -> None:
    """One refuses, one does not know it, one leaves in the midst of its reply: the next one is asked anew."""
    with (
        told([b"-ERR not now\r\n"]) as refuses,
        told([b"*-1\r\n"]) as strange,
        told([b"$9\r\n127.0", None]) as leaves,
        told([b"+PONG\r\n"]) as master,
    ):
        _, port = master.address
        named = b"*2\r\n$9\r\n127.0.0.1\r\n$%d\r\n%d\r\n" % (len(str(port)), port)
        with told([named if found else b"*-1\r\n"]) as knows:
            sentinels = [refuses, strange, leaves, knows]
            client = to(
                sentinels=[sentinel.address for sentinel in sentinels],
                service_name="np",
                sentinel_username=None,
                sentinel_password=None,
                sentinel_tls=None,
            )
            if found:
                assert client.call("PING") == b"PONG"
            else:
                with pytest.raises(OSError, match="no Sentinel names a master"):
                    client.call("PING")
            assert all(sentinel.ended.wait(60) for sentinel in sentinels)


# --- TLS ---


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """An authority and what it signed."""
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def trust(context: ssl.SSLContext) -> tuple[object, ...]:
    """All that a context says of whom it trusts and how it speaks."""
    ciphers = [cipher["name"] for cipher in context.get_ciphers()]
    authorities = sorted(found["serialNumber"] for found in context.get_ca_certs())
    return context.check_hostname, context.verify_mode, context.minimum_version, ciphers, authorities


@pytest.mark.parametrize(
    "words",
    [
        "",
        "?ssl_cert_reqs=none",
        "?ssl_cert_reqs=none&ssl_check_hostname=true",
        "?ssl_cert_reqs=optional",
        "?ssl_check_hostname=false",
        "?ssl_ca_certs={authority}",
        "?ssl_ca_data={data}",
        "?ssl_min_version=772",
        "?ssl_ciphers=ECDHE-RSA-AES256-GCM-SHA384",
    ],
)
def test_trust_is_that_of_the_worker(certificates: Certificates, monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    """Whatever the URL says of TLS, redis-py makes the same of it."""
    authority = certificates.authority
    url = "rediss://127.0.0.1:1/0" + words.format(authority=authority, data=quote(authority.read_text(), safe=""))
    settings = Settings(state_url=url, broker_url="redis://127.0.0.1:2/0")  # type: ignore[arg-type]  # as above
    order = standby_order(build_store(settings).context)
    assert order is not None
    made: list[ssl.SSLContext] = []
    monkeypatch.setattr(ssl.SSLContext, "wrap_socket", lambda self, *_, **__: made.append(self))
    redis.ConnectionPool.from_url(url).make_connection()._wrap_socket_with_ssl(None)
    assert trust(tls_context(order["tls"])) == trust(made[0])


def test_a_server_that_asks_for_a_certificate_gets_the_one_of_the_url(
    certificates: Certificates, tmp_path: Path
) -> None:
    """And it lets nobody in who has none."""
    server = TcpServer(tmp_path / "s")
    with running(server), TlsFront(certificates, server.port) as front:
        front._context.load_verify_locations(certificates.authority)
        front._context.verify_mode = ssl.CERT_REQUIRED
        url = f"rediss://127.0.0.1:{front.port}/0?ssl_ca_certs={certificates.authority}"
        with pytest.raises(OSError, match=r"."):
            beside(url).call("PING")
        own = f"&ssl_certfile={certificates.certificate}&ssl_keyfile={certificates.key}"
        assert beside(url + own).call("PING") == b"PONG"

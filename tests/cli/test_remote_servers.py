"""A state server elsewhere: users with rules of their own, TLS, Sentinels and their failover, and wrong ways in."""

from __future__ import annotations

import contextlib
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.errors import AccessRefused, SettingsError, StackError, StoreUnavailable
from neuraphage.model.event import Event
from neuraphage.queue.app import make_app
from neuraphage.runtime.clock import SystemClock
from neuraphage.server_checks import read_broker
from neuraphage.settings import Settings
from neuraphage.store.client import connect
from neuraphage.store.presence import NamedConnection
from neuraphage.store.tasks import RedisStore
from patience import PATIENCE_S
from remotekit import (
    PASSWORD,
    SERVICE,
    Certificates,
    SentinelGroup,
    TcpServer,
    TlsFront,
    make_certificates,
    running,
    sentinel_group,
)

pytestmark = pytest.mark.real_redis
LIMIT_S = PATIENCE_S
SECRET = quote(PASSWORD, safe="")
RULES = "~np:* &np:* +@all -@admin -@dangerous +client|list +keys"
"""What a user of the state server needs; the documents name these rules. KEYS is this test's own."""


def settings_of(state_url: str, broker_url: str | None = None) -> Settings:
    return Settings(state_url=SecretStr(state_url), broker_url=SecretStr(broker_url or "redis://127.0.0.1:1/0"))


def work(settings: Settings) -> None:
    """What a client and a worker process ask of the state server: scripts, reads, streams, presence."""
    with Client(settings) as client:
        task_id = client.submit("x")
        assert client.get(task_id).place == "outbox"
        assert [event.kind for event in client.events(task_id)] == ["TaskCreated"]
        assert client.counts()["Queued"] >= 1
        client.cancel(task_id)
        assert client.wait(task_id, timeout_s=LIMIT_S).task_id == task_id
        list(client.follow(task_id))
    store = RedisStore(settings, SystemClock())
    presence = NamedConnection(settings.state_url.get_secret_value(), settings.namespace, "p-1")
    presence.wait(0.01)
    assert store.connected() == {"p-1"}
    presence.close()
    store.context.client.close()


def until(holds: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TcpServer]:
    """A server with a password, and three users with rules."""
    users = [
        f'user np on ">{PASSWORD}" {RULES}',
        f'user lists on ">{PASSWORD}" ~np:* &np:* +@all -evalsha -eval',
        f'user other on ">{PASSWORD}" ~other:* &np:* +@all',
    ]
    made = TcpServer(tmp_path_factory.mktemp("acl"), [f'requirepass "{PASSWORD}"', *users], password=PASSWORD)
    with running(made):
        yield made


def test_a_user_with_rules_of_its_own(server: TcpServer) -> None:
    """Neither administration nor keys of others are needed; a password with any character can be written."""
    work(settings_of(f"redis://np:{SECRET}@127.0.0.1:{server.port}/1"))
    work(settings_of(f"redis://:{SECRET}@127.0.0.1:{server.port}/1"))


@pytest.mark.parametrize(
    ("login", "words"),
    [
        ("np:wr0ng@", "refused the user name or password"),
        (":wr0ng@", "refused the user name or password"),
        ("nobody:wr0ng@", "refused the user name or password"),
        ("", "asks for a password"),
        (f"lists:{SECRET}@", "evalsha"),
        (f"other:{SECRET}@", "ACL"),
    ],
)
def test_logins_that_the_server_refuses(server: TcpServer, login: str, words: str) -> None:
    """Each says what to correct, at once, and shows no password."""
    settings = settings_of(f"redis://{login}127.0.0.1:{server.port}/1")
    with Client(settings) as client, pytest.raises(AccessRefused, match=words) as caught:
        client.submit("x")
    assert "wr0ng" not in str(caught.value)
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/1",
        "redis://127.0.0.1:port/1",
        "redis://127.0.0.1/1?colour=red",
        "rediss://127.0.0.1/1?ssl_ca_certs=/nowhere/ca.pem",
        "sentinel://127.0.0.1/1",
    ],
)
def test_urls_that_cannot_be_read(url: str) -> None:
    """Known before any connection is made."""
    with pytest.raises(SettingsError, match=r"state_url|service_name"):
        connect(url)


# --- an old server ---


@pytest.mark.parametrize("version", ["6.0.16", "5.0.7"])
def test_a_server_that_is_too_old(version: str) -> None:
    """Redis 6.0 says its version in its greeting, and Redis 5 knows no greeting."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            client, _ = listener.accept()
            with client, contextlib.suppress(OSError):
                client.recv(65_536)
                said = f"%2\r\n+proto\r\n:3\r\n+version\r\n+{version}\r\n"
                client.sendall((said if version[0] == "6" else "-ERR unknown command `HELLO`\r\n").encode())
                while client.recv(65_536):
                    client.sendall(b"+OK\r\n" * 2)

        threading.Thread(target=serve, daemon=True).start()
        url = f"redis://127.0.0.1:{listener.getsockname()[1]}/1"
        with Client(settings_of(url)) as client, pytest.raises(AccessRefused, match=r"needs Redis 6\.2"):
            client.list()


# --- TLS ---


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl program, which makes the certificates")
    return make_certificates(tmp_path_factory.mktemp("tls"))


def test_tls(server: TcpServer, certificates: Certificates) -> None:
    """By an authority that the URL names; the broker takes the same form."""
    with TlsFront(certificates, server.port) as front:
        url = f"rediss://np:{SECRET}@127.0.0.1:{front.port}"
        trusted = f"?ssl_ca_certs={certificates.authority}"
        work(settings_of(f"{url}/1{trusted}"))
        settings = settings_of("redis://127.0.0.1:1/1", f"{url}/0{trusted}")
        with make_app(settings) as app, app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1)
        with Client(settings_of(f"{url}/1")) as client, pytest.raises(AccessRefused, match="not trusted") as caught:
            client.list()
        assert "ssl_ca_certs" in str(caught.value)


def test_a_broker_that_nobody_has_vouched_for(server: TcpServer, certificates: Certificates) -> None:
    """It gets no password: a certificate is trusted by an authority, or because the URL asks for no proof."""
    with TlsFront(certificates, server.port) as front:
        url = f"rediss://np:{SECRET}@127.0.0.1:{front.port}/0"
        with pytest.raises(StackError, match=r"(?i)certificate verify failed"):
            read_broker(settings_of("redis://127.0.0.1:1/1", url))
        settings = settings_of("redis://127.0.0.1:1/1", f"{url}?ssl_cert_reqs=none&ssl_check_hostname=false")
        with make_app(settings) as app, app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1)


# --- Sentinels ---


@pytest.fixture
def group(tmp_path: Path) -> Iterator[SentinelGroup]:
    made = sentinel_group(tmp_path, PASSWORD, "sent1nel")
    with running(made.master, made.replica, made.sentinel):
        until(lambda: made.is_whole)
        yield made


def test_failover(group: SentinelGroup) -> None:
    """Reads that block, presence, writes and the broker go on with the new master; refusals are told apart."""
    hosts = f"sentinel://:{SECRET}@{','.join(group.hosts)}"
    query = f"?service_name={SERVICE}&sentinel_password=sent1nel"
    settings = settings_of(f"{hosts}/1{query}", f"{hosts}/0{query}")
    refused = {
        query.replace(SERVICE, "elsewhere"): f"no service 'elsewhere', only: {SERVICE}",
        query.replace("sent1nel", "wr0ng"): "sentinel_password",
        query.partition("&")[0]: "asks for a password|sentinel_password",
    }
    for wrong, words in refused.items():
        with Client(settings_of(f"{hosts}/1{wrong}")) as client, pytest.raises(AccessRefused, match=words):
            client.list()
    work(settings)
    store = RedisStore(settings, SystemClock())
    presence = NamedConnection(settings.state_url.get_secret_value(), settings.namespace, "p-1")
    presence.wait(0.01)
    with Client(settings) as client:
        task_id = client.submit("x")
        assert client._ports.waker.queue_length() == 2
        with group.master.client() as master:
            master.wait(1, 10_000)
        seen: list[Event] = []
        reader = threading.Thread(target=lambda: seen.extend(client.events(task_id, follow=True)))
        reader.start()
        until(lambda: len(seen) == 1)
        group.master.kill()

        def cancelled() -> bool:
            try:
                client.cancel(task_id, key="k")
            except StoreUnavailable:
                return False
            return True

        until(cancelled)
        reader.join(LIMIT_S)
        assert [event.kind for event in seen] == ["TaskCreated", "TaskCancelled"]
        until(lambda: _stands(presence, store))
        until(lambda: client._ports.waker.queue_length() is not None)
        assert client._ports.waker.publish_turn(task_id, 0, 1)
    presence.close()
    store.context.client.close()


def _stands(presence: NamedConnection, store: RedisStore) -> bool:
    try:
        presence.wait(0.01)
    except StoreUnavailable:
        return False
    return store.connected() == {"p-1"}

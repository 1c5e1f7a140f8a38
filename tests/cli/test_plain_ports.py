"""`rediss://` to a port that speaks no TLS is refused once, in words; slow ways and frozen servers are told apart."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from neuraphage import tls_port
from neuraphage.client import Client
from neuraphage.dev.other_server import find_workers_of
from neuraphage.dev.server_checks import read_broker
from neuraphage.errors import AccessRefused, StackError, StoreUnavailable
from neuraphage.queue import make_app
from neuraphage.settings import Settings
from neuraphage.store.client import connect, translated
from remotekit import TcpServer, TlsFront, make_certificates, running

pytestmark = pytest.mark.real_redis
WORDS = "speaks no TLS on this port; write redis:// in place of rediss://"
TASK = "task-01a2b3c4-0000-7000-8000-000000000000"
QUESTIONS = 2
"""Connections of one try: the handshake, and the question in plain."""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TcpServer]:
    """A server without TLS, as most are."""
    made = TcpServer(tmp_path / "server")
    with running(made):
        yield made


def settings_of(*, state: str, broker: str) -> Settings:
    return Settings(state_url=SecretStr(f"{state}/1"), broker_url=SecretStr(f"{broker}/0"))


def connections(server: TcpServer, call: Callable[[], object]) -> int:
    """How many the server sees while something is called."""
    with server.client() as admin:
        before: int = admin.info("stats")["total_connections_received"]
        call()
        after: int = admin.info("stats")["total_connections_received"]
    return after - before


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.list(),
        lambda client: client.submit("x"),
        lambda client: client.get(TASK),
        lambda client: client.cancel(TASK),
        lambda client: next(client.events(TASK, follow=True)),
    ],
    ids=["list", "submit", "get", "cancel", "events"],
)
def test_the_state_server(server: TcpServer, ask: Callable[[Client], object]) -> None:
    """Whatever is asked, it is asked once: no try is repeated, since waiting does not help."""
    settings = settings_of(state=f"rediss://127.0.0.1:{server.port}", broker="redis://127.0.0.1:1")

    def refused() -> None:
        with Client(settings) as client, pytest.raises(AccessRefused, match=WORDS):
            ask(client)

    assert connections(server, refused) == QUESTIONS


@pytest.mark.parametrize("look", [read_broker, find_workers_of], ids=["doctor", "dev"])
def test_the_broker(server: TcpServer, look: Callable[[Settings], object]) -> None:
    """kombu's own waits are half a minute each; what looks at the broker first says why it is refused."""
    plain = f"127.0.0.1:{server.port}"
    settings = settings_of(state=f"redis://{plain}", broker=f"rediss://{plain}")
    with pytest.raises(StackError, match=WORDS):
        look(settings)


def test_a_slow_way(server: TcpServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A handshake that takes longer than the first wait is given all the time of the settings."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl program, which makes the certificates")
    certificates = make_certificates(tmp_path)
    monkeypatch.setattr(tls_port, "FIRST_WAIT_S", 0.02)
    with TlsFront(certificates, server.port, delay_s=0.2) as front:
        url = f"rediss://127.0.0.1:{front.port}"
        query = f"?ssl_ca_certs={certificates.authority}"
        settings = Settings(state_url=SecretStr(f"{url}/1{query}"), broker_url=SecretStr(f"{url}/0{query}"))
        with Client(settings) as client:
            assert client.list() == []
        with make_app(settings) as app, app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1)


def test_a_frozen_server() -> None:
    """What answers to nothing may speak TLS when it wakes up: it is away, and is waited for."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = connect(f"rediss://127.0.0.1:{listener.getsockname()[1]}/1", socket_timeout_s=0.05)
        with client, pytest.raises(StoreUnavailable) as caught, translated("ping"):
            client.ping()
    assert not isinstance(caught.value, AccessRefused)

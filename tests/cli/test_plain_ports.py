"""`rediss://` to a port that speaks no TLS is a finding of `doctor`, in words; frozen servers are told apart."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from neuraphage.client import Client
from neuraphage.dev.plain_port import answers_in_plain
from neuraphage.errors import AccessRefused, StackError, StoreUnavailable
from neuraphage.queue.app import make_app
from neuraphage.server_checks import read_broker, read_state_server
from neuraphage.settings import Settings
from neuraphage.store.client import connect, translated
from remotekit import TcpServer, TlsFront, make_certificates, running

pytestmark = pytest.mark.real_redis


@pytest.fixture
def server(tmp_path: Path) -> Iterator[TcpServer]:
    """A server without TLS, as most are."""
    made = TcpServer(tmp_path / "server")
    with running(made):
        yield made


@pytest.mark.parametrize("look", [read_state_server, read_broker], ids=["state", "broker"])
def test_a_plain_server_behind_rediss(server: TcpServer, look: Callable[[Settings], object]) -> None:
    """Waits for a handshake are half a minute each; doctor asks in plain words before, and says what to write."""
    url = f"rediss://127.0.0.1:{server.port}"
    settings = Settings(state_url=SecretStr(f"{url}/1"), broker_url=SecretStr(f"{url}/0"))
    with pytest.raises(StackError, match=r"speaks no TLS on this port; write redis:// in place of rediss://"):
        look(settings)


def test_a_server_that_does_speak_tls(server: TcpServer, tmp_path: Path) -> None:
    """Plain words mean nothing to it, and clients and workers are connected."""
    if shutil.which("openssl") is None:
        pytest.skip("needs the openssl program, which makes the certificates")
    certificates = make_certificates(tmp_path)
    with TlsFront(certificates, server.port) as front:
        assert not answers_in_plain(("127.0.0.1", front.port), 1.0)
        url = f"rediss://127.0.0.1:{front.port}"
        query = f"?ssl_ca_certs={certificates.authority}"
        settings = Settings(state_url=SecretStr(f"{url}/1{query}"), broker_url=SecretStr(f"{url}/0{query}"))
        read_state_server(settings)
        read_broker(settings)
        with Client(settings) as client:
            assert client.list() == []
        with make_app(settings) as app, app.connection_for_write() as connection:
            connection.ensure_connection(max_retries=1)


def test_a_frozen_server() -> None:
    """What answers to nothing may speak TLS when it wakes up: it is away and waited for, with where to look."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        client = connect(f"rediss://127.0.0.1:{port}/1", socket_timeout_s=0.05)
        with client, pytest.raises(StoreUnavailable, match="neuraphage doctor") as caught, translated("ping"):
            client.ping()
        assert not answers_in_plain(("127.0.0.1", port), 0.05)
    assert not isinstance(caught.value, AccessRefused)

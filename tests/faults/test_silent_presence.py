"""The connection that shows a process is there, on a path that drops everything in silence."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from neuraphage.errors import StoreUnavailable
from neuraphage.store.presence import NamedConnection
from remotekit import TcpServer, running
from silent_proxy import SilentProxy
from turnkit import until

pytestmark = pytest.mark.real_redis


def test_it_is_left_and_made_anew(tmp_path: Path) -> None:
    """Listening alone would never tell: the server forgets the connection, and the process counts as absent."""
    server = TcpServer(tmp_path / "s")
    with running(server), SilentProxy(lambda: socket.create_connection(("127.0.0.1", server.port))) as proxy:
        presence = NamedConnection(f"redis://127.0.0.1:{proxy.port}/0", "default", "p1", 0.3)
        with server.client() as admin:

            def heard() -> bool:
                try:
                    return presence.wait(0.05)
                except StoreUnavailable:
                    return False

            def nudged() -> bool:
                admin.publish("np:{default}:nudge", "x")
                return heard()

            until(nudged)
            proxy.drop()
            until(nudged)
        presence.close()


def test_a_process_that_slept_reads_the_answer_first(tmp_path: Path) -> None:
    """A late look at an answer that came in time is no silence."""
    server = TcpServer(tmp_path / "s")
    with running(server):
        presence = NamedConnection(f"redis://127.0.0.1:{server.port}/0", "default", "p1", 0.2)
        for _ in range(3):
            assert not presence.wait(0.001)
            time.sleep(0.3)  # the sleep itself
        presence.close()

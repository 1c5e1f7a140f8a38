"""Allowed hosts, from a command's own point of view: through the spool, bubblewrap, the bridge and the proxy."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from neuraphage.sandbox.choice import filter_in
from neuraphage.sandbox.confinement import Bubblewrap
from neuraphage.sandbox.way_folder import WayFolders
from neuraphage.sandbox.way_out import WayOut
from sandboxkit import LIMITS, SandboxedHost, find_bubblewrap

FETCH = (
    "import sys, urllib.request, urllib.error\n"
    "for url in sys.argv[1:]:\n"
    "    try: print(urllib.request.urlopen(url).read().decode())\n"
    "    except urllib.error.HTTPError as error: print(error.code, error.read().decode())\n"
    "    except OSError as error: print(type(error).__name__)\n"
)


class Hello(BaseHTTPRequestHandler):
    """Answers every request."""

    def do_GET(self) -> None:
        """One page."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello from outside")

    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    """A server of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()


@pytest.fixture
def allowed(host: SandboxedHost, port: int) -> SandboxedHost:
    """A host whose commands may reach that server and nothing else."""
    way_out = WayOut(WayFolders(host.data / "ways"), [f"127.0.0.1:{port}"])
    parts = (find_bubblewrap(), host.folders, LIMITS, [str(host.data)], filter_in(host.folders.root), way_out)
    host.sandbox = Bubblewrap(*parts)
    (host.work / "fetch.py").write_text(FETCH, encoding="utf-8")
    return host


def test_an_allowed_host_is_reached_and_no_other(
    allowed: SandboxedHost, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A refused one is told to the command with the setting, and to the worker's log."""
    with caplog.at_level(logging.WARNING):
        status = allowed.run(f"{sys.executable} fetch.py http://127.0.0.1:{port}/ http://example.com/")
    first, second, *_ = status.output.splitlines()
    assert first == "hello from outside"
    assert second.startswith("403 ")
    assert "allow_hosts" in status.output
    assert "example.com:80" in caplog.text


def test_a_blocked_host_is_not_reached_though_it_is_allowed(
    host: SandboxedHost, port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """By no command; the one that tried is told by which setting."""
    way_out = WayOut(WayFolders(host.data / "ways"), [f"127.0.0.1:{port}"], ["127.0.0.1"])
    parts = (find_bubblewrap(), host.folders, LIMITS, [str(host.data)], filter_in(host.folders.root), way_out)
    host.sandbox = Bubblewrap(*parts)
    (host.work / "fetch.py").write_text(FETCH, encoding="utf-8")
    status = host.run(f"{sys.executable} fetch.py http://127.0.0.1:{port}/")
    assert status.output.startswith(f"403 neuraphage: 127.0.0.1:{port} is never reached from a command")
    assert "blocked_hosts" in status.output
    assert f"127.0.0.1:{port}" in caplog.text


def test_nothing_goes_past_the_proxy(allowed: SandboxedHost, port: int) -> None:
    """A program that does not heed it has no network."""
    line = f"no_proxy='*' NO_PROXY='*' {sys.executable} fetch.py http://127.0.0.1:{port}/; ls -A /run"
    assert allowed.run(line).output.split() == ["URLError", "neuraphage-proxy"]


def test_the_status_and_the_signals_are_the_commands(allowed: SandboxedHost) -> None:
    """The bridge stands before it, and is not seen."""
    assert allowed.run("exit 7").exit_code == 7
    assert allowed.run("sleep 1000", timeout_s=0.5).reason == "timeout"
    assert allowed.run("wait; jobs; echo none").output == "none\n"


def test_the_model_is_told(allowed: SandboxedHost, host: SandboxedHost, port: int) -> None:
    """It need not find out by trying."""
    assert f"reaches 127.0.0.1:{port} by HTTP(S) and no other host" in allowed.sandbox.told
    plain = Bubblewrap(find_bubblewrap(), host.folders, LIMITS)
    assert "reaches no network" in plain.told

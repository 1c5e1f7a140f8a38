"""Fixtures of the crash suite: a real state server, the scripted API in a process of its own, and a warm parent."""

from __future__ import annotations

import gc
import itertools
import json
import os
import ssl
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import anthropic
import httpx2
import pytest
from crash_effects import FAULT
from crash_world import API_KEY, Site

import neuraphage.runtime.live_view
from neuraphage.tools.registry import default_toolbox
from patience import PATIENCE_S
from relaykit import relay_process
from servers import ValkeyProcess

HERE = Path(__file__).parent
MEMORY = Path("/dev/shm")
"""Thousands of small files of the cases: only processes die here, no power is cut. The state server is on a disk."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that reruns one crash point."""
    parser.addoption(
        "--crash-point", default=None, metavar="NAME", help="run only the crash points of this name or pattern"
    )


class Bench:
    """Servers and folders of the tests of a file.

    Args:
        folder: for everything.
        valkey: the state server.
        model_url, model_log: the scripted API and its request log.
    """

    def __init__(self, folder: Path, valkey: ValkeyProcess, model_url: str, model_log: Path) -> None:
        self.folder, self.valkey, self.model_url, self._model_log = folder, valkey, model_url, model_log
        self._numbers = itertools.count(1)

    def site(self, **changes: object) -> Site:
        """The place of a new case."""
        number = next(self._numbers)
        where = self.folder / f"case-{number}", self.valkey.socket, self.model_url, self.folder / "relay"
        return Site(number, *where, **changes)  # type: ignore[arg-type]  # a test's own keywords

    def requests(self) -> list[dict[str, object]]:
        """Every request that ended, as the scripted API saw it."""
        rows = map(json.loads, self._model_log.read_text(encoding="utf-8").splitlines())
        return [row for row in rows if row["event"] == "ended"]


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    """All servers of a file's tests. The parent keeps no connection and no thread, so it may fork.

    Not of the session: what is patched here would hold for the tests of other folders too.
    """
    with (
        pytest.MonkeyPatch.context() as patch,
        tempfile.TemporaryDirectory(prefix="np-") as disk,
        tempfile.TemporaryDirectory(prefix="np-", dir=MEMORY if MEMORY.exists() else None) as name,
        ValkeyProcess(Path(disk)) as valkey,
    ):
        folder = Path(name)
        patch.setenv("ANTHROPIC_API_KEY", API_KEY)
        warm_up(patch)
        process = start_model(folder)
        try:
            url = f"http://127.0.0.1:{wait_for_port(folder / 'port')}"
            order_fault(url)
            with relay_process(folder / "relay"):
                yield Bench(folder, valkey, url, folder / "requests")
        finally:
            process.kill()
            process.wait()


def warm_up(patch: pytest.MonkeyPatch) -> None:
    """What would be made again in every child is made once here; what depends on time is fixed."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: the scripted API speaks plain HTTP
    patch.setattr("httpx2._transports.default.create_ssl_context", lambda **_: made)
    meet_fault()
    default_toolbox()  # the schemas of its parameters
    # pieces for viewers are sent once a call, not every 0.1 s: the number of calls must not depend on the load
    patch.setattr(neuraphage.runtime.live_view, "FLUSH_S", 1e12)
    patch.setattr(neuraphage.runtime.live_view, "PAUSE_S", 1e12)
    gc.collect()
    gc.freeze()


def meet_fault() -> None:
    """Let the SDK build the classes of its errors, without a socket: a tenth of a second a child."""
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "warm"}}
    transport = httpx2.MockTransport(lambda _: httpx2.Response(429, json=body))
    client = anthropic.Anthropic(
        api_key="warm", max_retries=0, http_client=anthropic.DefaultHttpxClient(transport=transport)
    )
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="m", max_tokens=1, messages=[{"role": "user", "content": "x"}])
    client.close()


def start_model(folder: Path) -> subprocess.Popen[bytes]:
    """The scripted API as a process of its own."""
    argv = [sys.executable, "-m", "neuraphage.testing.scripted_api", "--script", "crash=crash_effects:script"]
    argv += ["--default", "crash", "--accept-key", API_KEY]
    argv += ["--port-file", str(folder / "port"), "--log-file", str(folder / "requests")]
    return subprocess.Popen(argv, env={**os.environ, "PYTHONPATH": str(HERE)})


def wait_for_port(file: Path) -> int:
    """The port, once the server listens."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < deadline_s, "the scripted API did not start"
        time.sleep(0.02)
    return int(file.read_text(encoding="utf-8"))


def order_fault(url: str) -> None:
    """Order the fault of every case."""
    order = urllib.request.Request(f"{url}/_control/faults", data=json.dumps(FAULT).encode(), method="POST")
    with urllib.request.urlopen(order, timeout=PATIENCE_S) as answer:
        assert answer.status == 200


@pytest.fixture(scope="module")
def new_site(bench: Bench) -> Callable[..., Site]:
    """Makes the place of a new case."""
    return bench.site

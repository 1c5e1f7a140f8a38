"""A path that drops everything in silence: neither reset nor end of a connection tells a worker of it."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from remotekit import TlsFront, make_certificates
from silent_proxy import SilentProxy
from stackkit import Stack, task_prompt, turn, wait_for
from stackkit.process import StackProcess

pytestmark = pytest.mark.real_workers
BUSY_S = 30.0
"""Without the settings it is 90 s. That their waits add up to 10 s at most, as promised, is asserted without a clock in
unit/queue/test_broker_waits.py; here it is seen that they are kept to at all. The time itself is printed."""


@contextlib.contextmanager
def proxy_before(stack: Stack, folder: Path, scheme: str, database: int) -> Iterator[tuple[SilentProxy, str]]:
    """A proxy before the stack's server, and the URL that leads through it."""

    def server() -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(stack.plan.address.socket_path))
        return connection

    login = f":{quote(stack._password(), safe='')}@"
    with contextlib.ExitStack() as parts:
        plain = parts.enter_context(SilentProxy(server))
        if scheme == "redis":
            yield plain, f"redis://{login}127.0.0.1:{plain.port}/{database}"
            return
        certificates = make_certificates(folder)
        front = parts.enter_context(TlsFront(certificates, plain.port))
        outer = parts.enter_context(SilentProxy(partial(socket.create_connection, ("127.0.0.1", front.port))))
        yield outer, f"rediss://{login}127.0.0.1:{outer.port}/{database}?ssl_ca_certs={certificates.authority}"


def is_ready(stack: Stack, worker: StackProcess) -> bool | None:
    """Whether the worker says that it is ready; None when nothing is known of it."""
    return next((row.ready for row in stack.health_rows() if row.pid == worker.pid), None)


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
@pytest.mark.parametrize("server", ["broker", "state"])
def test_a_worker_takes_messages_again(stack: Stack, tmp_path: Path, server: str, scheme: str) -> None:
    """Soon after connections can be made again, be it at once or after a while; it is not ready meanwhile."""
    with proxy_before(stack, tmp_path, scheme, 0 if server == "broker" else 1) as (proxy, url):
        worker = stack.start_worker(**{f"{server}_url": url})
        stack.finished(stack.submit(task_prompt(turn("hello"))))
        wait_for(lambda: is_ready(stack, worker), "the worker to be ready")
        for new in (False, True):
            proxy.drop(new=new, hold=not new)
            wait_for(lambda: is_ready(stack, worker) is False, "the worker to be seen as not ready")
            if new:
                time.sleep(15.0)  # the outage itself
                assert is_ready(stack, worker) is False
            proxy.heal()
            began_s = time.monotonic()
            task = stack.submit(task_prompt(turn("hello again")))
            stack.finished(task, limit_s=240.0)
            took_s = time.monotonic() - began_s
            print(f"{server} {scheme} {'all' if new else 'old'}: done {took_s:.1f} s after")
            wait_for(lambda: is_ready(stack, worker), "the worker to be ready again")
            assert took_s < BUSY_S

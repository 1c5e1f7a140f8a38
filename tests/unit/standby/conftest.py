"""Workers that hold their interpreter, on the real server."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from neuraphage.runtime.host import ProcessIdentity, identify, process_gone
from servers import ValkeyProcess
from storefixtures import valkey
from storekit import StoreKit, new_kit
from stuckkit import StuckWorker
from turnkit import until

__all__ = ["valkey"]


@pytest.fixture
def stuck_kit(valkey: ValkeyProcess) -> Iterator[StoreKit]:
    """A store on the real server."""
    client = valkey.client()
    client.flushall()
    yield new_kit(client)
    client.close()


@pytest.fixture
def start_worker(valkey: ValkeyProcess, stuck_kit: StoreKit, tmp_path: Path) -> Iterator[Callable[..., StuckWorker]]:
    """Starts workers; all are killed in the end, and what is beside them has to follow."""
    started: list[StuckWorker] = []
    seen: list[ProcessIdentity] = []

    def start(url: str | None = None, **settings: Any) -> StuckWorker:
        own = url or f"unix://{valkey.socket}?db={stuck_kit.client.connection_pool.connection_kwargs.get('db', 0)}"
        made = StuckWorker(stuck_kit, own, tmp_path, namespace=stuck_kit.store.context.settings.namespace, **settings)
        started.append(made)
        return made

    yield start
    for worker in started:
        if worker.beside and psutil.pid_exists(worker.beside):
            with contextlib.suppress(ProcessLookupError):
                seen.append(identify(worker.beside))
        if worker.process.poll() is None:
            os.kill(worker.process.pid, signal.SIGCONT)
        worker.kill()
        for pipe in (worker.process.stdin, worker.process.stdout):
            if pipe is not None:
                pipe.close()
    until(lambda: all(process_gone(one) for one in seen))

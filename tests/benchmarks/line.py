"""Admission with many in line: a submit by the client, an end that admits the next one, first turns of other keys."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from neuraphage.client import Client
from neuraphage.ports import Changes, FinishTo, Lease
from neuraphage.runtime.clock import SystemClock
from neuraphage.settings import Settings
from neuraphage.store.tasks import RedisStore
from tests.benchmarks.servers import BenchServer

KEYS = 10


class Line:
    """Tasks in line behind one slot, submitted by `Client.submit`.

    Args:
        server: of its own.
        folder: for data and tasks.
    """

    def __init__(self, server: BenchServer, folder: Path) -> None:
        urls: dict[str, Any] = {"state_url": server.state_url(), "broker_url": server.broker_url()}
        self._settings = Settings(**urls, data_dir=folder / "data", max_running=1)
        self._store = RedisStore(self._settings, SystemClock())
        self._store.adjust()
        self._work = folder / "work"
        self._work.mkdir(exist_ok=True)
        self._client = Client(self._settings)

    def submit(self, team: str) -> str:
        """One more task of a key."""
        task_id: str = self._client.submit("Do it.", working_dir=str(self._work), labels={"team": team})
        return task_id

    def at_work(self) -> str:
        """Who has the slot."""
        (raw,) = self._store.context.client.zrange(self._store.context.keys.outbox, 0, -1)
        return str(raw.decode())

    def claim(self) -> Lease:
        """The lease of who is at work."""
        task_id = self.at_work()
        lease = self._store.claim(task_id, self._store.get(task_id).seq, "process", f"claim-{task_id}").lease
        if lease is None:
            raise RuntimeError(f"{task_id} was not granted")
        return lease

    def end(self, lease: Lease) -> None:
        """The end of a task, which admits the next one."""
        self._store.finish(lease, Changes(add={"model_calls": 1}), FinishTo.COMPLETED, 0, {"summary": "Done."})

    def close(self) -> None:
        """End the connections."""
        self._client.close()


def admission_ms(folder: Path, waiting: int, repeats: int = 100) -> tuple[float, float]:
    """p50 of a submit, and of an end with the next one's admission, while so many stand in line."""
    with BenchServer(folder / f"a{waiting}") as server:
        line = Line(server, folder)
        for number in range(waiting):
            line.submit(f"t{number % 50}")
        submits = [_timed_ms(lambda: line.submit("t1")) for _ in range(repeats)]
        ends = [_timed_ms(partial(line.end, line.claim())) for _ in range(repeats)]
        line.close()
        return median(submits), median(ends)


def first_turns_ms(folder: Path, waiting: int) -> float:
    """Time until the first turn of the last of ten keys, with so many tasks of another key in line before them."""
    with BenchServer(folder / f"f{waiting}") as server:
        line = Line(server, folder)
        for _ in range(max(1, waiting)):
            line.submit("many")
        few = {line.submit(f"few{number}") for number in range(KEYS)}

        def until_all_had_one() -> None:
            while few:
                lease = line.claim()
                line.end(lease)
                few.discard(lease.task_id)

        took_ms = _timed_ms(until_all_had_one)
        line.close()
        return took_ms


def _timed_ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1000

"""From the death of a process to the next turn's start, with default settings."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from neuraphage.store import queries
from tests.benchmarks.contenders import ROOT, Pool, Runtime
from tests.benchmarks.machine import wait_until
from tests.benchmarks.servers import BenchServer
from tests.benchmarks.workload import Start, starts

CALL_MS = 300.0
"""Length of the model call that is interrupted."""
TURNS = 400


def measure_kills(folder: Path, rounds: int) -> list[float]:
    """Seconds from the kill -9 of a whole worker, inside a model call, to the next start on a standby of this host."""
    found = []
    with BenchServer(folder / "k") as server:
        runtime = Runtime(server, server, folder)
        pool = Pool("threads", 8)
        runtime.start(Pool("threads", 8, 2))
        try:
            name = _begin(runtime)
            for number in range(rounds):
                last = _in_a_call(folder, name)
                found.append(_until_next(folder, name, last, signal.SIGKILL))
                _check_evidence(runtime, name, "gone", number + 1)
                runtime.processes = [process for process in runtime.processes if process.poll() is None]
                runtime.add(pool, f"again{number}")
        finally:
            runtime.stop()
    return found


def measure_child_kills(folder: Path, rounds: int) -> list[float]:
    """Seconds from the kill -9 of a prefork child to the next start in another child."""
    found = []
    with BenchServer(folder / "c") as server:
        runtime = Runtime(server, server, folder)
        runtime.start(Pool("prefork", 2))
        try:
            name = _begin(runtime)
            for number in range(rounds):
                last = _in_a_call(folder, name)
                found.append(_until_next(folder, name, last, signal.SIGKILL))
                _check_evidence(runtime, name, "gone", number + 1)
                _in_a_call(folder, name, after=last)
        finally:
            runtime.stop()
    return found


def measure_hangs(folder: Path, rounds: int, **times_s: float) -> list[float]:
    """Seconds from the SIGSTOP of a worker to the next start elsewhere, with beat and a control worker.

    Args:
        folder: logs and data.
        rounds: how often.
        times_s: settings such as `lease_s` in place of the defaults.
    """
    found = []
    with BenchServer(folder / "h") as server:
        runtime = Runtime(server, server, folder)
        runtime.env = runtime.env | {f"NEURAPHAGE_{name.upper()}": str(value) for name, value in times_s.items()}
        runtime.start(Pool("threads", 8, 2))
        try:
            with _control(runtime, folder):
                for number in range(rounds):
                    name = _begin(runtime)
                    last = _in_a_call(folder, name)
                    found.append(_until_next(folder, name, last, signal.SIGSTOP))
                    _check_evidence(runtime, name, "stalled", 1)
                    os.kill(last[1], signal.SIGKILL)
                    runtime.processes = [process for process in runtime.processes if process.pid != last[1]]
                    runtime.add(Pool("threads", 8), f"again{number}")
        finally:
            runtime.stop()
    return found


def _begin(runtime: Runtime) -> str:
    name = f"r{uuid.uuid4().hex[:12]}"
    runtime.submit(name, TURNS, CALL_MS)
    return name


def _check_evidence(runtime: Runtime, name: str, evidence: str, times: int) -> None:
    """See that the next start came of what was to be measured: so many recoveries, each on this evidence.

    Raises:
        RuntimeError: it came of something else.
    """
    events = queries.events(runtime.store.context, runtime.task_ids[name])
    found = [event.data.get("evidence") for event in events if event.kind == "TaskRecovered"]
    if found != [evidence] * times:
        raise RuntimeError(f"wanted {times} recoveries that were {evidence}, found {found}")


def _in_a_call(folder: Path, name: str, after: Start | None = None) -> Start:
    """The newest start, once it is a model call that has just begun and comes well after another one."""
    before = starts(folder, name)
    seen = after or (before[-1] if before else None)

    def fresh() -> bool:
        rows = starts(folder, name)
        return bool(rows) and rows[-1] != seen and rows[-1][4] == "model"

    wait_until(fresh, "a model call", limit_s=60.0)
    time.sleep(CALL_MS / 3000)  # the kill falls inside the call, not at its edge
    return starts(folder, name)[-1]


def _until_next(folder: Path, name: str, last: Start, number: signal.Signals) -> float:
    killed_ns = time.time_ns()
    os.kill(last[1], number)

    def resumed() -> list[Start]:
        return [row for row in starts(folder, name) if row[0] > killed_ns and row[1] != last[1]]

    wait_until(lambda: bool(resumed()), "the next turn", limit_s=120.0)
    return (resumed()[0][0] - killed_ns) / 1e9


@contextmanager
def _control(runtime: Runtime, folder: Path) -> Iterator[None]:
    """Beat and the control worker, which run the sweep."""
    base = [sys.executable, "-m", "celery", "-A", "workers.app"]
    control = [*base, "worker", "-P", "threads", "-c", "2", "-Q", "np.control", "-n", "control@%h", "-l", "WARNING"]
    beat = [*base, "beat", "-s", str(folder / "beat"), "-l", "WARNING"]
    with (folder / "control.log").open("wb") as log:
        both = [
            subprocess.Popen(argv, env=runtime.env, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
            for argv in (control, beat)
        ]
    try:
        yield
    finally:
        for process in both:
            process.kill()
            process.wait(5)
